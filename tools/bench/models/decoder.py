"""Races a decoder with its cache in place: python3 decoder.py [STEPS] [fixed|alone].

It writes a decoder of four layers with seeded weights, whose cache grows by a row each step, builds one program for every length of the past up to STEPS (200) with the cache in
place (--alias), and takes turns with ONNX Runtime and dynamic shapes, whose caches stay ONNX Runtime's own values. Both choose the most likely token; the tokens must be the
same. With fixed, the caches have STEPS rows from the start, attention is GroupQueryAttention, which writes its row into them, and ONNX Runtime's are in place too. With alone, the program for
all lengths is raced beside programs of one, for nine lengths, in rounds of --bench; FOLDER, if it is set, keeps the programs from one run to the next. It needs numpy, onnx, onnxruntime and tapc, which TAPC names if it is not on the path. Times are those of all steps on one thread, called from Python."""
import os, re, subprocess, sys, tempfile, time
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/src"))
import tapc

LAYERS, WIDTH, HEADS, INNER, WORDS = 4, 256, 8, 704, 2048
SIZE = WIDTH // HEADS


def decoder(path, longest, fixed):
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

    def cache(name):
        rows = (longest, longest) if fixed else ("past", "total")
        for list, word, n in (inputs, "past", rows[0]), (outputs, "present", rows[1]):
            list.append(helper.make_tensor_value_info(f"{word}_{name}", TensorProto.FLOAT, [1, HEADS, n, SIZE]))
        return f"past_{name}", f"present_{name}"

    def cached(name, x):
        past, present = cache(name)
        nodes.append(helper.make_node("Concat", [past, x], [present], axis=2))
        return present

    def attention(i, y):
        q, k, v = rotated(heads(y)), cached(f"key.{i}", rotated(heads(y))), cached(f"value.{i}", heads(y))
        p = add("Softmax", add("Mul", add("MatMul", q, add("Transpose", k, perm=[0, 1, 3, 2])), constant(np.float32(SIZE ** -0.5))), axis=-1)
        return add("Reshape", add("Transpose", add("MatMul", p, v), perm=[0, 2, 1, 3]), constant(np.array([1, -1, WIDTH])))

    def attention_in_place(i, y):
        key, value = cache(f"key.{i}"), cache(f"value.{i}")
        given = [add("MatMul", y, weights(WIDTH, WIDTH)) for _ in range(3)] + [key[0], value[0], "before", "total", *tables]
        nodes.append(helper.make_node("GroupQueryAttention", given, [f"attended.{i}", key[1], value[1]], domain="com.microsoft", num_heads=HEADS, kv_num_heads=HEADS, do_rotary=1))
        return f"attended.{i}"

    angle = np.outer(np.arange(longest), 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE))
    tables = [constant(f(angle).astype(np.float32)) for f in (np.cos, np.sin)] if fixed else []
    cos, sin = (None, None) if fixed else (add("Unsqueeze", add("Gather", constant(np.tile(f(angle), 2).astype(np.float32)), "position"), constant(np.array([1]))) for f in (np.cos, np.sin))
    x = add("Mul", add("Gather", weights(WORDS, WIDTH), "token"), constant(np.float32(16)))
    for i in range(LAYERS):
        y = norm(x)
        o = (attention_in_place if fixed else attention)(i, y)
        x = add("Add", x, add("MatMul", o, weights(WIDTH, WIDTH)))
        y = norm(x)
        gate = add("MatMul", y, weights(WIDTH, INNER))
        x = add("Add", x, add("MatMul", add("Mul", add("Mul", gate, add("Sigmoid", gate)), add("MatMul", y, weights(WIDTH, INNER))), weights(INNER, WIDTH)))
    nodes.append(helper.make_node("MatMul", [norm(x), weights(WIDTH, WORDS)], ["logits"]))
    ids = [helper.make_tensor_value_info("token", TensorProto.INT64, [1, 1])] + (
        [helper.make_tensor_value_info(name, TensorProto.INT32, shape) for name, shape in (("before", [1]), ("total", []))] if fixed
        else [helper.make_tensor_value_info("position", TensorProto.INT64, [1])])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 1, WORDS])
    graph = helper.make_graph(nodes, "decoder", ids + inputs, [logits] + outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)], ir_version=9), path)
    return [x.name for x in inputs]


def place(n, fixed):
    return {"before": np.array([n], np.int32), "total": np.array(n + 1, np.int32)} if fixed else {"position": np.array([n])}


def ours(model, caches, steps, fixed):
    rooms, token, tokens, times = {name: model.room(name) for name in caches}, 1, [], []
    for n in range(steps):
        start = time.perf_counter()
        given = {name: room if fixed else room[:, :, :n] for name, room in rooms.items()} | place(n, fixed)
        given["token"] = np.array([[token]])
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


def theirs_in_place(session, caches, steps):
    value = onnxruntime.OrtValue.ortvalue_from_numpy
    binding, token, tokens, times = session.io_binding(), 1, [], []
    for name in caches:
        cache = value(np.zeros((1, HEADS, steps, SIZE), np.float32))
        binding.bind_ortvalue_input(name, cache)
        binding.bind_ortvalue_output(name.replace("past", "present"), cache)
    binding.bind_output("logits")
    for n in range(steps):
        start = time.perf_counter()
        for name, x in {"token": np.array([[token]]), **place(n, True)}.items():
            binding.bind_cpu_input(name, x)
        session.run_with_iobinding(binding)
        token = int(binding.get_outputs()[-1].numpy().argmax())
        times.append(time.perf_counter() - start)
        tokens.append(token)
    return tokens, times


def beside_one(folder, steps):
    """Prints how much longer the program for all lengths takes than that of each of nine lengths."""
    path = lambda name: os.path.join(folder, name)
    decoder(path("decoder.onnx"), steps, False)

    def built(name, dims):
        if not os.path.exists(path(name)):
            subprocess.run([os.environ.get("TAPC", "tapc"), "build", path("decoder.onnx"), "--cpu=native", "--dim", f"past={dims}", "--alias", "past_*=present_*", "-o", path(name)], check=True)
        return path(name)

    def bench(program, *args):
        done = subprocess.run([program, "--random", "1", "--threads", "1", "--bench", "300", *args], check=True, capture_output=True, text=True)
        return float(re.search(r"p10 ([\d.]+)", done.stdout + done.stderr)[1])

    ranged, ratios = built("ranged", f"0..{steps - 1}"), []
    for n in np.linspace(0, steps - 1, 9).astype(int):
        alone = built(f"alone{n}", n)
        times = [(bench(ranged, "--dim", f"past={n}"), bench(alone)) for _ in range(5)]
        ours, one = np.array(times).min(axis=0)
        ratios.append(ours / one)
        print(f"past {n}: {ours:.4f} ms, the program of this length {one:.4f}: {ratios[-1]:.3f}")
    print(f"beside programs of one length: geometric mean {np.exp(np.log(ratios).mean()):.3f}, worst {max(ratios):.3f}")


def main():
    words = [x for x in sys.argv[1:] if x not in ("fixed", "alone")]
    fixed, steps = "fixed" in sys.argv, int(words[0]) if words else 200
    with tempfile.TemporaryDirectory() as folder:
        if "alone" in sys.argv:
            return beside_one(os.environ.get("FOLDER", folder), steps)
        path = lambda name: os.path.join(folder, name)
        caches = decoder(path("decoder.onnx"), steps, fixed)
        library = os.environ.get("LIBRARY") or path("libdecoder.so")  # one that is there already
        start = time.perf_counter()
        if not os.path.exists(library):
            subprocess.run([os.environ.get("TAPC", "tapc"), "build", path("decoder.onnx"), "--cpu=native", *([] if fixed else ["--dim", f"past=0..{steps - 1}"]),
                            "--alias", "past_*=present_*", "--emit=lib", "-o", library], check=True)
            print(f"built for {1 if fixed else steps} lengths in {time.perf_counter() - start:.1f} s, {os.path.getsize(library) / 1e6:.1f} MB; the model has {os.path.getsize(path('decoder.onnx')) / 1e6:.1f}")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path("decoder.onnx"), options, providers=["CPUExecutionProvider"])
        peer = theirs_in_place if fixed else theirs
        with tapc.load(library, threads=1) as model:
            a, b = ours(model, caches, steps, fixed)[0], peer(session, caches, steps)[0]
            if a != b:
                sys.exit(f"other tokens from step {next(i for i in range(steps) if a[i] != b[i])} on")
            rounds = [(ours(model, caches, steps, fixed)[1], peer(session, caches, steps)[1]) for _ in range(9)]
        least = np.array(rounds).min(axis=0) * 1e3
        total = least.sum(axis=1)
        first = [least[0, :5].mean(), least[0, -5:].mean()]
        print(f"{steps} steps, the same tokens: {total[0]:.1f} ms beside ONNX Runtime's {total[1]:.1f}: {total[0] / total[1]:.2f}; in each round "
              + ", ".join(f"{sum(x) / sum(y):.2f}" for x, y in rounds) + f"; the first five steps {first[0]:.2f} ms each, the last five {first[1]:.2f}")


main()
