"""Writes the dictionary of ONNX Runtime's contributed operators, frontends/namespace/dict/onnx_microsoft.ns, from the registry of the onnxruntime package.

  python contributed.py          write it
  python contributed.py --check  fail if it is not what would be written

Only the operators named here are kept: those that its tools write into exported and quantized models.
"""

import sys

import onnx
from onnx import AttributeProto
from onnxruntime import __version__
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

from namespace import FOLDER, name, types, value, WORDS, element

KEPT = """Attention BiasGelu DecoderMaskedMultiHeadAttention DynamicQuantizeLSTM EmbedLayerNormalization FastGelu FusedMatMul GatherBlockQuantized Gelu GroupQueryAttention MatMulNBits MoE
  MultiHeadAttention PackedAttention PackedMultiHeadAttention PagedAttention QGemm QLinearAdd QLinearGlobalAveragePool QLinearLeakyRelu QLinearMul QLinearSigmoid QMoE QuickGelu
  RotaryEmbedding SkipLayerNormalization SkipSimplifiedLayerNormalization SparseAttention""".split()


def port(p):
    kind = str(p.option).rsplit(".", 1)[1]
    return name(p.name) + {"Optional": "?", "Variadic": "*1"}.get(kind, "") + ": " + (element(p.typeStr) if "(" in p.typeStr else p.typeStr)


def attribute(a):
    text = name(a.name) + ("!" if a.required else "") + ": " + WORDS[AttributeProto.AttributeType.Value(str(a.type).rsplit(".", 1)[1])]
    default = onnx.AttributeProto.FromString(a._default_value)
    return text + " = " + value(default) if default.name else text


def operator(s):
    head = "%s %d (%s) -> (%s)" % (name(s.name), s.since_version, ", ".join(map(port, s.inputs)), ", ".join(map(port, s.outputs)))
    if s.attributes:
        head += " {" + ", ".join(attribute(s.attributes[k]) for k in sorted(s.attributes)) + "}"
    for t in s.type_constraints:
        head += " %s: %s;" % (t.type_param_str, types(t.allowed_type_strs))
    return head


def main():
    kept = sorted((s for s in get_all_operator_schema() if s.domain == "com.microsoft" and s.name in KEPT), key=lambda s: s.name)
    lines = ["# Made by tools/onnx/contributed.py from the registry of the onnxruntime package %s; do not edit." % __version__,
             "namespace onnx/com.microsoft", "versions 1..1", ""] + [operator(s) for s in kept]
    path, text = FOLDER / "onnx_microsoft.ns", "\n".join(lines) + "\n"
    if "--check" not in sys.argv:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit("contributed.py: not current, write it again")


if __name__ == "__main__":
    main()
