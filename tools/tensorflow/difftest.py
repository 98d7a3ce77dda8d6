"""Compares the rules for TensorFlow's operators with TensorFlow itself, on random calls.

  go build -o /tmp/tapc ./cmd/tapc
  python difftest.py /tmp/tapc [-n CALLS] [-seed S] [OPERATOR...]

Needs Python with tensorflow (tensorflow-cpu will do) and numpy. Every call becomes an Amanda graph of one operator in the namespace
tensorflow/1.13.1, which tapc runs with its reference evaluator, and is made through tf.raw_ops, whose operators are those of the
older release where this test names them. The exit status is 1 if any result differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf


class Known:
    """An input that is a constant of the graph, as shapes and axes are."""

    def __init__(self, value, dtype=np.int32):
        self.value = np.asarray(value, dtype)


def shape(r, low=1, high=3):
    return tuple(int(n) for n in r.integers(1, 5, size=r.integers(low, high + 1)))


def floats(r, s, low=-3.0, high=3.0):
    return r.uniform(low, high, s).astype(np.float32)


def integers(r, s, low=-5, high=6):
    return r.integers(low, high, s).astype(np.int32)


def stretched(r, s):
    """A shape that broadcasts with s."""
    t = [n if r.random() < 0.7 else 1 for n in s]
    return tuple(t[r.integers(0, len(t)):] if r.random() < 0.3 else t)


def unary(low=-3.0, high=3.0):
    def call(r, op):
        names = [a for a in ("x", "features") if a in tf_inputs(op)]
        return {names[0]: floats(r, shape(r), low, high)}, {}
    return call


def tf_inputs(op):
    import inspect
    return list(inspect.signature(getattr(tf.raw_ops, op)).parameters)


def binary(kind=floats, low=-3, high=3, away=False):
    def call(r, op):
        s = shape(r)
        x, y = kind(r, s, low, high), kind(r, stretched(r, s), low, high)
        if away:
            y = np.where(np.abs(y) < 0.5, 1, y).astype(y.dtype)
        return ({"x": x, "y": y} if r.random() < 0.5 or away else {"x": y, "y": x}), {}
    return call


def reduction(r, op):
    s = shape(r)
    axes = [int(a) for a in r.permutation(len(s))[: r.integers(0, len(s) + 1)]]
    axes = [a - len(s) if r.random() < 0.3 else a for a in axes]
    value = floats(r, s) if op not in ("All", "Any") else r.random(s) < 0.5
    return {"input": value, "axis" if "axis" in tf_inputs(op) else "reduction_indices": Known(axes)}, {"keep_dims": bool(r.random() < 0.5)}


def arg(r, op):
    s = shape(r)
    return {"input": floats(r, s), "dimension": Known(int(r.integers(-len(s), len(s))))}, {}


def matmul(r, op):
    m, k, n = r.integers(1, 6, 3)
    a, b = bool(r.random() < 0.5), bool(r.random() < 0.5)
    return {"a": floats(r, (k, m) if a else (m, k)), "b": floats(r, (n, k) if b else (k, n))}, {"transpose_a": a, "transpose_b": b}


def batch_matmul(r, op):
    m, k, n = r.integers(1, 6, 3)
    lead = shape(r, 1, 2)
    a, b = bool(r.random() < 0.5), bool(r.random() < 0.5)
    return {"x": floats(r, lead + ((k, m) if a else (m, k))), "y": floats(r, lead + ((n, k) if b else (k, n)))}, {"adj_x": a, "adj_y": b}


def bias(r, op):
    s = shape(r, 2, 4)
    return {"value": floats(r, s), "bias": floats(r, (s[-1],))}, {}


def image(r):
    return (int(r.integers(1, 3)), int(r.integers(4, 9)), int(r.integers(4, 9)), int(r.integers(1, 4)))


def window(r, key):
    k = [1, int(r.integers(1, 4)), int(r.integers(1, 4)), 1]
    n = int(r.integers(1, 4))
    return {key: k, "strides": [1, n, n, 1], "padding": str(r.choice(["SAME", "VALID"]))}


def conv(r, op):
    x = image(r)
    w = (int(r.integers(1, 4)), int(r.integers(1, 4)), x[3], int(r.integers(1, 5)))
    n = int(r.integers(1, 4))
    d = int(r.integers(1, 3)) if n == 1 and op == "Conv2D" else 1
    return {"input": floats(r, x), "filter": floats(r, w)}, {"strides": [1, n, n, 1], "padding": str(r.choice(["SAME", "VALID"])), "dilations": [1, d, d, 1]}


def pool(r, op):
    return {"input" if op == "MaxPool" else "value": floats(r, image(r))}, window(r, "ksize")


def batch_norm(r, op):
    x = image(r)
    c = (x[3],)
    return {"x": floats(r, x), "scale": floats(r, c), "offset": floats(r, c), "mean": floats(r, c), "variance": floats(r, c, 0.1, 2)}, {
        "is_training": False, "epsilon": 0.001}


def lrn(r, op):
    x = (1, 3, 3, int(r.integers(1, 9)))
    return {"input": floats(r, x)}, {"depth_radius": int(r.integers(1, 4)), "alpha": 0.1, "beta": 0.75, "bias": 2.0}


def reshape(r, op):
    s = shape(r)
    n = int(np.prod(s))
    return {"tensor": floats(r, s), "shape": Known([-1, s[-1]] if r.random() < 0.5 else [n])}, {}


def transpose(r, op):
    s = shape(r)
    return {"x": floats(r, s), "perm": Known([int(p) for p in r.permutation(len(s))])}, {}


def concat(r, op):
    s, a = list(shape(r)), 0
    a = int(r.integers(0, len(s)))
    parts = [floats(r, tuple(s[:a] + [int(r.integers(1, 4))] + s[a + 1:])) for _ in range(int(r.integers(2, 4)))]
    return {"values": parts, "axis": Known(a - len(s) if r.random() < 0.5 else a)}, {}


def pack(r, op):
    s = shape(r)
    return {"values": [floats(r, s) for _ in range(int(r.integers(1, 4)))]}, {"axis": int(r.integers(-len(s) - 1, len(s) + 1))}


def unpack(r, op):
    s = shape(r)
    a = int(r.integers(0, len(s)))
    return {"value": floats(r, s)}, {"axis": a, "num": s[a]}


def split(r, op):
    n = int(r.integers(1, 4))
    s = list(shape(r))
    a = int(r.integers(0, len(s)))
    s[a] = n * int(r.integers(1, 3))
    return {"axis": Known(a), "value": floats(r, tuple(s))}, {"num_split": n}


def split_v(r, op):
    s = list(shape(r))
    a = int(r.integers(0, len(s)))
    sizes = [int(n) for n in r.integers(1, 4, int(r.integers(2, 4)))]
    s[a] = sum(sizes)
    if r.random() < 0.5:
        sizes = sizes[:-1] + [-1]
    return {"value": floats(r, tuple(s)), "size_splits": Known(sizes, np.int64), "axis": Known(a)}, {"num_split": len(sizes)}


def cut(r, op):
    s = shape(r)
    begin = [int(r.integers(0, n)) for n in s]
    return {"input": floats(r, s), "begin": Known(begin), "size": Known([-1 if r.random() < 0.3 else int(r.integers(0, n - b + 1)) for n, b in zip(s, begin)])}, {}


def strided(r, op):
    s = shape(r)
    k = int(r.integers(1, len(s) + 1))
    masks = {m: int(r.integers(0, 1 << k)) for m in ("begin_mask", "end_mask")}
    masks["shrink_axis_mask"] = int(r.integers(0, 1 << k)) if r.random() < 0.4 else 0
    steps = [int(r.choice([1, 1, 2, -1, -2])) for _ in range(k)]
    begin = [int(r.integers(-n, n)) for n in s[:k]]
    for i in range(k):
        if masks["shrink_axis_mask"] >> i & 1:
            steps[i] = 1
            for m in ("begin_mask", "end_mask"):
                masks[m] &= ~(1 << i)
    return {"input": floats(r, s), "begin": Known(begin), "end": Known([int(r.integers(-n - 1, n + 2)) for n in s[:k]]), "strides": Known(steps)}, masks


def gather(r, op):
    s = shape(r)
    a = int(r.integers(0, len(s))) if op == "GatherV2" else 0
    at = r.integers(0, s[a], shape(r, 1, 2)).astype(np.int32)
    return {"params": floats(r, s), "indices": at, **({"axis": Known(a)} if op == "GatherV2" else {})}, {}


def gather_nd(r, op):
    s = shape(r, 2, 3)
    k = int(r.integers(1, len(s) + 1))
    return {"params": floats(r, s), "indices": np.stack([r.integers(0, s[i], (3,)) for i in range(k)], -1).astype(np.int32)}, {}


def tile(r, op):
    s = shape(r)
    return {"input": floats(r, s), "multiples": Known([int(n) for n in r.integers(1, 3, len(s))])}, {}


def pad(r, op):
    s = tuple(n + 2 for n in shape(r))
    top = 2 if op == "MirrorPad" else 4
    out = {"input": floats(r, s), "paddings": Known(r.integers(0, top, (len(s), 2)))}
    if op == "PadV2":
        out["constant_values"] = Known(1.5, np.float32)
    return out, {"mode": str(r.choice(["REFLECT", "SYMMETRIC"]))} if op == "MirrorPad" else {}


def select(r, op):
    s = shape(r)
    c = s if r.random() < 0.5 else s[:1]
    return {"condition": r.random(c) < 0.5, "x": floats(r, s), "y": floats(r, s)}, {}


def one_hot(r, op):
    s = shape(r, 1, 2)
    return {"indices": r.integers(-1, 5, s).astype(np.int32), "depth": Known(4), "on_value": Known(2.5, np.float32), "off_value": Known(-1, np.float32)}, {
        "axis": int(r.integers(-1, len(s) + 1))}


def cumsum(r, op):
    s = shape(r)
    return {"x": floats(r, s), "axis": Known(int(r.integers(-len(s), len(s))))}, {"exclusive": bool(r.random() < 0.5), "reverse": bool(r.random() < 0.5)}


def simple(**inputs):
    return lambda r, op: ({k: v(r) for k, v in inputs.items()}, {})


def logic(r, op):
    s = shape(r)
    return {"x": r.random(s) < 0.5, "y": r.random(stretched(r, s)) < 0.5}, {}


CALLS = {
    "MatMul": matmul, "BatchMatMul": batch_matmul, "BiasAdd": bias, "BiasAddV1": bias, "Add": binary(), "AddV2": binary(), "Sub": binary(), "Mul": binary(),
    "RealDiv": binary(away=True), "Div": binary(integers, -9, 10, away=True), "FloorDiv": binary(integers, -9, 10, away=True), "FloorMod": binary(integers, -9, 10, away=True),
    "Mod": binary(integers, -9, 10, away=True), "TruncateDiv": binary(integers, -9, 10, away=True), "TruncateMod": binary(integers, -9, 10, away=True), "Pow": binary(low=0.2, high=3), "Maximum": binary(), "Minimum": binary(),
    "SquaredDifference": binary(), "Atan2": lambda r, op: (lambda s: ({"y": floats(r, s), "x": floats(r, s)}, {}))(shape(r)),
    "AddN": lambda r, op: (lambda s: ({"inputs": [floats(r, s) for _ in range(int(r.integers(1, 4)))]}, {}))(shape(r)),
    "Equal": binary(integers, -2, 3), "NotEqual": binary(integers, -2, 3), "Less": binary(integers, -2, 3), "LessEqual": binary(integers, -2, 3), "Greater": binary(integers, -2, 3), "GreaterEqual": binary(integers, -2, 3),
    "LogicalAnd": logic, "LogicalOr": logic, "LogicalNot": lambda r, op: ({"x": r.random(shape(r)) < 0.5}, {}), "Select": select,
    **{op: unary() for op in ("Neg", "Abs", "Sign", "Square", "Exp", "Expm1", "Sin", "Cos", "Tan", "Atan", "Sinh", "Cosh", "Tanh", "Erf", "Erfc", "Floor", "Ceil", "Round", "Rint", "IsNan", "IsInf",
                              "IsFinite", "Relu", "Relu6", "Elu", "Selu", "LeakyRelu", "Sigmoid", "Softplus", "Softsign")},
    **{op: unary(0.1, 3.0) for op in ("Sqrt", "Rsqrt", "Reciprocal", "Inv", "Log", "Log1p")}, **{op: unary(-0.9, 0.9) for op in ("Asin", "Acos")},
    "Softmax": simple(logits=lambda r: floats(r, shape(r, 1, 3))), "LogSoftmax": simple(logits=lambda r: floats(r, shape(r, 1, 3))),
    **{op: reduction for op in ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any")}, "ArgMax": arg, "ArgMin": arg, "L2Loss": simple(t=lambda r: floats(r, shape(r))), "Cumsum": cumsum,
    "Identity": simple(input=lambda r: floats(r, shape(r))), "Shape": simple(input=lambda r: floats(r, shape(r))), "Size": simple(input=lambda r: floats(r, shape(r))), "Rank": simple(input=lambda r: floats(r, shape(r))),
    "Cast": lambda r, op: ({"x": floats(r, shape(r))}, {"DstT": str(r.choice(["int32", "float64", "bool", "float16"]))}),
    "Reshape": reshape, "Transpose": transpose, "ExpandDims": lambda r, op: (lambda s: ({"input": floats(r, s), "axis": Known(int(r.integers(-len(s) - 1, len(s) + 1)))}, {}))(shape(r)),
    "Squeeze": lambda r, op: ({"input": floats(r, (1,) + shape(r) + (1,))}, {"axis": [[], [0], [-1], [0, -1]][int(r.integers(0, 4))]}),
    "ConcatV2": concat, "Pack": pack, "Unpack": unpack, "Split": split, "SplitV": split_v, "Slice": cut, "StridedSlice": strided, "Gather": gather, "GatherV2": gather, "GatherNd": gather_nd,
    "Tile": tile, "BroadcastTo": lambda r, op: (lambda s: ({"input": floats(r, stretched(r, s)), "shape": Known(s)}, {}))(shape(r)), "Pad": pad, "PadV2": pad, "MirrorPad": pad,
    "ReverseV2": lambda r, op: (lambda s: ({"tensor": floats(r, s), "axis": Known([int(a) for a in r.permutation(len(s))[: r.integers(0, len(s) + 1)]])}, {}))(shape(r)),
    "Fill": lambda r, op: ({"dims": Known(shape(r)), "value": floats(r, ())}, {}), "ZerosLike": simple(x=lambda r: floats(r, shape(r))), "OnesLike": simple(x=lambda r: floats(r, shape(r))),
    "Range": lambda r, op: ({"start": Known(int(r.integers(-5, 5))), "limit": Known(int(r.integers(5, 12))), "delta": Known(int(r.choice([1, 2, 3])))}, {}), "OneHot": one_hot,
    "Conv2D": conv, "DepthwiseConv2dNative": conv, "MaxPool": pool, "AvgPool": pool, "FusedBatchNorm": batch_norm, "FusedBatchNormV2": batch_norm, "LRN": lrn,
}

# The release calls some ports otherwise than its Python functions do.
PORTS = {"ExpandDims": {"axis": "dim"}, "Split": {"axis": "split_dim"}, "SplitV": {"axis": "split_dim"}, "Select": {"x": "t", "y": "e"}}
ATTRS = {"Squeeze": {"axis": "squeeze_dims"}}
REDUCTIONS = {op: {"axis": "reduction_indices"} for op in ("Sum", "Mean", "Prod", "Max", "Min", "All", "Any")}
PORTS.update(REDUCTIONS)


def const(value):
    return {"dtype": str(value.dtype), "shape": list(value.shape), "value": [x.item() for x in value.ravel()]}


def graph(op, inputs, attrs, results):
    """The call as an Amanda graph, and the values of its placeholders."""
    ops, edges, feeds, ports = [], [], {}, []
    for key, value in inputs.items():
        values = value if isinstance(value, list) else [value]
        for i, v in enumerate(values):
            port = PORTS.get(op, {}).get(key, key) + ("/%d" % i if isinstance(value, list) else "")
            name = "in_%s_%d" % (key, i)
            if isinstance(v, Known):
                ops.append({"type": "Const", "name": name, "attrs": {"dtype": str(v.value.dtype), "value": const(v.value)}, "output_ports": [{"name": "output"}]})
            else:
                ops.append({"type": "Placeholder", "name": name, "attrs": {"dtype": str(v.dtype), "shape": list(v.shape)}, "output_ports": [{"name": "output"}]})
                feeds[name] = v
            ports.append({"name": port})
            edges.append({"output_port": {"op": name, "port": "output"}, "input_port": {"op": "op", "port": port}})
    ops.append({"type": op, "name": "op", "attrs": {ATTRS.get(op, {}).get(k, k): v for k, v in attrs.items()}, "input_ports": ports,
                "output_ports": [{"name": str(i)} for i in range(results)]})
    return {"graph": {"namespace": "tensorflow/1.13.1", "ops": ops, "edges": edges}}, feeds


def expected(op, inputs, attrs):
    plain = {k: [x for x in v] if isinstance(v, list) else (v.value if isinstance(v, Known) else v) for k, v in inputs.items()}
    extra = {}
    if op == "Cast":
        attrs = {"DstT": tf.as_dtype(attrs["DstT"])}
    if op in ("FusedBatchNorm", "FusedBatchNormV2"):
        extra["data_format"] = "NHWC"
    out = getattr(tf.raw_ops, op)(**plain, **attrs, **extra)
    if op.startswith("FusedBatchNorm"):
        out = [out[0]]
    return [np.asarray(o) for o in (out if isinstance(out, (list, tuple)) else [out])]


def run(tapc, folder, op, inputs, attrs, want):
    g, feeds = graph(op, inputs, attrs, len(want))
    path = os.path.join(folder, "g.amanda.json")
    with open(path, "w") as f:
        json.dump(g, f)
    command = [tapc, "run", "--reference", path]
    for name, value in feeds.items():
        np.save(os.path.join(folder, name + ".npy"), value)
        command += ["--input", "%s=%s" % (name, os.path.join(folder, name + ".npy"))]
    names = ["op"] if len(want) == 1 else ["op:%d" % i for i in range(len(want))]
    outs = [os.path.join(folder, "out%d.npy" % i) for i in range(len(want))]
    for name, out in zip(names, outs):
        command += ["--output", "%s=%s" % (name, out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return "tapc fails: " + done.stderr.strip().splitlines()[0]
    for i, (w, out) in enumerate(zip(want, outs)):
        got = np.load(out)
        if got.shape != w.shape or got.dtype != w.dtype:
            return "result %d is %s%s, and %s%s is expected" % (i, got.dtype, got.shape, w.dtype, w.shape)
        if not np.allclose(got, w, rtol=2e-5, atol=2e-5, equal_nan=True):
            return "result %d differs by up to %g" % (i, np.nanmax(np.abs(got.astype(np.float64) - w.astype(np.float64))))
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tapc")
    parser.add_argument("-n", type=int, default=5, help="calls of each operator")
    parser.add_argument("-seed", type=int, default=1)
    parser.add_argument("operators", nargs="*")
    args = parser.parse_args()
    calls = wrong = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        for op in args.operators or CALLS:
            for i in range(args.n):
                r = np.random.default_rng([args.seed, i, *op.encode()])
                inputs, attrs = CALLS[op](r, op)
                try:
                    want = expected(op, inputs, attrs)
                except (tf.errors.OpError, TypeError, ValueError) as e:
                    skipped += 1
                    print("skipped %s: %s" % (op, str(e).splitlines()[0][:120]))
                    continue
                calls += 1
                fault = run(args.tapc, folder, op, inputs, attrs, want)
                if fault:
                    wrong += 1
                    shapes = {k: v.value.tolist() if isinstance(v, Known) else [x.shape for x in v] if isinstance(v, list) else v.shape for k, v in inputs.items()}
                    print("%s %s %s: %s" % (op, shapes, attrs, fault))
    print("%d calls of %d operators, %d wrong, %d that TensorFlow itself refuses" % (calls, len(args.operators or CALLS), wrong, skipped))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
