"""Writes the dictionaries of ONNX's operators, frontends/namespace/dict/onnx*.ns, from the registry of the onnx package.

  python namespace.py          write them
  python namespace.py --check  fail if they are not what would be written

One line is one operator at the version that changed it last (docs/namespaces.md describes the form). Nothing is left out: every domain,
every version of an operator, and the function bodies that do not depend on the types of a call.
"""

import collections
import pathlib
import re
import sys

import numpy as np
import onnx
from onnx import AttributeProto, defs, numpy_helper

FIRST = 1  # the oldest opset of the default domain that is kept
FOLDER = pathlib.Path(__file__).resolve().parents[2] / "frontends" / "namespace" / "dict"
FILES = {"": "onnx", "ai.onnx.ml": "onnx_ml", "ai.onnx.preview.training": "onnx_training", "ai.onnx.preview": "onnx_preview"}

NAMES = {"float": "float32", "double": "float64"}
GROUPS = [
    ("@int", ["int8", "int16", "int32", "int64"]),
    ("@uint", ["uint8", "uint16", "uint32", "uint64"]),
    ("@float", ["float16", "float32", "float64"]),
    ("@complex", ["complex64", "complex128"]),
    ("@float8", ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"]),
]
WORDS = {
    AttributeProto.FLOAT: "float", AttributeProto.INT: "int", AttributeProto.STRING: "string", AttributeProto.TENSOR: "tensor",
    AttributeProto.GRAPH: "graph", AttributeProto.FLOATS: "floats", AttributeProto.INTS: "ints", AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors", AttributeProto.GRAPHS: "graphs", AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors", AttributeProto.TYPE_PROTO: "type", AttributeProto.TYPE_PROTOS: "types",
}


def quoted(text):
    out = ""
    for c in text:
        out += "\\" + c if c in '"\\' else c if c.isprintable() else "\\u%04x" % ord(c)
    return '"' + out + '"'


def name(text):
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) else quoted(text)


def element(text):
    """tensor(float) is float32; what a container holds likewise."""
    m = re.fullmatch(r"(\w+)\((.*)\)", text)
    if not m:
        return NAMES.get(text, text)
    inner = element(m[2])
    if m[1] == "map":
        inner = ",".join(element(part.strip()) for part in m[2].split(","))
    return inner if m[1] == "tensor" else m[1] + "(" + inner + ")"


def union(names):
    """A set of types: groups for element types that stand together, a container written once around all that it holds."""
    held, rest, parts = collections.defaultdict(list), set(), []
    for t in names:
        m = re.fullmatch(r"(seq|optional)\((.*)\)", t)
        if m:
            held[m[1]].append(m[2])
        else:
            rest.add(t)
    for word, members in GROUPS:
        if rest.issuperset(members):
            rest = rest.difference(members)
            parts.append(word)
    parts += sorted(rest)
    return " ".join(parts + ["%s(%s)" % (c, union(held[c])) for c in sorted(held)])


def types(allowed):
    return union(map(element, allowed))


def number(x):
    """The shortest text that is the same float32."""
    if x == float(np.finfo(np.float32).max) or x == float(np.finfo(np.float32).min):
        return "%.9g" % x
    text = "%.9g" % x
    for digits in range(1, 10):
        short = "%.*g" % (digits, x)
        if np.float32(float(short)) == np.float32(x):
            text = short
            break
    return text if re.search(r"[.en]", text) else text + ".0"


def tensor(t):
    a = numpy_helper.to_array(t)
    kind = {"float32": "float32", "float64": "float64", "bool": "bool"}.get(str(a.dtype), str(a.dtype))
    values = ["true" if v else "false" for v in a.ravel()] if kind == "bool" else [
        number(float(v)) if kind.startswith("float") else str(int(v)) for v in a.ravel()]
    return "tensor(%s, [%s], [%s])" % (kind, ", ".join(map(str, a.shape)), ", ".join(values))


def value(a):
    if a.ref_attr_name:
        return "@" + name(a.ref_attr_name)
    kind = WORDS[a.type]
    if kind == "float":
        return number(a.f)
    if kind == "int":
        return str(a.i)
    if kind == "string":
        return quoted(a.s.decode())
    if kind == "tensor":
        return tensor(a.t)
    if kind == "graph":
        return graph(a.g)
    if kind == "floats":
        return "[" + ", ".join(map(number, a.floats)) + "]"
    if kind == "ints":
        return "[" + ", ".join(map(str, a.ints)) + "]"
    if kind == "strings":
        return "[" + ", ".join(quoted(s.decode()) for s in a.strings) + "]"
    raise ValueError("an attribute of type " + kind)


def statement(n):
    op = name(n.op_type) if n.domain in ("", "ai.onnx") else quoted(n.domain + ":" + n.op_type)
    text = "%s = %s(%s)" % (", ".join(map(name, n.output)), op, ", ".join(name(x) if x else "_" for x in n.input))
    if n.attribute:
        text += " {" + ", ".join(name(a.name) + ": " + value(a) for a in sorted(n.attribute, key=lambda a: a.name)) + "}"
    return text


def graph(g):
    return "graph(%s) -> (%s) [%s]" % (", ".join(name(i.name) for i in g.input), ", ".join(name(o.name) for o in g.output),
                                       "; ".join(map(statement, g.node)))


def port(p):
    text = name(p.name)
    if p.option == defs.OpSchema.FormalParameterOption.Optional:
        text += "?"
    elif p.option == defs.OpSchema.FormalParameterOption.Variadic:
        text += "*" + str(p.min_arity)
        if not p.is_homogeneous:
            text += " mixed"
    return text + ": " + (element(p.type_str) if "(" in p.type_str else p.type_str)


def attribute(a):
    text = name(a.name) + ("!" if a.required else "") + ": " + WORDS[AttributeProto.AttributeType.Value(a.type.name)]
    if a.default_value.name:
        text += " = " + value(a.default_value)
    return text


def operator(s):
    head = "%s %d" % (name(s.name), s.since_version)
    if s.deprecated:
        return head + " deprecated"
    head += " (%s) -> (%s)" % (", ".join(map(port, s.inputs)), ", ".join(map(port, s.outputs)))
    if s.attributes:
        head += " {" + ", ".join(attribute(s.attributes[k]) for k in sorted(s.attributes)) + "}"
    for t in s.type_constraints:
        head += " %s: %s;" % (t.type_param_str, types(t.allowed_type_strs))
    if s.has_function:
        f = s.function_body
        version = [i.version for i in f.opset_import if i.domain in ("", "ai.onnx")]
        head += " body %d" % (version[0] if version else s.since_version)
        head += "".join("\n  " + statement(n) for n in f.node)
    elif s.has_context_dependent_function:
        head += " body by types"
    return head


def dictionary(domain, schemas):
    last = max(s.since_version for s in schemas)
    first = 1
    if domain == "":
        first, last = FIRST, defs.onnx_opset_version()
    by_name = collections.defaultdict(list)
    for s in schemas:
        by_name[s.name].append(s)
    lines = ["# Made by tools/onnx/namespace.py from the registry of the onnx package %s; do not edit." % onnx.__version__,
             "namespace onnx" + ("/" + domain if domain else ""), "versions %d..%d" % (first, last), ""]
    for key in sorted(by_name):
        history = sorted(by_name[key], key=lambda s: s.since_version)
        old = [s for s in history if s.since_version <= first]
        for s in old[-1:] + [s for s in history if s.since_version > first]:
            lines.append(operator(s))
    return "\n".join(lines) + "\n"


def main():
    by_domain = collections.defaultdict(list)
    for s in defs.get_all_schemas_with_history():
        by_domain[s.domain].append(s)
    stale = []
    for domain in sorted(by_domain):
        if domain not in FILES:
            sys.exit("namespace.py: a new domain, %r: give it a file name" % domain)
        path, text = FOLDER / (FILES[domain] + ".ns"), dictionary(domain, by_domain[domain])
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
    if stale:
        sys.exit("namespace.py: not current, write them again: " + " ".join(stale))


if __name__ == "__main__":
    main()
