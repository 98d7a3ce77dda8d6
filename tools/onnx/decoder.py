"""Generates tokens with a small decoder by a program of tapc and by ONNX Runtime, and fails where they part.

  python3 decoder.py TAPC [STEPS]

The decoder is what ONNX Runtime's tools export: weights of 4 bits in blocks (MatMulNBits), grouped heads with a cache of fixed length
(GroupQueryAttention, which turns queries and keys itself), SkipSimplifiedLayerNormalization. Its weights are random, of a fixed seed. TAPC is the
command. Each step takes the token with the greatest logit; the time of a step is the median over all, the two run in turns.
"""

import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python", "src"))
import tapc

LAYERS, VOCABULARY, WIDTH, HEADS, SHARED, DEPTH, HIDDEN, LENGTH, BLOCK = 3, 1000, 256, 8, 2, 32, 512, 256, 32
MICROSOFT = "com.microsoft"


class Decoder:
    """The model under construction."""

    def __init__(self):
        self.rng = np.random.default_rng(16)
        self.nodes, self.constants = [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def floats(self, name, shape, scale):
        return self.constant(name, (self.rng.normal(size=shape) * scale).astype(np.float32))

    def node(self, kind, inputs, outputs, **attrs):
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=outputs[0], domain=MICROSOFT if kind not in ("Gather", "Mul", "Sigmoid", "SimplifiedLayerNormalization") else "", **attrs))
        return outputs[0]

    def product(self, name, x, k, n):
        """x times weights of 4 bits."""
        w = self.constant(name + ".weight", self.rng.integers(0, 256, [n, k // BLOCK, BLOCK // 2]).astype(np.uint8))
        s = self.constant(name + ".scale", (self.rng.uniform(0.5, 1.5, [n, k // BLOCK]) / (4.6 * k**0.5)).astype(np.float32))
        return self.node("MatMulNBits", [x, w, s], [name], K=k, N=n, bits=4, block_size=BLOCK)

    def layer(self, i, x, skip):
        """A layer on what is normalized, and the sum that goes past it; gives both for the next."""
        p = f"layer{i}."
        q, k, v = (self.product(p + n, x, WIDTH, h * DEPTH) for n, h in (("q", HEADS), ("k", SHARED), ("v", SHARED)))
        attended = self.node("GroupQueryAttention", [q, k, v, f"past_key.{i}", f"past_value.{i}", "seqlens_k", "total", "cos", "sin"],
                             [p + "attention", f"present_key.{i}", f"present_value.{i}"], num_heads=HEADS, kv_num_heads=SHARED, do_rotary=1)
        x, skip = self.skip(p + "middle", self.product(p + "out", attended, HEADS * DEPTH, WIDTH), skip)
        gate, up = self.product(p + "gate", x, WIDTH, HIDDEN), self.product(p + "up", x, WIDTH, HIDDEN)
        silu = self.node("Mul", [gate, self.node("Sigmoid", [gate], [p + "sigmoid"])], [p + "silu"])
        return self.skip(p + "end", self.product(p + "down", self.node("Mul", [silu, up], [p + "gated"]), HIDDEN, WIDTH), skip)

    def skip(self, name, x, skip):
        g = self.constant(name + ".gamma", np.ones(WIDTH, np.float32))
        self.node("SkipSimplifiedLayerNormalization", [x, skip, g], [name, "", "", name + ".sum"], epsilon=1e-5)
        return name, name + ".sum"

    def model(self, rows):
        """The model that takes some tokens at a time."""
        angles = np.arange(LENGTH)[:, None] / 10000 ** (np.arange(DEPTH // 2) * 2 / DEPTH)
        self.constant("cos", np.cos(angles).astype(np.float32))
        self.constant("sin", np.sin(angles).astype(np.float32))
        self.constant("total", np.array(LENGTH, np.int32))
        skip = self.node("Gather", [self.floats("embedding", [VOCABULARY, WIDTH], 1), "tokens"], ["embedded"])
        x = self.node("SimplifiedLayerNormalization", [skip, self.constant("first.gamma", np.ones(WIDTH, np.float32))], ["first"], axis=-1, epsilon=1e-5)
        for i in range(LAYERS):
            x, skip = self.layer(i, x, skip)
        self.product("logits", x, WIDTH, VOCABULARY)
        cache = [1, SHARED, LENGTH, DEPTH]
        value = helper.make_tensor_value_info
        names = [f"{n}.{i}" for i in range(LAYERS) for n in ("key", "value")]
        inputs = [value("tokens", TensorProto.INT64, [1, rows]), value("seqlens_k", TensorProto.INT32, [1])] + [value("past_" + n, TensorProto.FLOAT, cache) for n in names]
        outputs = [value("logits", TensorProto.FLOAT, [1, rows, VOCABULARY])] + [value("present_" + n, TensorProto.FLOAT, cache) for n in names]
        graph = helper.make_graph(self.nodes, "decoder", inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(MICROSOFT, 1)], ir_version=10)


def generate(run, steps):
    """The tokens that follow the first, and the time of each step."""
    names = [f"{n}.{i}" for i in range(LAYERS) for n in ("key", "value")]
    cache = {"past_" + n: np.zeros([1, SHARED, LENGTH, DEPTH], np.float32) for n in names}
    token = 1
    for step in range(steps):
        fed = {"tokens": np.array([[token]], np.int64), "seqlens_k": np.array([step], np.int32), **cache}
        start = time.perf_counter()
        out = run(fed)
        took = time.perf_counter() - start
        cache = {"past_" + n: out["present_" + n] for n in names}
        token = int(np.argmax(out["logits"][0, -1]))
        yield token, took, out["logits"]


def main(command, steps):
    with tempfile.TemporaryDirectory() as folder:
        path, lib = os.path.join(folder, "decoder.onnx"), os.path.join(folder, "libdecoder.so")
        onnx.save(Decoder().model(1), path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        outputs = [o.name for o in session.get_outputs()]
        subprocess.run([command, "build", path, "--emit=lib", "-o", lib], check=True)
        program = tapc.load(lib, threads=1)
        print(f"model {os.path.getsize(path)} bytes, library {os.path.getsize(lib)} bytes")
        ours = generate(program.run, steps)
        theirs = generate(lambda fed: dict(zip(outputs, session.run(outputs, fed))), steps)
        times, tokens, worst = [], [], 0.0
        for step, ((a, ta, la), (b, tb, lb)) in enumerate(zip(ours, theirs)):
            worst = max(worst, float(np.abs(la - lb).max()))
            if a != b:
                sys.exit(f"step {step}: token {a}, ONNX Runtime's is {b}")
            tokens.append(a)
            times.append((ta, tb))
        first, second = np.median(np.array(times), axis=0)
        print(f"{len(tokens)} tokens agree, {len(set(tokens))} different ones; logits differ by {worst:.2g} at most; a step takes {first*1e6:.0f} us, ONNX Runtime {second*1e6:.0f} us")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 200)
