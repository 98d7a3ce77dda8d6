"""Runs graphs that tapc wrote in TensorFlow's vocabulary by TensorFlow itself, and compares the values. A folder has NAME.json: operators in order
with the names of their inputs and outputs, and the values of inputs and outputs; a line for each says what was found."""

import base64
import glob
import json
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

tf.compat.v1.disable_eager_execution()
TOLERANCE = {"float64": 1e-6, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2, "complex64": 1e-4, "complex128": 1e-6}


def array(t):
    """Gives the values of a tensor of the file."""
    dtype = tf.as_dtype("bool" if t["dtype"] == "boolean" else t["dtype"]).as_numpy_dtype
    return np.frombuffer(base64.b64decode(t["data"] or ""), dtype).reshape(t["shape"] or [])


def attribute(kind, value):
    """Gives an attribute as a graph definition has it, by its declared kind."""
    a = tf.compat.v1.AttrValue()
    if kind == "type":
        a.type = tf.as_dtype("bool" if value == "boolean" else value).as_datatype_enum
    elif kind == "int":
        a.i = int(value)
    elif kind == "float":
        a.f = float(value)
    elif kind == "bool":
        a.b = bool(value)
    elif kind == "string":
        a.s = value.encode()
    elif kind == "list(int)":
        a.list.i.extend(int(v) for v in value)
        a.list.SetInParent()
    else:
        raise ValueError("an attribute of kind " + kind)
    return a


def run(case):
    """Gives the outputs of a case."""
    graph = tf.compat.v1.GraphDef()
    at, feeds = {}, {}
    for i, (name, t) in enumerate(case["inputs"].items()):
        value = array(t)
        node = graph.node.add(name="in%d" % i, op="Placeholder")
        node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
        at[name], feeds["in%d:0" % i] = "in%d:0" % i, value
    for i, op in enumerate(case["ops"]):
        if op["type"] == "Const":
            value = array(op["value"])
            node = graph.node.add(name="op%d" % i, op="Const")
            node.attr["dtype"].type = tf.as_dtype(value.dtype).as_datatype_enum
            node.attr["value"].tensor.CopyFrom(tf.compat.v1.make_tensor_proto(value))
        else:
            node = graph.node.add(name="op%d" % i, op=op["type"])
            node.input.extend(at[name] for name in op["in"] or [])
            kinds = {a.name: a.type for a in op_def_registry.get(op["type"]).attr}
            for key, value in op["attrs"].items():
                node.attr[key].CopyFrom(attribute(kinds[key], value))
        for j, name in enumerate(op["out"]):
            at[name] = "op%d:%d" % (i, j)
    with tf.Graph().as_default() as g:
        tf.import_graph_def(graph, name="")
        with tf.compat.v1.Session(graph=g) as session:
            return dict(zip(case["outputs"], session.run([at[name] for name in case["outputs"]], feeds)))


def differs(want, got):
    """Says how two tensors differ; an empty text if they do not."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"expected {want.dtype}{want.shape}, found {got.dtype}{got.shape}"
    bound = TOLERANCE.get(str(want.dtype))
    if bound is None:
        return "" if want.tobytes() == got.tobytes() else f"expected {want.ravel()[:8]}, found {got.ravel()[:8]}"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = want.astype(wide), got.astype(wide)
    return "" if np.allclose(a, b, rtol=bound, atol=bound, equal_nan=True) else f"expected {a.ravel()[:8]}, found {b.ravel()[:8]}"


def check(path):
    """Gives what is to be said of one case: run, unrun with the reason, or wrong."""
    with open(path) as f:
        case = json.load(f)
    try:
        got = run(case)
    except Exception as e:
        return "unrun " + str(e)
    for name, t in case["outputs"].items():
        if how := differs(array(t), got[name]):
            return f"wrong {[op['type'] for op in case['ops']]} {name}: {how}"
    return "run"


def main():
    print("by TensorFlow", tf.__version__)
    for path in sorted(glob.glob(os.path.join(glob.escape(sys.argv[1]), "*.json"))):
        print(os.path.basename(path)[: -len(".json")], check(path).replace("\n", " ")[:400])


main()
