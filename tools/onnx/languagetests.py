"""Writes random models of one operator that language models have, with what ONNX Runtime makes of random inputs, as folders that tools/onnx/conform runs.

  python3 languagetests.py OUTPUT COUNT [SEED]
  go run ./tools/onnx/conform OUTPUT

Needs the Python packages onnx and onnxruntime. The same seed writes the same models. A model that ONNX Runtime does not run is left out.
"""

import sys

import numpy as np

import randomtests
from onnx import helper
from randomtests import Model

MICROSOFT = "com.microsoft"


def packed_weights(m, rows, blocks, block, bits):
    return m.rng.integers(0, 256, [rows, blocks, block * bits // 8]).astype(np.uint8)


def matmul_n_bits(m):
    bits, block = m.pick(4, 4, 8), m.pick(16, 32, 64, 128, 256)
    k, n = m.pick(block, block * 2, block * 3, block + 8), m.size(1, 40)
    blocks = -(-k // block)
    ins = [m.input(m.data(m.pick([1, k], [m.size(1, 9), k], [2, m.size(1, 5), k]), low=-1, high=1)), m.const(packed_weights(m, n, blocks, block, bits)),
           m.const(m.data([n, blocks], low=0.01, high=0.1))]
    zero = m.pick("none", "bytes", "floats")
    ins.append("" if zero == "none" else m.const(m.rng.integers(0, 256, [n, -(-blocks * bits // 8)]).astype(np.uint8)) if zero == "bytes" else m.const(m.data([n, blocks], low=0, high=2**bits)))
    if m.chance(0.3):
        ins += ["", m.const(m.data([n]))]
    while ins[-1] == "":
        ins.pop()
    m.op("MatMulNBits", ins, domain=MICROSOFT, K=k, N=n, bits=bits, block_size=block, accuracy_level=m.pick(None, 0, 1))


def gather_block(m):
    rows, block, bits = m.size(2, 9), m.pick(16, 32), m.pick(4, 8)
    width = block * m.size(1, 4)
    ins = [m.const(m.rng.integers(0, 256, [rows, width * bits // 8]).astype(np.uint8)), m.input(m.rng.integers(0, rows, m.pick([3], [2, 3]))),
           m.const(m.data([rows, width // block], low=0.01, high=0.1))]
    if m.chance():
        ins.append(m.const(m.rng.integers(0, 256, [rows, -(-(width // block) * bits // 8)]).astype(np.uint8)))
    m.op("GatherBlockQuantized", ins, domain=MICROSOFT, bits=bits, block_size=block, gather_axis=0, quantize_axis=1)


def rotary(m):
    b, h, s, d = m.size(1, 3), m.size(1, 4), m.size(1, 5), m.pick(8, 16)
    part = m.pick(0, 0, d // 2)
    half = (part or d) // 2
    x = m.data(m.pick([b, s, h * d], [b, h, s, d]))
    at = m.rng.integers(0, 4, [1]) if m.chance() else m.rng.integers(0, 9, [b, s])
    m.op("RotaryEmbedding", [m.input(x), m.input(at.astype(np.int64)), m.const(m.data([9, half], low=-1, high=1)), m.const(m.data([9, half], low=-1, high=1))],
         domain=MICROSOFT, interleaved=int(m.chance()), num_heads=h if part or m.chance() else None, rotary_embedding_dim=part or None)


def skip(m):
    b, s, h = m.size(1, 3), m.size(1, 5), m.size(2, 40)
    kind = m.pick("SkipLayerNormalization", "SkipSimplifiedLayerNormalization", "SimplifiedLayerNormalization")
    x, g = m.input(m.data([b, s, h])), m.const(m.data([h]))
    if kind.startswith("Simplified"):
        return m.op(kind, [x, g], axis=-1, epsilon=m.pick(1e-5, 1e-2))
    ins = [x, m.input(m.data([b, s, h])), g]
    if kind == "SkipLayerNormalization":
        ins[1] = m.input(m.data(m.pick([b, s, h], [1, s, h], [s, h])))
        ins.append(m.const(m.data([h])) if m.chance() else "")
    if m.chance():
        ins.append(m.const(m.data([h])))
    while ins[-1] == "":
        ins.pop()
    m.nodes.append(helper.make_node(kind, ins, ["y", "", "", "z"], domain=MICROSOFT, epsilon=m.pick(1e-12, 1e-3)))


def activation(m):
    kind = m.pick("Gelu", "BiasGelu", "FastGelu", "FastGelu", "QuickGelu")
    s = m.shape(1, 3)
    ins = [m.input(m.data(s))]
    if kind == "BiasGelu" or kind == "FastGelu" and m.chance():
        ins.append(m.input(m.data(s[-1:])))
    m.op(kind, ins, domain=MICROSOFT, alpha=m.pick(None, 1.0) if kind == "QuickGelu" else None)


def group_query(m):
    b, kv, g, d, s = m.size(1, 3), m.size(1, 3), m.size(1, 4), 8, m.pick(1, 1, 3)
    before = m.size(0, 5) if s == 1 or b == 1 else 0
    room = before + s + m.size(0, 4)
    f, q = np.float32, kv * g
    ins = [m.input(m.data([b, s, (q + 2 * kv) * d])), "", ""] if m.chance(0.3) else [m.input(m.data([b, s, n * d])) for n in (q, kv, kv)]
    total = before + s
    if before or m.chance():
        past = [np.zeros([b, kv, room, d], f) for _ in range(2)]
        for p in past:
            p[:, :, :before] = m.data([b, kv, before, d])
        ins += [m.input(p) for p in past]
    else:
        ins += ["", ""]
    ins += [m.input(np.full([b], total - 1, np.int32)), (m.input if m.chance() else m.const)(np.array(total, np.int32))]
    rotate = int(m.chance())
    if rotate:
        ins += [m.const(m.data([room + 4, d // 2], low=-1, high=1)) for _ in range(2)]
    m.op("GroupQueryAttention", ins, outputs=3, domain=MICROSOFT, num_heads=q, kv_num_heads=kv, do_rotary=rotate, rotary_interleaved=int(m.chance()) if rotate else None,
         scale=m.pick(None, 0.3), softcap=m.pick(None, 2.0), local_window_size=m.pick(None, 1, 2, 3))


def embed(m):
    b, s, h = m.size(1, 3), m.size(1, 5), 8
    i32 = lambda n, shape: m.input(m.rng.integers(0, n, shape).astype(np.int32))
    with_kinds = m.chance()
    ins = [i32(9, [b, s]), i32(2, [b, s]) if with_kinds else "", m.const(m.data([9, h])), m.const(m.data([6, h])), m.const(m.data([2, h])) if with_kinds else "", m.const(m.data([h])), m.const(m.data([h]))]
    ins.append(i32(2, [b, s]) if m.chance() else "")
    if m.chance():
        ins.append(i32(6, [b, s]))
    while ins[-1] == "":
        ins.pop()
    m.op("EmbedLayerNormalization", ins, outputs=2, domain=MICROSOFT, epsilon=1e-5)


def fused_matmul(m):
    a, b = int(m.chance()), int(m.chance())
    r, k, c = m.size(), m.size(), m.size()
    m.op("FusedMatMul", [m.input(m.data([k, r] if a else [r, k])), m.input(m.data([c, k] if b else [k, c]))], domain=MICROSOFT, transA=a, transB=b, alpha=m.pick(1.0, 0.5))


def padding(m, b, s, total):
    """A mask of keys, for each sequence or for each row of it; the first key is there."""
    kind = m.pick("none", "none", "keys", "rows", "lengths")
    if kind == "none":
        return ""
    if kind == "lengths":
        return m.input(m.rng.integers(1, total + 1, [b]).astype(np.int32))
    mask = m.rng.integers(0, 2, [b, total] if kind == "keys" else [b, s, total]).astype(np.int32)
    mask[..., 0] = 1
    return m.input(mask)


def multi_head(m):
    b, h, s, d = m.size(1, 3), m.size(1, 4), m.size(1, 5), m.pick(4, 8)
    form = m.pick("apart", "apart", "apart", "heads", "packed", "packed pairs")
    t, dv = (s, d) if form == "packed" else (m.size(1, 6), m.pick(d, 4) if form == "apart" else d)
    before = m.size(1, 5) if form == "apart" and dv == d and m.chance(0.4) else 0
    q = m.input(m.data([b, s, h, 3, d] if form == "packed" else [b, s, h * d]))
    k = {"apart": [b, t, h * d], "heads": [b, h, t, d], "packed": None, "packed pairs": [b, t, h, 2, d]}[form]
    v = {"apart": [b, t, h * dv], "heads": [b, h, t, dv]}.get(form)
    ins = [q] + [m.input(m.data(x)) if x else "" for x in (k, v)]
    ins.append(m.const(m.data([h * (2 * d + dv)])) if form == "apart" and m.chance() else "")
    total = before + t
    ins.append(padding(m, b, s, total))
    ins.append(m.input(m.data([m.pick(1, b), m.pick(1, h), s, total])) if m.chance(0.3) else "")
    if before:
        ins += [m.input(m.data([b, h, before, x])) for x in (d, dv)]
    while ins[-1] == "":
        ins.pop()
    m.op("MultiHeadAttention", ins, outputs=3 if before else 1, domain=MICROSOFT, num_heads=h, scale=m.pick(None, 0.3), mask_filter_value=m.pick(None, -5.0),
         unidirectional=m.pick(0, 1) if t == s else None)


def projected(m):
    b, h, s, d, width = m.size(1, 3), m.size(1, 4), m.size(1, 5), m.pick(4, 8), m.size(1, 9)
    before = m.size(0, 4) if m.chance(0.4) else 0
    dv = d if before else m.pick(d, d, 4)
    n = h * (2 * d + dv)
    ins = [m.input(m.data([b, s, width])), m.const(m.data([width, n], low=-1, high=1)), m.const(m.data([n])) if m.chance() else ""]
    ins += [padding(m, b, s, before + s), m.input(m.data([2, b, h, before, d])) if before else ""]
    ins.append(m.input(m.data([m.pick(1, b), m.pick(1, h), s, before + s])) if m.chance(0.3) else "")
    while ins[-1] == "":
        ins.pop()
    m.op("Attention", ins, outputs=2 if before else 1, domain=MICROSOFT, num_heads=h, scale=m.pick(None, 0.3), mask_filter_value=m.pick(None, -5.0),
         unidirectional=m.pick(None, 0, 1), qkv_hidden_sizes=[h * d, h * d, h * dv] if dv != d or m.chance(0.2) else None)


def mixture(m):
    """A mixture of experts: with many tokens all experts are at work, with few those that are chosen."""
    e, h, i = m.pick(2, 4, 9), m.pick(8, 16), m.size(1, 20)
    k, kind = m.size(1, min(e, 4) + 1), m.pick("relu", "gelu", "silu", "identity", "swiglu", "swiglu")
    x = m.data(m.pick([1, h], [m.size(1, 6), h], [2, m.size(1, 4), h]))
    n, two = x.size // h, 2 if kind == "swiglu" else 1
    bias = lambda width: m.const(m.data([e, width])) if m.chance() else ""
    ins = [m.input(x), m.input(m.data([n, e])), m.const(m.data([e, two * i, h], low=-1, high=1)), bias(two * i), m.const(m.data([e, h, i], low=-1, high=1)), bias(h)]
    m.op("MoE", ins, domain=MICROSOFT, **routing(m, kind, k))


def routing(m, kind, k):
    gate = {"swiglu_fusion": 1, "activation_alpha": m.pick(None, 1.702), "activation_beta": m.pick(None, 1.0), "swiglu_limit": m.pick(None, 0.8)} if kind == "swiglu" else {}
    return dict(k=k, activation_type=kind, normalize_routing_weights=m.pick(None, 0, 1), **gate)


def packed_mixture(m):
    """As mixture, with packed weights. Blocks of 2 and 8 bits are left out: ONNX Runtime may round what they are multiplied with to bytes."""
    bits, e, h, i = m.pick(2, 4, 4, 8), m.pick(2, 4, 9), m.pick(32, 64), m.pick(32, 64)
    block = m.pick(None, 16, 32) if bits == 4 else None
    k, kind = m.size(1, min(e, 4) + 1), m.pick("relu", "gelu", "silu", "identity", "swiglu", "swiglu", "swiglu")
    x = m.data(m.pick([1, h], [m.size(1, 6), h], [2, m.size(1, 4), h], [m.size(20, 41), h]), low=-1, high=1)
    n, two, zero = x.size // h, 2 if kind == "swiglu" else 1, m.chance()

    def matrix(rows, columns):
        w = m.const(m.rng.integers(0, 256, [e, rows, columns * bits // 8]).astype(np.uint8))
        s = m.const(m.data([e, rows, columns // block] if block else [e, rows], low=0.1 / 2**bits, high=0.8 / 2**bits))
        z = [e, rows, -(-(columns // block) * bits // 8)] if block else [e, -(-rows * bits // 8)]
        return w, s, m.const(m.rng.integers(0, 256, z).astype(np.uint8)) if zero else ""

    bias = lambda width: m.const(m.data([e, width])) if m.chance() else ""
    w1, s1, z1 = matrix(two * i, h)
    w2, s2, z2 = matrix(h, i)
    ins = [m.input(x), m.input(m.data([n, e])), w1, s1, bias(two * i), w2, s2, bias(h), "", "", "", z1, z2, "", m.input(m.data([n, e], low=0.1, high=1)) if m.chance(0.3) else ""]
    while ins[-1] == "":
        ins.pop()
    m.op("QMoE", ins, domain=MICROSOFT, expert_weight_bits=bits, block_size=block, **routing(m, kind, k))


def quantized_lstm(m):
    t, b, width, h = m.size(1, 6), m.pick(1, 1, 3), m.size(1, 20), m.size(1, 12)
    direction, signed, columns = m.pick("forward", "reverse", "bidirectional"), m.chance(), m.chance(0.3)
    d, kind = 2 if direction == "bidirectional" else 1, np.int8 if signed else np.uint8
    scale = [d, 4 * h] if columns else [d]

    def weights(rows):
        w = m.const(m.rng.integers(-128, 128, [d, rows, 4 * h]).astype(np.int8) if signed else m.rng.integers(0, 256, [d, rows, 4 * h]).astype(np.uint8))
        zero = np.broadcast_to(np.zeros([d], kind) if signed else m.rng.integers(110, 140, [d]).astype(kind), [4 * h, d]).T if columns else m.rng.integers(0, 20, [d]) + (0 if signed else 110)
        return w, [m.const(m.data(scale, low=0.002, high=0.006)), m.const(np.ascontiguousarray(zero).astype(kind))]

    state = lambda: m.input(m.data([d, b, h], low=-1, high=1)) if m.chance(0.3) else ""
    (w, ws), (r, rs) = weights(width), weights(h)
    ins = [m.input(m.data([t, b, width], low=-1, high=1)), w, r, m.const(m.data([d, 8 * h], low=-0.5, high=0.5)) if m.chance() else "",
           m.input(m.rng.integers(1, t + 1, [b]).astype(np.int32)) if m.chance(0.4) else "", state(), state(), m.const(m.data([d, 3 * h], low=-0.3, high=0.3)) if m.chance(0.2) else ""]
    outs = [m.name() if m.chance(0.8) else "", m.name(), m.name()]
    attrs = dict(hidden_size=h, direction=direction, clip=m.pick(None, None, 1.5), input_forget=m.pick(None, None, 1))
    m.nodes.append(helper.make_node("DynamicQuantizeLSTM", ins + ws + rs, outs, domain=MICROSOFT, **{k: v for k, v in attrs.items() if v is not None}))


ALL = [matmul_n_bits, matmul_n_bits, gather_block, rotary, rotary, skip, skip, activation, group_query, group_query, group_query, embed, fused_matmul, multi_head, multi_head, projected, mixture, packed_mixture, quantized_lstm]

if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    randomtests.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0, ALL)
