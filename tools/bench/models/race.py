"""Races programs that tapc builds of ONNX models beside ONNX Runtime: python3 race.py MODEL.onnx...

It needs numpy, onnxruntime and tapc, which TAPC names if it is not on the path; further flags of tapc build stand in FLAGS. Runs of both take
turns. For each model it prints what the program may do to numbers (docs/numerics.md), how far the first result is from ONNX Runtime's, relative to the greatest element, and the times of both: the
10th percentile of the best round, and the ratio of those and of the medians."""
import argparse, json, os, re, statistics, subprocess, sys, tempfile, time
import numpy as np
import onnxruntime


def values(shape, dtype, rng):
    shape = [n if isinstance(n, int) else 1 for n in shape]
    if "float" in dtype:
        return rng.standard_normal(shape).astype(np.float32)
    return rng.integers(0, 100, shape).astype({"tensor(uint8)": np.uint8, "tensor(int8)": np.int8, "tensor(int32)": np.int32}.get(dtype, np.int64))


def named(name):
    """What a program calls a tensor of a model."""
    return re.sub(r"[\x00- =/\x7f]", "_", name)


def race(path, args, folder):
    program = os.path.join(folder, "program")
    command = [os.environ.get("TAPC", "tapc"), "build", path, "--cpu=native", "-o", program, *os.environ.get("FLAGS", "").split()]
    start = time.perf_counter()
    built = subprocess.run(command, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    if built.returncode:
        return "not built: " + built.stderr.strip().splitlines()[0]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = args.threads, 1
    allowed = ",".join(json.loads(subprocess.run([program, "--describe"], check=True, capture_output=True, text=True).stdout)["allow"]) or "nothing"
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(1)
    given = {x.name: values(x.shape, x.type, rng) for x in session.get_inputs()}
    np.savez(os.path.join(folder, "in.npz"), **{named(k): v for k, v in given.items()})
    output = session.get_outputs()[0].name
    want, got = session.run([output], given)[0], os.path.join(folder, "out.npy")
    other = session.run([output], {x.name: values(x.shape, x.type, rng) for x in session.get_inputs()})[0]
    varies = "" if np.abs(want - other).max() > 1e-3 * np.abs(want).max() else " (but the result hardly depends on the input)"
    inputs = ["--inputs", os.path.join(folder, "in.npz"), "--threads", str(args.threads)]
    subprocess.run([program, *inputs, "--output", f"{named(output)}={got}"], check=True)
    error = np.abs(np.load(got).astype(np.float64) - want).max() / max(1e-30, np.abs(want).max())
    ours, theirs = [], []
    for _ in range(args.rounds):
        text = subprocess.run([program, *inputs, "--bench", str(args.runs)], check=True, capture_output=True, text=True)
        found = re.search(r"median ([\d.]+) ms, p10 ([\d.]+)", text.stdout + text.stderr)
        ours.append((float(found[2]), float(found[1])))
        times = []
        for _ in range(args.runs + 1):
            start = time.perf_counter()
            session.run(None, given)
            times.append((time.perf_counter() - start) * 1e3)
        times = sorted(times[1:])
        theirs.append((times[args.runs // 10], statistics.median(times)))
    best = min(ours)[0] / min(theirs)[0]
    median = statistics.median(a[1] / b[1] for a, b in zip(ours, theirs))
    return f"allowed {allowed}, built in {seconds:.1f} s, error {error:.0e}{varies}, {min(ours)[0]:.3f} ms beside {min(theirs)[0]:.3f} ms: best {best:.2f}, median {median:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=15)
    args = parser.parse_args()
    for path in args.models:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{os.path.splitext(os.path.basename(path))[0]}: {race(path, args, folder)}", flush=True)


main()
