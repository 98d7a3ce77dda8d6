"""Writes random small models with what ONNX Runtime makes of random inputs, as folders that tools/onnx/conform runs.

  python3 randomtests.py OUTPUT COUNT [SEED]
  go run ./tools/onnx/conform OUTPUT

Needs the Python packages onnx and onnxruntime. Half of the models are one operator with random types, shapes, attributes and
broadcasts; the others are chains of several. The same seed writes the same models. A model that ONNX Runtime does not run is left out.
"""

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOATS = [np.float32, np.float32, np.float32, np.float64, np.float16]
INTS = [np.int32, np.int64, np.int8, np.uint8, np.int16]


class Model:
    """A model under construction: values by name with their arrays as far as they are inputs."""

    def __init__(self, rng):
        self.rng = rng
        self.nodes, self.inputs, self.consts, self.opset = [], {}, {}, int(rng.integers(13, 23))
        self.count = 0

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def input(self, array):
        n = self.name()
        self.inputs[n] = np.asarray(array)
        return n

    def const(self, array):
        n = self.name()
        self.consts[n] = np.asarray(array)
        return n

    def op(self, kind, inputs, outputs=1, **attrs):
        out = [self.name() for _ in range(outputs)]
        domain = attrs.pop("domain", "")
        self.nodes.append(helper.make_node(kind, inputs, out, domain=domain, **{k: v for k, v in attrs.items() if v is not None}))
        return out[0] if outputs == 1 else out

    def pick(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def chance(self, p=0.5):
        return bool(self.rng.random() < p)

    def size(self, low=1, high=6):
        return int(self.rng.integers(low, high))

    def shape(self, low=1, high=4, most=5):
        return [self.size(1, most) for _ in range(self.size(low, high + 1))]

    def data(self, shape, dtype=np.float32, low=-3.0, high=3.0):
        if dtype == np.bool_:
            return self.rng.random(shape) < 0.5
        if np.issubdtype(dtype, np.integer):
            return self.rng.integers(0 if np.issubdtype(dtype, np.unsignedinteger) else -9, 10, shape).astype(dtype)
        return (self.rng.random(shape) * (high - low) + low).astype(dtype)

    def float(self):
        return self.pick(*FLOATS)

    def number(self):
        return self.pick(*FLOATS, *INTS)

    def broadcast(self, shape):
        """A shape that broadcasts to another one."""
        s = [1 if self.chance(0.3) else n for n in shape]
        return s[int(self.rng.integers(0, len(s) + 1)):] if self.chance() else s


def unary(m):
    kind = m.pick("Abs", "Neg", "Exp", "Log", "Sqrt", "Reciprocal", "Floor", "Ceil", "Round", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh",
                  "Tanh", "Asinh", "Acosh", "Atanh", "Erf", "Sign", "Relu", "Sigmoid", "Softplus", "Softsign", "HardSwish", "IsNaN", "Mish", "Identity", "LeakyRelu", "Elu", "Selu",
                  "HardSigmoid", "ThresholdedRelu", "Celu", "Gelu", "Shrink")
    attrs = {"LeakyRelu": {"alpha": 0.3}, "Elu": {"alpha": 1.5}, "Selu": {}, "HardSigmoid": {"alpha": 0.3, "beta": 0.4}, "ThresholdedRelu": {"alpha": 0.5},
             "Celu": {"alpha": 0.7}, "Shrink": {"bias": 0.2, "lambd": 0.7}, "Gelu": {"approximate": m.pick("none", "tanh")}}.get(kind, {})
    if kind in ("Mish", "HardSwish"):
        m.opset = max(m.opset, 18)
    if kind == "Gelu":
        m.opset = max(m.opset, 20)
    low, high = (0.1, 3) if kind in ("Log", "Sqrt", "Reciprocal") else (1, 3) if kind == "Acosh" else (-0.9, 0.9) if kind in ("Asin", "Acos", "Atanh") else (-3, 3)
    dtype = m.number() if kind in ("Abs", "Neg", "Sign", "Identity", "Relu") else m.float()
    m.op(kind, [m.input(m.data(m.shape(0), dtype, low, high))], **attrs)


def binary(m):
    kind = m.pick("Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Mod", "PRelu", "Sum", "Mean")
    s = m.shape(0)
    dtype = m.number()
    if kind in ("Pow", "PRelu", "Sum", "Mean"):
        dtype = m.pick(np.float32, np.float64)
    x, y = m.data(s, dtype), m.data(m.broadcast(s), dtype)
    if kind == "Div" or kind == "Mod":
        y = np.where(y == 0, np.ones_like(y), y)
    if kind == "Pow":
        x = np.abs(x) + np.asarray(0.1, dtype)
    attrs = {"fmod": 1} if kind == "Mod" and np.issubdtype(dtype, np.floating) else {}
    m.op(kind, [m.input(x), m.input(y) if m.chance(0.8) else m.const(y)], **attrs)


def logic(m):
    kind = m.pick("And", "Or", "Xor", "Not", "Where", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot")
    s = m.shape(0)
    if kind == "Not":
        m.op(kind, [m.input(m.data(s, np.bool_))])
    elif kind == "Where":
        d = m.number()
        m.op(kind, [m.input(m.data(m.broadcast(s), np.bool_)), m.input(m.data(s, d)), m.input(m.data(m.broadcast(s), d))])
    elif kind == "BitShift":
        d = m.pick(np.uint8, np.uint32, np.uint64)
        m.op(kind, [m.input(m.data(s, d)), m.input((m.rng.integers(0, 7, s)).astype(d))], direction=m.pick("LEFT", "RIGHT"))
    elif kind.startswith("Bitwise"):
        m.opset = max(m.opset, 18)
        d = m.pick(np.int32, np.uint8, np.int64)
        ins = [m.input(m.data(s, d))] + ([] if kind == "BitwiseNot" else [m.input(m.data(m.broadcast(s), d))])
        m.op(kind, ins)
    else:
        m.op(kind, [m.input(m.data(s, np.bool_)), m.input(m.data(m.broadcast(s), np.bool_))])


def cast(m):
    to = m.pick(np.float32, np.float64, np.float16, np.int32, np.int64, np.uint8, np.bool_, np.int8)
    m.op("Cast", [m.input(np.abs(m.data(m.shape(0), m.pick(np.float32, np.float64, np.int32, np.int64, np.bool_, np.uint8))))], to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


def reduce(m):
    kind = m.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
    s = m.shape()
    axes = sorted(m.rng.choice(len(s), m.size(1, len(s) + 1), replace=False).tolist())
    axes = [a - len(s) if m.chance(0.3) else a for a in axes]
    low = 0.1 if kind == "ReduceLogSum" else -2
    dtype = m.pick(np.float32, np.float64, np.int32) if kind in ("ReduceSum", "ReduceMax", "ReduceMin") else np.float32
    x = m.input(m.data(s, dtype, low, 2))
    keep = int(m.chance())
    if m.chance(0.2):
        m.op(kind, [x], keepdims=keep)
    elif kind == "ReduceSum" or m.opset >= 18:
        m.op(kind, [x, m.const(np.array(axes, np.int64))], keepdims=keep)
    else:
        m.op(kind, [x], axes=axes, keepdims=keep)


def arg(m):
    s = m.shape()
    x = m.rng.permutation(int(np.prod(s))).reshape(s).astype(m.pick(np.float32, np.int32, np.float64))
    m.op(m.pick("ArgMax", "ArgMin"), [m.input(x)], axis=int(m.rng.integers(-len(s), len(s))), keepdims=int(m.chance()), select_last_index=int(m.chance()))


def softmax(m):
    s = m.shape()
    m.op(m.pick("Softmax", "LogSoftmax", "Hardmax"), [m.input(m.data(s, m.pick(np.float32, np.float64)))], axis=int(m.rng.integers(-len(s), len(s))))


def matmul(m):
    k = m.size()
    batch = m.shape(0, 2)
    a = m.pick([k], batch + [m.size(), k], [m.size(), k])
    b = m.pick([k], m.broadcast(batch) + [k, m.size()], [k, m.size()])
    d = m.pick(np.float32, np.float32, np.float64, np.int32)
    m.op("MatMul", [m.input(m.data(a, d)), m.input(m.data(b, d)) if m.chance() else m.const(m.data(b, d))])


def gemm(m):
    r, k, c = m.size(), m.size(), m.size()
    ta, tb = int(m.chance()), int(m.chance())
    ins = [m.input(m.data([k, r] if ta else [r, k])), m.const(m.data([c, k] if tb else [k, c]))]
    if m.chance(0.7):
        ins.append(m.const(m.data(m.pick([r, c], [c], [1, c], [r, 1], [1], []))))
    m.op("Gemm", ins, transA=ta, transB=tb, alpha=m.pick(1.0, 0.5), beta=m.pick(1.0, 2.0))


def windows(m, rank, size):
    """Attributes of a window over an image, and how far it reaches."""
    k = [m.size(1, 4) for _ in range(rank)]
    d = [m.size(1, 3) if m.chance(0.3) else 1 for _ in range(rank)]
    at = {"strides": [m.size(1, 3) for _ in range(rank)], "dilations": d if m.chance() else None}
    if at["dilations"] is None:
        d = [1] * rank
    reach = [(k[i] - 1) * d[i] + 1 for i in range(rank)]
    pads = [m.size(0, min(r, 3)) if r > 1 else 0 for r in k] + [m.size(0, min(r, 3)) if r > 1 else 0 for r in k]
    if m.chance(0.2):
        at["auto_pad"] = m.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    elif m.chance(0.7):
        at["pads"] = pads
    return k, at, [max(r, s) for r, s in zip(reach, size)]


def conv(m):
    rank = m.size(1, 4)
    k, at, size = windows(m, rank, [m.size(3, 8) for _ in range(rank)])
    g, c, f = m.size(1, 4), m.size(1, 3), m.size(1, 3)
    ins = [m.input(m.data([m.size(1, 3), g * c] + size)), m.const(m.data([g * f, c] + k))]
    if m.chance():
        ins.append(m.const(m.data([g * f])))
    if at.get("auto_pad", "").startswith("SAME"):
        at["dilations"] = None
    m.op("Conv", ins, group=g, kernel_shape=k if m.chance() else None, **at)


def conv_transpose(m):
    rank = m.size(1, 3)
    k, at, size = windows(m, rank, [m.size(2, 5) for _ in range(rank)])
    at.pop("auto_pad", None)
    at["output_padding"] = [int(m.rng.integers(0, s)) for s in at["strides"]] if m.chance(0.4) else None
    g, c, f = m.size(1, 3), m.size(1, 3), m.size(1, 3)
    ins = [m.input(m.data([1, g * c] + size)), m.const(m.data([g * c, f] + k))]
    if m.chance():
        ins.append(m.const(m.data([g * f])))
    m.op("ConvTranspose", ins, group=g, **at)


def pool(m):
    kind = m.pick("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool")
    rank = m.size(1, 4)
    k, at, size = windows(m, rank, [m.size(3, 8) for _ in range(rank)])
    x = m.input(m.data([m.size(1, 3), m.size(1, 4)] + size))
    if kind.startswith("Global"):
        m.op(kind, [x])
        return
    if kind == "AveragePool" and m.opset < 19 or kind == "LpPool" and m.opset < 18 or at.get("auto_pad", "").startswith("SAME"):
        at["dilations"] = None
    if kind == "AveragePool":
        at["count_include_pad"] = int(m.chance())
    if kind != "LpPool":
        at["ceil_mode"] = int(m.chance(0.3)) if "auto_pad" not in at else None
    else:
        at["p"] = m.size(1, 4)
    m.op(kind, [x], outputs=2 if kind == "MaxPool" and m.chance(0.3) else 1, kernel_shape=k, **at)


def norm(m):
    kind = m.pick("BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LRN", "LpNormalization", "MeanVarianceNormalization")
    c = m.size()
    s = [m.size(), c] + m.shape(1, 2)
    x = m.input(m.data(s))
    if kind == "BatchNormalization":
        m.op(kind, [x] + [m.const(m.data([c], low=0.2)) for _ in range(4)], epsilon=1e-3)
    elif kind == "InstanceNormalization":
        m.op(kind, [x, m.const(m.data([c])), m.const(m.data([c]))], epsilon=1e-2)
    elif kind == "LayerNormalization":
        m.opset = max(m.opset, 17)
        a = int(m.rng.integers(-len(s), len(s)))
        t = s[a:]
        m.op(kind, [x, m.const(m.data(t))] + ([m.const(m.data(t))] if m.chance() else []), axis=a, epsilon=1e-2)
    elif kind == "GroupNormalization":
        m.opset = 21
        m.op(kind, [x, m.const(m.data([c])), m.const(m.data([c]))], num_groups=m.pick(1, c), epsilon=1e-2)
    elif kind == "LRN":
        m.inputs[x] = m.data([m.size(), c, 3, 3])
        m.op(kind, [x], size=m.pick(1, 3, 5), alpha=0.1, beta=0.6, bias=1.5)
    elif kind == "LpNormalization":
        m.op(kind, [x], axis=int(m.rng.integers(-len(s), len(s))), p=m.pick(1, 2))
    else:
        m.inputs[x] = m.data([2, 3, 4, 4])
        m.op(kind, [x])


def shapes(m):
    kind = m.pick("Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Tile", "Concat", "Split", "Shape", "DepthToSpace", "SpaceToDepth", "Trilu")
    s = m.shape()
    d = m.number()
    x = m.input(m.data(s, d))
    if kind == "Transpose":
        m.op(kind, [x], perm=m.rng.permutation(len(s)).tolist() if m.chance(0.8) else None)
    elif kind == "Reshape":
        t = m.pick([-1], [0, -1], s[::-1], [1, -1, 1], [int(np.prod(s))])
        m.op(kind, [x, m.const(np.array(t, np.int64))])
    elif kind == "Squeeze":
        at = int(m.rng.integers(0, len(s)))
        m.inputs[x] = m.data(s[:at] + [1] + s[at:], d)
        m.op(kind, [x] + ([m.const(np.array([at if m.chance() else at - len(s) - 1], np.int64))] if m.chance(0.8) else []))
    elif kind == "Unsqueeze":
        m.op(kind, [x, m.const(np.array([int(m.rng.integers(-len(s) - 1, len(s) + 1))], np.int64))])
    elif kind == "Flatten":
        m.op(kind, [x], axis=int(m.rng.integers(-len(s), len(s) + 1)))
    elif kind == "Expand":
        m.inputs[x] = m.data(m.broadcast(s), d)
        m.op(kind, [x, m.const(np.array(s, np.int64))])
    elif kind == "Tile":
        m.op(kind, [x, m.const(np.array([m.size(1, 4) for _ in s], np.int64))])
    elif kind == "Concat":
        a = int(m.rng.integers(-len(s), len(s)))
        parts = [x]
        for _ in range(m.size(0, 3)):
            t = list(s)
            t[a] = m.size()
            parts.append(m.input(m.data(t, d)))
        m.op(kind, parts, axis=a)
    elif kind == "Split":
        a = int(m.rng.integers(0, len(s)))
        parts = [m.size() for _ in range(m.size(2, 4))]
        s[a] = sum(parts)
        m.inputs[x] = m.data(s, d)
        m.op(kind, [x, m.const(np.array(parts, np.int64))], outputs=len(parts), axis=a)
    elif kind == "Shape":
        m.op(kind, [x])
    elif kind == "Trilu":
        m.opset = max(m.opset, 14)
        m.inputs[x] = m.data([2] + [m.size(), m.size()], np.float32)
        m.op(kind, [x, m.const(np.array(int(m.rng.integers(-3, 4)), np.int64))], upper=int(m.chance()))
    else:
        m.inputs[x] = m.data([1, 8, 4, 6])
        m.op(kind, [x], blocksize=2, mode=m.pick("DCR", "CRD") if kind == "DepthToSpace" else None)


def indexing(m):
    kind = m.pick("Slice", "Gather", "GatherElements", "GatherND", "ScatterElements", "ScatterND", "Pad", "OneHot", "TopK", "CumSum")
    s = m.shape()
    d = m.pick(np.float32, np.float64, np.int64, np.int32)
    a = int(m.rng.integers(0, len(s)))
    x = m.input(m.data(s, d))
    index = m.pick(np.int64, np.int32)
    if kind == "Slice":
        n = m.size(1, len(s) + 1)
        axes = m.rng.choice(len(s), n, replace=False)
        steps = [m.pick(1, 2, -1, -2) for _ in range(n)]
        m.op(kind, [x] + [m.const(np.array(v, np.int64)) for v in (m.rng.integers(-6, 7, n), m.rng.integers(-6, 7, n), axes, steps)])
    elif kind == "Gather":
        m.op(kind, [x, m.input(m.rng.integers(-s[a], s[a], m.shape(0, 2)).astype(index))], axis=a)
    elif kind == "GatherElements":
        t = list(s)
        t[a] = m.size()
        m.op(kind, [x, m.input(m.rng.integers(-s[a], s[a], t).astype(index))], axis=a)
    elif kind == "GatherND":
        k = m.size(1, len(s) + 1)
        m.op(kind, [x, m.input(np.stack([m.rng.integers(-n, n, [3]) for n in s[:k]], axis=-1).astype(np.int64))])
    elif kind == "ScatterElements":
        m.opset = max(m.opset, 18)
        how = m.pick("none", "add", "mul", "max", "min")
        t = [m.size(1, n + 1) for n in s]
        i = np.argsort(m.rng.random(s), axis=a)[tuple(slice(n) for n in t)]
        m.op(kind, [x, m.input(i.astype(index)), m.input(m.data(t, d))], axis=a, reduction=how)
    elif kind == "ScatterND":
        m.opset = max(m.opset, 18)
        n = m.size(1, s[0] + 1)
        m.op(kind, [x, m.input(m.rng.permutation(s[0])[:n].reshape(n, 1).astype(np.int64)), m.input(m.data([n] + s[1:], d))], reduction=m.pick("none", "add", "mul"))
    elif kind == "Pad":
        mode = m.pick("constant", "reflect", "edge")
        pads = [int(m.rng.integers(0, max(1, n))) if mode == "reflect" else m.size(0, 3) for n in s + s]
        ins = [x, m.const(np.array(pads, np.int64))]
        if mode == "constant" and m.chance():
            ins.append(m.const(np.array(3, d)))
        m.op(kind, ins, mode=mode)
    elif kind == "OneHot":
        m.inputs[x] = m.rng.integers(-3, 4, s).astype(np.int64)
        m.op(kind, [x, m.const(np.array(4, np.int64)), m.const(np.array([2, 5], np.float32))], axis=int(m.rng.integers(-len(s) - 1, len(s) + 1)))
    elif kind == "TopK":
        m.inputs[x] = m.rng.permutation(int(np.prod(s))).reshape(s).astype(np.float32)
        m.op(kind, [x, m.const(np.array([m.size(1, s[a] + 1)], np.int64))], outputs=2, axis=a, largest=int(m.chance()))
    else:
        m.op(kind, [x, m.const(np.array(a - len(s) if m.chance() else a, np.int64))], exclusive=int(m.chance()), reverse=int(m.chance()))


def resize(m):
    rank = m.size(1, 3)
    size = [m.size(2, 6) for _ in range(rank)]
    mode = m.pick("nearest", "linear", "linear", "cubic") if rank == 2 else m.pick("nearest", "linear")
    way = m.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    to = [m.size(1, 10) for _ in range(rank)]
    m.opset = max(m.opset, 13)
    x, none = m.input(m.data([1, 2] + size)), ""
    attrs = {"mode": mode, "coordinate_transformation_mode": way}
    if mode == "nearest":
        attrs["nearest_mode"] = m.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    if mode == "cubic":
        attrs["cubic_coeff_a"] = m.pick(-0.75, -0.5)
    if m.chance():
        # Where the scaled size is not whole, ONNX's own tests and ONNX Runtime read two of the coordinate modes in different ways.
        whole = [[f for f in (2.0, 0.5, 1.5, 3.0) if n * f % 1 == 0 or way in ("half_pixel", "asymmetric")] for n in size]
        m.op("Resize", [x, none, m.const(np.array([1, 1] + [m.pick(*f) for f in whole], np.float32))], **attrs)
    else:
        m.op("Resize", [x, none, none, m.const(np.array([1, 2] + to, np.int64))], **attrs)


def einsum(m):
    eq, shapes_of = m.pick(("ij,jk->ik", "ij jk"), ("bij,bjk->bik", "bij bjk"), ("ij->ji", "ij"), ("ij->", "ij"), ("ii->i", "ii"), ("i,j->ij", "i j"), ("bhid,bhjd->bhij", "bhid bhjd"),
                           ("ij,jk,kl->il", "ij jk kl"), ("...ij,...jk->...ik", "xij xjk"), ("ijk,jil->kl", "ijk jil"), ("abc,cd->abd", "abc cd"))
    n = {c: m.size() for c in "abcdhijklx"}
    m.op("Einsum", [m.input(m.data([n[c] for c in t])) for t in shapes_of.split()], equation=eq)


def quantize(m):
    kind = m.pick("QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "MatMulInteger", "QLinearMatMul", "ConvInteger")
    d = m.pick(np.int8, np.uint8)
    s = m.shape(2)
    if kind == "QuantizeLinear":
        c = m.chance()
        scale = m.data([s[1]] if c else [], low=0.05, high=0.2)
        m.op(kind, [m.input(m.data(s)), m.const(scale), m.const(m.data(scale.shape, d))], axis=1)
    elif kind == "DequantizeLinear":
        c = m.chance()
        scale = m.data([s[1]] if c else [], low=0.05, high=0.2)
        m.op(kind, [m.input(m.data(s, d)), m.const(scale), m.const(m.data(scale.shape, d))], axis=1)
    elif kind == "DynamicQuantizeLinear":
        m.op(kind, [m.input(m.data(s))], outputs=3)
    elif kind == "MatMulInteger":
        m.op(kind, [m.input(m.data([3, 4], np.uint8)), m.const(m.data([4, 2], d)), m.const(np.array(3, np.uint8)), m.const(np.array(2, d))])
    elif kind == "ConvInteger":
        m.op(kind, [m.input(m.data([1, 2, 5, 5], np.uint8)), m.const(m.data([3, 2, 3, 3], np.uint8)), m.const(np.array(3, np.uint8))], pads=[1, 1, 0, 1])
    else:
        f = lambda v: m.const(np.array(v, np.float32))
        m.op(kind, [m.input(m.data([3, 4], np.uint8)), f(0.1), m.const(np.array(3, np.uint8)), m.const(m.data([4, 2], np.uint8)), f(0.2), m.const(np.array(5, np.uint8)), f(0.3), m.const(np.array(7, np.uint8))])


def narrow(m):
    """Numbers through a type of 8 bits or fewer and back, by casting or quantizing."""
    floats = [TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E4M3FNUZ, TensorProto.FLOAT8E5M2, TensorProto.FLOAT8E5M2FNUZ]
    to = m.pick(*floats, TensorProto.INT4, TensorProto.UINT4, TensorProto.FLOAT4E2M1)
    m.opset = 23 if to == TensorProto.FLOAT4E2M1 else int(m.rng.integers(21, 23))
    x = m.rng.normal(size=m.shape(0)) * m.pick(0.01, 1, 100, 30000)
    if to in floats:
        x = np.where(m.rng.random(x.shape) < 0.1, m.pick(np.inf, -np.inf, np.nan, 0.0, -0.0, 1e6), x)
    elif to != TensorProto.FLOAT4E2M1:  # beyond the range nothing is defined, and ONNX Runtime rounds fractions that ONNX drops
        x = np.round(np.clip(x, 0, 7))
    x = m.input(np.asarray(np.clip(x, -65504, 65504) if m.chance() else x, m.pick(np.float32, np.float32, np.float16)))
    if m.chance(0.7):
        # What float8e5m2 does not hold is infinite without saturation in ONNX's table, and NaN in ONNX Runtime.
        y = m.op("Cast", [x], to=to, saturate=m.pick(None, 0, 1) if to in floats and to != TensorProto.FLOAT8E5M2 else None)
        m.op("Cast", [y], to=TensorProto.FLOAT)
        return
    dtype = m.inputs[x].dtype
    scale, zero = m.const(np.array(m.pick(0.5, 2, 16), dtype)), m.const(np.zeros((), helper.tensor_dtype_to_np_dtype(to)))
    m.op("DequantizeLinear", [m.op("QuantizeLinear", [x, scale, zero]), scale, zero])


def ngrams(m):
    """Pairs and single numbers counted in rows of small numbers."""
    pool = [int(x) for x in m.rng.permutation(6)[: m.size(1, 4)]]
    pairs = sorted({(int(a), int(b)) for a, b in m.rng.integers(0, 6, (m.size(1, 6), 2))})
    count = len(pool) + len(pairs)
    low = m.pick(1, 1, 2)
    attrs = dict(mode=m.pick("TF", "IDF", "TFIDF"), min_gram_length=low, max_gram_length=m.pick(low, 2), max_skip_count=m.size(0, 4),
                 ngram_counts=[0, len(pool)], ngram_indexes=[int(i) for i in m.rng.permutation(count)], pool_int64s=pool + [x for p in pairs for x in p])
    if m.chance():
        attrs["weights"] = [float(w) for w in m.rng.normal(size=count).astype(np.float32)]
    shape = m.pick([m.size(1, 9)], [m.size(1, 4), m.size(1, 9)])
    m.op("TfIdfVectorizer", [m.input(m.rng.integers(0, 6, shape).astype(m.pick(np.int64, np.int32)))], **attrs)


def forest(m, features, give):
    """The nodes of decision trees of several depths, as attributes, and what give(tree) says that leaves give: (target, weight)."""
    tests = m.pick(["BRANCH_LEQ"], ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"])
    nodes, leaves = [], []  # (tree, node, feature, value, test, missing, yes, no) and (tree, node, target, weight)

    def grow(tree, depth, number):
        """Adds the node of a number, and those below it; gives the next number."""
        at, missing = len(nodes), int(m.chance())
        if depth == 0 or number > 0 and m.chance(0.3):
            nodes.append((tree, number, 0, 0.0, "LEAF", 0, 0, 0))
            leaves.extend((tree, number) + given for given in give(tree))
            return number + 1
        nodes.append(None)
        no = grow(tree, depth - 1, number + 1)
        end = grow(tree, depth - 1, no)
        nodes[at] = (tree, number, m.size(0, features), float(np.round(m.rng.normal() * 2) / 2), m.pick(*tests), missing, number + 1, no)
        return end

    for tree in range(m.size(1, 5)):
        grow(tree, m.size(1, 5), 0)
    columns = list(zip(*nodes))
    attrs = {"nodes_" + n: list(columns[i]) for i, n in enumerate(["treeids", "nodeids", "featureids", "values", "modes", "missing_value_tracks_true",
                                                                  "truenodeids", "falsenodeids"])}
    return attrs, zip(["treeids", "nodeids", "ids", "weights"], zip(*leaves))


def rows(m, features):
    """Rows on the values that trees test, with missing features."""
    x = np.round(m.rng.normal(size=(m.size(1, 7), features)) * 4) / 4
    return np.where(m.rng.random(x.shape) < 0.1, np.nan, x).astype(np.float32)


def trees(m):
    features, targets = m.size(1, 5), m.size(1, 4)
    attrs, leaves = forest(m, features, lambda tree: [(t, float(np.float32(m.rng.normal()))) for t in range(targets)])
    attrs |= {"target_" + n: list(c) for n, c in leaves}
    m.op("TreeEnsembleRegressor", [m.input(rows(m, features))], domain="ai.onnx.ml", n_targets=targets, aggregate_function=m.pick("SUM", "AVERAGE", "MIN", "MAX"),
         base_values=m.pick(None, [float(b) for b in m.rng.normal(size=targets).astype(np.float32)]),
         post_transform=m.pick("NONE", "LOGISTIC", "SOFTMAX") if targets > 1 else "NONE", **attrs)


def recurrent(m):
    kind, gates, outs = m.pick(("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 2))
    t, b, i, h = m.size(), m.size(1, 4), m.size(1, 4), m.size(1, 4)
    way = m.pick("forward", "reverse", "bidirectional")
    n = 2 if way == "bidirectional" else 1
    m.opset = max(m.opset, 14)
    ins = [m.input(m.data([t, b, i])), m.const(m.data([n, gates * h, i], low=-1, high=1)), m.const(m.data([n, gates * h, h], low=-1, high=1))]
    ins.append(m.const(m.data([n, 2 * gates * h])) if m.chance() else "")
    ins.append(m.const(m.rng.integers(1, t + 1, [b]).astype(np.int32)) if m.chance(0.3) else "")
    ins.append(m.input(m.data([n, b, h])) if m.chance() else "")
    if kind == "LSTM" and m.chance():
        ins += [m.input(m.data([n, b, h])), m.const(m.data([n, 3 * h]))] if m.chance() else [m.input(m.data([n, b, h]))]
    while ins[-1] == "":
        ins.pop()
    m.op(kind, ins, outputs=outs, hidden_size=h, direction=way, linear_before_reset=int(m.chance()) if kind == "GRU" else None)


def clip(m):
    d = m.pick(np.float32, np.int32, np.float64, np.int64)
    m.op("Clip", [m.input(m.data(m.shape(0), d)), m.const(np.array(-1, d)) if m.chance() else "", m.const(np.array(2, d))])


def grid(m):
    m.opset = 16
    m.op("GridSample", [m.input(m.data([1, 2, m.size(2, 6), m.size(2, 6)])), m.input(m.data([1, 3, 4, 2], low=-1.4, high=1.4))],
         mode=m.pick("bilinear", "nearest", "bicubic"), padding_mode=m.pick("zeros", "border", "reflection"), align_corners=int(m.chance()))


def attention(m):
    m.opset = 23
    b, kh, g, q, k, d, v = m.size(1, 3), m.size(1, 3), m.size(1, 3), m.size(1, 4), m.size(1, 5), m.pick(2, 4), m.pick(2, 4)
    kind = m.pick("Attention", "Attention", "RotaryEmbedding", "RMSNormalization")
    if kind == "RotaryEmbedding":
        m.op(kind, [m.input(m.data([b, kh, q, 4])), m.const(m.data([8, 2])), m.const(m.data([8, 2])), m.input(m.rng.integers(0, 8, [b, q]))], interleaved=int(m.chance()))
    elif kind == "RMSNormalization":
        m.op(kind, [m.input(m.data([b, q, d])), m.const(m.data([d]))], axis=-1, epsilon=1e-2)
    else:
        if m.chance(0.4):
            q = k
        ins = [m.input(m.data([b, kh * g, q, d])), m.input(m.data([b, kh, k, d])), m.input(m.data([b, kh, k, v]))]
        if m.chance():
            ins.append(m.input(m.data(m.pick([q, k], [b, 1, q, k]))))
        m.op(kind, ins, is_causal=int(m.chance()) if q == k and len(ins) == 3 else 0, scale=m.pick(None, 0.3), softcap=m.pick(None, 2.0))


def signal(m):
    m.opset = 17
    kind = m.pick("DFT", "STFT", "HannWindow", "HammingWindow", "BlackmanWindow")
    if kind == "DFT":
        inverse = int(m.chance())
        m.op(kind, [m.input(m.data([2, m.size(2, 9), m.pick(1, 2) if not inverse else 2]))], axis=1, inverse=inverse, onesided=0)
    elif kind == "STFT":
        n = m.pick(4, 8)
        m.op(kind, [m.input(m.data([1, 24, 1])), m.const(np.array(m.pick(2, 4), np.int64)), m.const(m.data([n])), m.const(np.array(n, np.int64))], onesided=int(m.chance()))
    else:
        m.op(kind, [m.const(np.array(m.size(4, 12), np.int64))], periodic=int(m.chance()))


def misc(m):
    kind = m.pick("ReverseSequence", "CenterCropPad", "Col2Im", "EyeLike", "Range", "ConstantOfShape", "Size", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "Dropout", "RoiAlign",
                  "AffineGrid", "Det", "MaxUnpool", "MatMulInteger", "Bernoulli", "GatherND")
    if kind == "ReverseSequence":
        m.op(kind, [m.input(m.data([4, 3, 2])), m.input(m.rng.integers(1, 5, [3]))], time_axis=0, batch_axis=1)
    elif kind == "CenterCropPad":
        m.opset = 18
        m.op(kind, [m.input(m.data(m.shape(2, 2, 7))), m.const(np.array([m.size(1, 7), m.size(1, 7)], np.int64))])
    elif kind == "Col2Im":
        m.opset = 18
        m.op(kind, [m.input(m.data([1, 2 * 4, 9])), m.const(np.array([4, 4], np.int64)), m.const(np.array([2, 2], np.int64))])
    elif kind == "EyeLike":
        m.op(kind, [m.input(m.data(m.shape(2, 2)))], k=int(m.rng.integers(-2, 3)))
    elif kind == "Range":
        m.op(kind, [m.const(np.array(v, np.int64)) for v in (m.size(), m.size(6, 12), m.pick(1, 2, 3))])
    elif kind == "ConstantOfShape":
        m.op(kind, [m.const(np.array(m.shape(), np.int64))], value=numpy_helper.from_array(np.array([3], np.int32)))
    elif kind == "Size":
        m.op(kind, [m.input(m.data(m.shape()))])
    elif kind in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        s = m.shape(0, 2)
        ins = [m.input(m.data([3, 4] + s)), m.input(m.rng.integers(0, 4, [3] + s))] + ([m.input(m.data([4], low=0.1))] if m.chance() else [])
        m.op(kind, ins, reduction=m.pick("none", "sum", "mean"), ignore_index=m.pick(None, 1))
    elif kind == "Dropout":
        m.op(kind, [m.input(m.data(m.shape()))], outputs=2)
    elif kind == "RoiAlign":
        m.opset = 16
        m.op(kind, [m.input(m.data([2, 2, 6, 6])), m.input(m.data([3, 4], low=0, high=5)), m.input(m.rng.integers(0, 2, [3]))], mode="avg", output_height=2, output_width=3, sampling_ratio=2,
             spatial_scale=0.7, coordinate_transformation_mode=m.pick("half_pixel", "output_half_pixel"))
    elif kind == "AffineGrid":
        m.opset = 20
        m.op(kind, [m.input(m.data([2, 2, 3])), m.const(np.array([2, 1, 3, 4], np.int64))], align_corners=int(m.chance()))
    elif kind == "Det":
        n = m.size(1, 5)
        m.op(kind, [m.input(m.data([2, n, n]))])
    elif kind == "MaxUnpool":
        x = m.rng.permutation(64).reshape(1, 1, 8, 8).astype(np.float32)
        y, i = m.op("MaxPool", [m.input(x)], outputs=2, kernel_shape=[2, 2], strides=[2, 2])
        m.op(kind, [y, i], kernel_shape=[2, 2], strides=[2, 2])
    elif kind == "GatherND":
        m.op(kind, [m.input(m.data([2, 3, 4])), m.input(m.rng.integers(0, 3, [2, 5, 1]))], batch_dims=1)
    else:
        x = m.input(m.data(m.shape()))
        m.op("Identity", [x])


def control(m):
    """If on a constant, Loop and Scan over a few steps."""
    f = lambda n, s: helper.make_tensor_value_info(n, TensorProto.FLOAT, s)
    s = m.shape(1, 2)
    x = m.input(m.data(s))
    kind = m.pick("If", "Loop", "Scan")
    if kind == "If":
        branch = lambda n, k: helper.make_graph([helper.make_node(k, [x], [n])], n, [], [onnx.ValueInfoProto(name=n)])
        m.op(kind, [m.const(np.array(m.chance()))], then_branch=branch("p", "Neg"), else_branch=branch("q", "Exp"))
    elif kind == "Loop":
        body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Add", ["a", x], ["b"]), helper.make_node("Neg", ["a"], ["e"])], "body",
                                 [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("c", TensorProto.BOOL, []), f("a", s)],
                                 [helper.make_tensor_value_info("d", TensorProto.BOOL, []), f("b", s), f("e", s)])
        m.op(kind, [m.const(np.array(m.size(), np.int64)), "", x], outputs=2, body=body)
    else:
        body = helper.make_graph([helper.make_node("Add", ["a", "r"], ["b"]), helper.make_node("Mul", ["b", "r"], ["e"])], "body", [f("a", s), f("r", s)], [f("b", s), f("e", s)])
        m.op(kind, [x, m.input(m.data([m.size()] + s))], outputs=2, body=body, num_scan_inputs=1, scan_input_directions=[int(m.chance())], scan_output_directions=[int(m.chance())])


def chain(m):
    """Several operators on a value whose shape is followed."""
    s = m.shape(2, 3)
    x = m.input(m.data(s))
    for _ in range(m.size(3, 9)):
        step = m.pick("unary", "binary", "matmul", "transpose", "reduce", "softmax", "reshape", "concat", "slice")
        if step == "unary":
            x = m.op(m.pick("Tanh", "Sigmoid", "Relu", "Neg", "Abs", "Erf", "Softsign"), [x])
        elif step == "binary":
            x = m.op(m.pick("Add", "Sub", "Mul", "Max", "Min"), [x, m.const(m.data(m.broadcast(s)))])
        elif step == "matmul":
            n = m.size()
            x = m.op("MatMul", [x, m.const(m.data([s[-1], n], low=-1, high=1))])
            s = s[:-1] + [n]
        elif step == "transpose":
            p = m.rng.permutation(len(s)).tolist()
            x, s = m.op("Transpose", [x], perm=p), [s[i] for i in p]
        elif step == "reduce":
            a = int(m.rng.integers(0, len(s)))
            x = m.op("ReduceSum", [x, m.const(np.array([a], np.int64))], keepdims=1)
            s = [1 if i == a else n for i, n in enumerate(s)]
        elif step == "softmax":
            x = m.op("Softmax", [x], axis=-1)
        elif step == "reshape":
            s = [int(np.prod(s)) // s[-1], s[-1]]
            x = m.op("Reshape", [x, m.const(np.array(s, np.int64))])
        elif step == "concat":
            x, s = m.op("Concat", [x, x], axis=0), [2 * s[0]] + s[1:]
        elif s[0] > 1:
            x = m.op("Slice", [x, m.const(np.array([1], np.int64)), m.const(np.array([99], np.int64))])
            s = [s[0] - 1] + s[1:]


SINGLE = [unary, unary, binary, binary, logic, cast, reduce, reduce, arg, softmax, matmul, gemm, conv, conv, conv_transpose, pool, pool, norm, shapes, shapes, indexing,
          indexing, resize, einsum, quantize, recurrent, clip, grid, attention, signal, misc, misc, control, narrow, narrow, ngrams, trees]


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def build(m):
    """The model with all results of its last node as outputs."""
    outputs = [onnx.ValueInfoProto(name=n) for n in m.nodes[-1].output if n]
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in m.inputs.items()]
    consts = [numpy_helper.from_array(a, n) for n, a in m.consts.items()]
    graph = helper.make_graph(m.nodes, "random", inputs, outputs, consts)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", m.opset), helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("com.microsoft", 1)], ir_version=11)


def main(out, count, seed, makers=None):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made = left = number = 0
    while made < count:
        number += 1
        m = Model(np.random.default_rng([seed, number]))
        make = m.pick(*makers) if makers else m.pick(*SINGLE) if m.chance(0.8) else chain
        make(m)
        try:
            data = build(m).SerializeToString()
            session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            results = session.run(None, m.inputs)
        except Exception:  # a type or a combination that it does not have
            left += 1
            continue
        folder = os.path.join(out, f"{make.__name__}_{number}")
        write(os.path.join(folder, "model.onnx"), data)
        write(os.path.join(folder, "tolerance.json"), json.dumps({"rtol": 1e-3, "atol": 1e-5}).encode())
        for i, (n, a) in enumerate(m.inputs.items()):
            write(os.path.join(folder, "test_data_set_0", f"input_{i}.pb"), numpy_helper.from_array(a, n).SerializeToString())
        for i, (o, a) in enumerate(zip(session.get_outputs(), results)):
            write(os.path.join(folder, "test_data_set_0", f"output_{i}.pb"), numpy_helper.from_array(np.asarray(a), o.name).SerializeToString())
        made += 1
    print(f"{made} models, {left} left out")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
