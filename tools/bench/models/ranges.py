"""Races one program for a range of lengths: python3 ranges.py [LONGEST].

It writes a layer of a text encoder, builds it for every length up to LONGEST (128), checks it beside ONNX Runtime, and takes turns, length by length, with ONNX
Runtime and dynamic shapes, and with the program of that length alone. It needs numpy, onnx, onnxruntime and tapc, which TAPC names if it is not on the path. Times are
10th percentiles on one thread, the least of three rounds, summed over lengths at random. Then a library of the same runs once at each length, in an order at random, and
in that order again: the first call at a length beside the next ones. FOLDER, if it is set, keeps the programs from one run to the next."""
import contextlib, os, random, re, subprocess, sys, tempfile, time
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python/src"))
import tapc

WIDTH, HEADS, INNER = 256, 4, 1024


def encoder(path):
    rng = np.random.default_rng(0)
    nodes, constants = [], []

    def constant(value):
        constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(constants)}"))
        return constants[-1].name

    def weights(*shape):
        return constant((rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32))

    def add(op, *inputs, **attributes):
        nodes.append(helper.make_node(op, inputs, [f"t{len(nodes)}"], **attributes))
        return nodes[-1].output[0]

    def linear(x, wide, out):
        return add("Add", add("MatMul", x, weights(wide, out)), weights(out))

    def heads(x, order):
        return add("Transpose", add("Reshape", linear(x, WIDTH, WIDTH), constant(np.array([0, 0, HEADS, WIDTH // HEADS]))), perm=order)

    q, k, v = heads("x", [0, 2, 1, 3]), heads("x", [0, 2, 3, 1]), heads("x", [0, 2, 1, 3])
    scores = add("Softmax", add("Mul", add("MatMul", q, k), constant(np.float32((WIDTH // HEADS) ** -0.5))), axis=-1)
    joined = add("Reshape", add("Transpose", add("MatMul", scores, v), perm=[0, 2, 1, 3]), constant(np.array([0, 0, WIDTH])))
    norm = lambda x, y: add("LayerNormalization", add("Add", x, y), weights(WIDTH), weights(WIDTH), axis=-1)
    x = norm("x", linear(joined, WIDTH, WIDTH))
    x = norm(x, linear(add("Gelu", linear(x, WIDTH, INNER)), INNER, WIDTH))
    nodes.append(helper.make_node("Identity", [x], ["y"]))
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, "seq", WIDTH]) for name in "xy"]
    model = helper.make_model(helper.make_graph(nodes, "encoder", ends[:1], ends[1:], constants), opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def bench(program, *args):
    done = subprocess.run([program, "--random", "1", "--threads", "1", "--bench", "15", *args], check=True, capture_output=True, text=True)
    return float(re.search(r"p10 ([\d.]+)", done.stdout + done.stderr)[1])


def peer(session, x):
    times = []
    for _ in range(16):
        start = time.perf_counter()
        session.run(None, {"x": x})
        times.append((time.perf_counter() - start) * 1e3)
    return sorted(times[1:])[1]


def first_calls(library, longest):
    """The milliseconds of all lengths' first calls, and of two passes in the same order after them."""
    lengths = list(range(1, longest + 1))
    random.Random(2).shuffle(lengths)
    inputs = [np.ones((1, n, WIDTH), np.float32) for n in lengths]
    times = np.zeros((3, longest))
    with tapc.load(library, threads=1) as model:
        for times_of_pass in times:
            for i, x in enumerate(inputs):
                start = time.perf_counter()
                model.run({"x": x})
                times_of_pass[i] = (time.perf_counter() - start) * 1e3
    return times


def main():
    longest = int(sys.argv[1]) if len(sys.argv) > 1 else 128
    with contextlib.nullcontext(os.environ["FOLDER"]) if "FOLDER" in os.environ else tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        encoder(path("encoder.onnx"))

        def build(dims, name, *flags):
            start = time.perf_counter()
            if "FOLDER" not in os.environ or not os.path.exists(path(name)):
                subprocess.run([os.environ.get("TAPC", "tapc"), "build", path("encoder.onnx"), "--cpu=native", "--dim", f"seq={dims}", *flags, "-o", path(name)], check=True)
            return time.perf_counter() - start

        seconds = build(f"1..{longest}", "ranged")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(path("encoder.onnx"), options, providers=["CPUExecutionProvider"])
        lengths = random.Random(1).choices(range(5, longest + 1), k=25)
        rows, error = [], 0
        for n in lengths:
            alone = f"alone{n}"
            build(str(n), alone)
            x = np.random.default_rng(n).standard_normal((1, n, WIDTH)).astype(np.float32)
            np.save(path("x.npy"), x)
            subprocess.run([path("ranged"), "--input", f"x={path('x.npy')}", "--output", f"y={path('y.npy')}"], check=True)
            error = max(error, float(np.abs(np.load(path("y.npy")) - session.run(None, {"x": x})[0]).max()))
            times = [(bench(path("ranged"), "--dim", f"seq={n}"), peer(session, x), bench(path(alone))) for _ in range(3)]
            rows.append([min(t) for t in zip(*times)])
        ours, theirs, one = np.array(rows).T
        print(f"lengths 1 to {longest}: built in {seconds:.1f} s, {os.path.getsize(path('ranged')) / 1e6:.1f} MB; of one length {os.path.getsize(path(alone)) / 1e6:.1f} MB")
        print(f"{len(lengths)} lengths: {ours.sum():.2f} ms beside ONNX Runtime's {theirs.sum():.2f}: {ours.sum() / theirs.sum():.2f}, each {min(ours / theirs):.2f} to {max(ours / theirs):.2f}")
        print(f"beside programs of one length: geometric mean {np.exp(np.log(ours / one).mean()):.3f}, worst {max(ours / one):.3f}; greatest difference from ONNX Runtime {error:.0e}")
        build(f"1..{longest}", "libranged.so", "--emit=lib")
        passes = first_calls(path("libranged.so"), longest)
        print(f"first calls at all {longest} lengths {passes[0].sum():.1f} ms, again {passes[1].sum():.1f} and {passes[2].sum():.1f} ms; a first one beside the next: "
              f"median {np.median(passes[0] / passes[1]):.3f}, 9 of 10 at most {np.quantile(passes[0] / passes[1], 0.9):.3f}")


main()
