"""Races programs that tapc builds of ONNX models beside ONNX Runtime and OpenVINO while other programs want the same processors:

    python3 race.py [--loops 0,1,2] [--threads N] MODEL.onnx...

It needs numpy, onnxruntime and tapc, which TAPC names if it is not on the path; OpenVINO is raced where it is installed. Each candidate is a process
of its own, and they take turns: every round each of them has all of SLICE seconds. Foreign loops are processes that compute for ever, and end on
their own soon after the race should have. For each number of loops it prints the distribution of the times of calls, and two ratios: of
our medians with all threads and with one, and of ours and ONNX Runtime's with all threads, each the median over the rounds."""
import argparse, ctypes, os, re, statistics, subprocess, sys, tempfile, time
import numpy as np

SPIN = "import time\nend = time.time() + {}\nwhile time.time() < end:\n    for i in range(100000): pass\n"


def values(shape, kind):
    rng = np.random.default_rng(1)
    shape = [n if isinstance(n, int) else 1 for n in shape]
    return rng.standard_normal(shape).astype(np.float32) if "float" in kind else rng.integers(0, 100, shape).astype(np.int64)


def session(path, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def tapc(path, library, threads):
    """A call of a library that tapc built, with buffers of its own. Its result is ONNX Runtime's."""
    peer = session(path, 1)
    given = {x.name: values(x.shape, x.type) for x in peer.get_inputs()}
    want = peer.run(None, given)
    arrays, results = list(given.values()), [np.empty_like(x) for x in want]
    lib, name = ctypes.CDLL(library), re.sub(r"\W", "_", os.path.basename(path))
    create, run = getattr(lib, name + "_create"), getattr(lib, name + "_run")
    create.restype = ctypes.c_void_p
    error = ctypes.create_string_buffer(500)
    instance = ctypes.c_void_p(create(threads, error, 500))
    assert instance, error.value
    at = lambda list: (ctypes.c_void_p * len(list))(*[x.ctypes.data for x in list])
    a, b = at(arrays), at(results)

    def call(keep=(arrays, results)):
        if run(instance, a, b, None, ctypes.c_size_t(0)):
            raise SystemExit("tapc's program failed")
    call()
    worst = max(float(np.abs(x - y).max() / np.abs(y).max()) for x, y in zip(results, want))
    assert worst < 1e-3, f"off by {worst}"
    return call


def onnxruntime(path, library, threads):
    s = session(path, threads)
    given = {x.name: values(x.shape, x.type) for x in s.get_inputs()}
    return lambda: s.run(None, given)


def openvino(path, library, threads):
    import openvino as ov
    compiled = ov.Core().compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    peer = session(path, 1)
    for x in peer.get_inputs():
        request.set_tensor(x.name, ov.Tensor(values(x.shape, x.type)))
    return lambda: request.infer()


def serve(kind, path, library, threads):
    """The process of a candidate: for each line with a number of seconds it answers with the times of calls in milliseconds."""
    call = globals()[kind](path, library, int(threads))
    for _ in range(3):
        call()
    print("ready", flush=True)
    for line in sys.stdin:
        call()
        end, times = time.perf_counter() + float(line), []
        while not times or time.perf_counter() < end:
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1e3)
        print(*(f"{t:.5f}" for t in times), flush=True)


class Candidate:
    def __init__(self, name, *args):
        self.name, self.rounds = name, []
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--serve", *map(str, args)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def ready(self):
        return self.process.stdout.readline() == "ready\n"

    def round(self, seconds):
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        self.rounds.append([float(t) for t in self.process.stdout.readline().split()])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def build(path, library):
    subprocess.run([os.environ.get("TAPC", "tapc"), "build", path, "--cpu=native", "--emit=lib", "-o", library], check=True, capture_output=True)


def candidates(path, library, threads):
    for kind, n in (("tapc", 1), ("tapc", threads), ("onnxruntime", 1), ("onnxruntime", threads), ("openvino", threads)):
        c = Candidate(f"{kind} {n}", kind, path, library, n)
        if c.ready():
            yield c
        else:
            c.end()


def race(list, loops, args):
    """Times of all candidates while so many loops run, as lines of a table."""
    for c in list:
        c.rounds = []
    most = 5 + 2 * args.slice * args.rounds * len(list)
    foreign = [subprocess.Popen([sys.executable, "-c", SPIN.format(most)]) for _ in range(loops)]
    try:
        for _ in range(args.rounds):
            for c in list:
                c.round(args.slice)
    finally:
        for f in foreign:
            f.kill()
            f.wait()
    for c in list:
        t = sorted(t for r in c.rounds for t in r)
        yield f"  {loops} loops  {c.name:15} median {statistics.median(t):8.3f}  p90 {t[len(t) * 9 // 10]:8.3f}  worst {t[-1]:8.3f} ms  ({len(t)} calls)"
    by = {c.name: [statistics.fmean(r) for r in c.rounds] for c in list}
    ours = by[f"tapc {args.threads}"]
    ratio = lambda name: statistics.median(a / b for a, b in zip(ours, by[name]))
    yield f"  {loops} loops  all threads / one thread {ratio('tapc 1'):.2f}  ours / ONNX Runtime's {ratio(f'onnxruntime {args.threads}'):.2f}  (means of rounds)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--loops", default="0,1,2", help="numbers of foreign loops")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slice", type=float, default=0.3, help="seconds of a candidate in a round")
    args = parser.parse_args()
    for path in args.models:
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "program.so")
            build(path, library)
            print(os.path.splitext(os.path.basename(path))[0], flush=True)
            list_ = [*candidates(path, library, args.threads)]
            for loops in map(int, args.loops.split(",")):
                print(*race(list_, loops, args), sep="\n", flush=True)
            for c in list_:
                c.end()


if sys.argv[1:2] == ["--serve"]:
    serve(*sys.argv[2:])
else:
    main()
