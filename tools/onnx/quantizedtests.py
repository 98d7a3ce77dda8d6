"""Writes random models of one contributed operator on bytes, with the bytes that ONNX Runtime makes of random inputs, as folders that tools/onnx/conform runs.

  python3 quantizedtests.py OUTPUT COUNT [SEED]
  go run ./tools/onnx/conform OUTPUT

Needs the Python packages onnx and onnxruntime. The same seed writes the same models. A result that is one step beside ONNX Runtime's is wrong.
"""

import sys

import numpy as np

import randomtests

MICROSOFT = "com.microsoft"


def bytes_of(m, t, shape):
    return m.rng.integers(np.iinfo(t).min, np.iinfo(t).max + 1, shape).astype(t)


def steps(m, t):
    """A scale and a zero point, both constant."""
    return [m.const(np.float32(m.rng.uniform(0.003, 0.09))), m.const(bytes_of(m, t, []))]


def byte_type(m):
    return m.pick(np.uint8, np.int8)


def binary(m):
    t = byte_type(m)
    shape = [m.size(1, 9), m.size(1, 70)]
    other = m.pick(shape, [1, shape[1]], [1])
    m.op(m.pick("QLinearAdd", "QLinearMul"), [m.input(bytes_of(m, t, shape)), *steps(m, t), m.input(bytes_of(m, t, other)), *steps(m, t), *steps(m, t)], domain=MICROSOFT)


def unary(m):
    t = byte_type(m)
    x = [m.input(bytes_of(m, t, [m.size(1, 9), m.size(1, 300)])), *steps(m, t)]
    if m.chance():
        m.op("QLinearLeakyRelu", x + steps(m, t), domain=MICROSOFT, alpha=m.pick(None, 0.1, 0.25))
    else:
        m.op("QLinearSigmoid", x + [m.const(np.float32(1 / 256)), m.const(np.array(np.iinfo(t).min, t))], domain=MICROSOFT)


def pool(m):
    t = byte_type(m)
    last = int(m.chance())
    shape = [m.size(1, 4), m.size(1, 12), m.size(1, 12)]
    shape.insert(3 if last else 1, m.size(1, 40))
    m.op("QLinearGlobalAveragePool", [m.input(bytes_of(m, t, shape)), *steps(m, t), *steps(m, t)], domain=MICROSOFT, channels_last=last)


def gemm(m):
    t, w = byte_type(m), np.int8
    rows, inner, cols = m.size(1, 20), m.size(1, 90), m.size(1, 50)
    a, b = steps(m, t), [m.const(np.float32(m.rng.uniform(0.003, 0.09))), m.const(np.array(0, w))]
    ins = [m.input(bytes_of(m, t, [rows, inner])), *a, m.const(bytes_of(m, w, [inner, cols])), *b]
    ins.append(m.const(m.rng.integers(-3000, 3000, [cols]).astype(np.int32)) if m.chance() else "")
    ins += [m.const(np.float32(m.rng.uniform(0.1, 0.6))), m.const(bytes_of(m, t, []))] if m.chance(0.8) else []
    while ins[-1] == "":
        ins.pop()
    m.op("QGemm", ins, domain=MICROSOFT)


ALL = [binary, binary, unary, unary, pool, gemm]

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    randomtests.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0, ALL)
