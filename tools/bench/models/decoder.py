"""Races a decoder with its cache in place: python3 decoder.py [STEPS].

It writes a decoder of four layers with seeded weights, whose cache grows by a row each step, builds one program for every length of the past up to STEPS (200) with the cache in
place (--alias), and takes turns with ONNX Runtime and dynamic shapes, whose caches stay ONNX Runtime's own values. Both choose the most likely token; the tokens must be the
same. It needs numpy, onnx, onnxruntime and tapc, which TAPC names if it is not on the path. Times are those of all steps on one thread, called from Python."""
import os, subprocess, sys, tempfile, time
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/src"))
import tapc

LAYERS, WIDTH, HEADS, INNER, WORDS = 4, 256, 8, 704, 2048
SIZE = WIDTH // HEADS


def decoder(path, longest):
    rng = np.random.default_rng(0)
    nodes, constants, inputs, outputs = [], [], [], []

    def constant(value):
        constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(constants)}"))
        return constants[-1].name

    def weights(*shape):
        return constant((rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def add(op, *inputs, outputs=1, **attributes):
        names = [f"t{len(nodes)}_{i}" for i in range(outputs)]
        nodes.append(helper.make_node(op, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def norm(x):
        return add("SimplifiedLayerNormalization", x, constant(1 + 0.1 * rng.standard_normal(WIDTH).astype(np.float32)), axis=-1, epsilon=1e-5)

    def heads(x):
        return add("Transpose", add("Reshape", add("MatMul", x, weights(WIDTH, WIDTH)), constant(np.array([1, -1, HEADS, SIZE]))), perm=[0, 2, 1, 3])

    def rotated(x):
        a, b = add("Split", x, constant(np.array([SIZE // 2, SIZE // 2])), outputs=2, axis=-1)
        return add("Add", add("Mul", x, cos), add("Mul", add("Concat", add("Neg", b), a, axis=-1), sin))

    def cached(name, x):
        inputs.append(helper.make_tensor_value_info(f"past_{name}", TensorProto.FLOAT, [1, HEADS, "past", SIZE]))
        outputs.append(helper.make_tensor_value_info(f"present_{name}", TensorProto.FLOAT, [1, HEADS, "total", SIZE]))
        nodes.append(helper.make_node("Concat", [f"past_{name}", x], [f"present_{name}"], axis=2))
        return f"present_{name}"

    angle = np.outer(np.arange(longest), 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE))
    cos, sin = (add("Unsqueeze", add("Gather", constant(np.tile(f(angle), 2).astype(np.float32)), "position"), constant(np.array([1]))) for f in (np.cos, np.sin))
    x = add("Mul", add("Gather", weights(WORDS, WIDTH), "token"), constant(np.float32(16)))
    for i in range(LAYERS):
        y = norm(x)
        q, k, v = rotated(heads(y)), cached(f"key.{i}", rotated(heads(y))), cached(f"value.{i}", heads(y))
        p = add("Softmax", add("Mul", add("MatMul", q, add("Transpose", k, perm=[0, 1, 3, 2])), constant(np.float32(SIZE ** -0.5))), axis=-1)
        o = add("Reshape", add("Transpose", add("MatMul", p, v), perm=[0, 2, 1, 3]), constant(np.array([1, -1, WIDTH])))
        x = add("Add", x, add("MatMul", o, weights(WIDTH, WIDTH)))
        y = norm(x)
        gate = add("MatMul", y, weights(WIDTH, INNER))
        x = add("Add", x, add("MatMul", add("Mul", add("Mul", gate, add("Sigmoid", gate)), add("MatMul", y, weights(WIDTH, INNER))), weights(INNER, WIDTH)))
    nodes.append(helper.make_node("MatMul", [norm(x), weights(WIDTH, WORDS)], ["logits"]))
    ids = [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name, shape in (("token", [1, 1]), ("position", [1]))]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, WORDS])
    graph = helper.make_graph(nodes, "decoder", ids + inputs, [logits] + outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return [x.name for x in inputs]


def ours(model, caches, steps):
    rooms, token, tokens, times = {name: model.room(name) for name in caches}, 1, [], []
    for n in range(steps):
        start = time.perf_counter()
        given = {name: room[:, :, :n] for name, room in rooms.items()}
        given["token"], given["position"] = np.array([[token]]), np.array([n])
        token = int(model.run(given)["logits"].argmax())
        times.append(time.perf_counter() - start)
        tokens.append(token)
    return tokens, times


def theirs(session, caches, steps):
    value = onnxruntime.OrtValue.ortvalue_from_numpy
    names = [x.name for x in session.get_outputs()]
    given, token, tokens, times = {name: value(np.zeros((1, HEADS, 0, SIZE), np.float32)) for name in caches}, 1, [], []
    for n in range(steps):
        start = time.perf_counter()
        given["token"], given["position"] = value(np.array([[token]])), value(np.array([n]))
        found = session.run_with_ort_values(names, given)
        token = int(found[0].numpy().argmax())
        given = {name.replace("present", "past"): x for name, x in zip(names[1:], found[1:])}
        times.append(time.perf_counter() - start)
        tokens.append(token)
    return tokens, times


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        caches = decoder(path("decoder.onnx"), steps)
        library = os.environ.get("LIBRARY") or path("libdecoder.so")  # one that is there already
        start = time.perf_counter()
        if not os.path.exists(library):
            subprocess.run([os.environ.get("TAPC", "tapc"), "build", path("decoder.onnx"), "--cpu=native", "--dim", f"past=0..{steps - 1}", "--alias", "past_*=present_*",
                            "--emit=lib", "-o", library], check=True)
            print(f"built for {steps} lengths in {time.perf_counter() - start:.1f} s, {os.path.getsize(library) / 1e6:.1f} MB; the model has {os.path.getsize(path('decoder.onnx')) / 1e6:.1f}")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path("decoder.onnx"), options, providers=["CPUExecutionProvider"])
        with tapc.load(library, threads=1) as model:
            a, b = ours(model, caches, steps)[0], theirs(session, caches, steps)[0]
            if a != b:
                sys.exit(f"other tokens from step {next(i for i in range(steps) if a[i] != b[i])} on")
            rounds = [(ours(model, caches, steps)[1], theirs(session, caches, steps)[1]) for _ in range(9)]
        least = np.array(rounds).min(axis=0) * 1e3
        total = least.sum(axis=1)
        first = [least[0, :5].mean(), least[0, -5:].mean()]
        print(f"{steps} steps, the same tokens: {total[0]:.1f} ms beside ONNX Runtime's {total[1]:.1f}: {total[0] / total[1]:.2f}; in each round "
              + ", ".join(f"{sum(x) / sum(y):.2f}" for x, y in rounds) + f"; the first five steps {first[0]:.2f} ms each, the last five {first[1]:.2f}")


main()
