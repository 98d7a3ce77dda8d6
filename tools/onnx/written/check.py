"""Check models that tapc wrote: by onnx.checker, and by the values that ONNX Runtime or, where it is not installed, the reference
evaluator of the onnx package computes. A folder has NAME.onnx, NAME.in.N.pb and NAME.out.N.pb; a line for each says what was found."""

import glob
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

TOLERANCE = {"float64": 1e-6, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2, "complex64": 1e-4, "complex128": 1e-6}


def tensors(path, kind):
    """Gives the tensors of one kind beside a model, by name, in order."""
    out = {}
    for i in range(len(glob.glob(glob.escape(path) + f".{kind}.*.pb"))):
        with open(f"{path}.{kind}.{i}.pb", "rb") as f:
            t = onnx.TensorProto.FromString(f.read())
        out[t.name] = numpy_helper.to_array(t)
    return out


def session(model):
    """Gives what runs a model: a function from inputs to the list of outputs."""
    if onnxruntime is None:
        from onnx.reference import ReferenceEvaluator

        return lambda feeds: ReferenceEvaluator(model).run(None, feeds)
    o = onnxruntime.SessionOptions()
    o.log_severity_level = 4
    o.intra_op_num_threads = o.inter_op_num_threads = 1
    o.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    s = onnxruntime.InferenceSession(model, o, providers=["CPUExecutionProvider"])
    return lambda feeds: s.run(None, feeds)


def differs(want, got):
    """Says how two tensors differ; an empty text if they do not."""
    got = np.asarray(got)
    if str(want.dtype).startswith("float8") and got.dtype == np.uint8:
        got = got.view(want.dtype)  # ONNX Runtime gives the bytes of what NumPy has no type for
    if str(got.dtype) != str(want.dtype) or got.shape != want.shape:
        return f"expected {want.dtype}{want.shape}, found {got.dtype}{got.shape}"
    bound = TOLERANCE.get(str(want.dtype))
    if bound is None:
        return "" if want.tobytes() == got.tobytes() else f"expected {want.ravel()[:8]}, found {got.ravel()[:8]}"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = want.astype(wide), got.astype(wide)
    if np.allclose(a, b, rtol=bound, atol=bound, equal_nan=True):
        return ""
    return f"expected {a.ravel()[:8]}, found {b.ravel()[:8]}"


def check(path):
    """Gives what is to be said of one model: run, unrun with the reason, or wrong."""
    try:
        onnx.checker.check_model(path + ".onnx", full_check=True)
    except Exception as e:
        return "wrong the checker: " + str(e)
    want = tensors(path, "out")
    try:
        model = onnx.load(path + ".onnx")
        names = [o.name for o in model.graph.output]
        got = session(path + ".onnx")(tensors(path, "in"))
    except Exception as e:
        return "unrun " + str(e)
    if names != list(want):
        return f"wrong outputs: expected {list(want)}, found {names}"
    for name, value in zip(names, got):
        if how := differs(want[name], value):
            return f"wrong {name}: {how}"
    return "run"


def main():
    print("by", "onnxruntime" if onnxruntime else "onnx.reference")
    for file in sorted(glob.glob(os.path.join(glob.escape(sys.argv[1]), "*.onnx"))):
        path = file[: -len(".onnx")]
        print(os.path.basename(path), check(path).replace("\n", " ")[:400])


main()
