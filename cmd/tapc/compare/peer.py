"""Runs an ONNX model with ONNX Runtime for tapc compare.

    peer.py REQUEST    runs once: REQUEST is a file of JSON with model, inputs, outputs (names and files), threads
    peer.py REQUEST -  the same, and then for each line N on standard input prints the median milliseconds of N runs

Prints one JSON object a line."""
import ctypes
import json
import math
import sys
import time

import numpy as np
import onnxruntime as ort


def status(key):
    try:
        with open("/proc/self/status") as f:
            for line in f:
                if line.startswith(key + ":"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


# The bits of element types that NumPy lacks, by ONNX's number, and their names in ONNX Runtime.
BITS = {16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2}
NAMES = ("bfloat16", "float8", "uint4", "int4", "float4", "uint2", "int2")


def feed(x):
    if "type" not in x:
        return np.load(x["file"])
    values = np.fromfile(x["file"], np.uint16 if BITS[x["type"]] == 16 else np.uint8).reshape(x["shape"])
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(values, x["type"])


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def save(file, value):
    """Writes a result as NumPy does or, if NumPy lacks its type, as a TensorProto with .pb behind the name. Maps, as ZipMap makes them, are rows."""
    if isinstance(value, list) and all(isinstance(x, dict) for x in value):
        value = np.array([[x[k] for k in sorted(x)] for x in value], np.float32)
    if not isinstance(value, ort.OrtValue):
        np.save(file, value)
    elif value.element_type() not in BITS:
        np.save(file, value.numpy())
    else:
        shape, kind = value.shape(), value.element_type()
        raw = ctypes.string_at(value.data_ptr(), (math.prod(shape) * BITS[kind] + 7) // 8)
        with open(file + ".pb", "wb") as f:
            f.write(b"".join(b"\x08" + varint(n) for n in shape) + b"\x10" + varint(kind) + b"\x4a" + varint(len(raw)) + raw)


def runner(session, names, feeds):
    """Gives what runs the model: on NumPy's arrays, unless a type is none of NumPy's."""
    odd = any(x.type.startswith("tensor(" + n) for x in session.get_inputs() + session.get_outputs() for n in NAMES)
    if not odd:
        return lambda: session.run(names, feeds)
    values = {k: v if isinstance(v, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(v) for k, v in feeds.items()}
    return lambda: session.run_with_ort_values(names, values)


def main():
    with open(sys.argv[1]) as f:
        request = json.load(f)
    ort.set_default_logger_severity(3)
    host = status("VmHWM")
    feeds = {x["name"]: feed(x) for x in request["inputs"]}
    options = ort.SessionOptions()
    options.intra_op_num_threads = request["threads"]
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", request["folder"])
    model = request["model"]
    if request["bytes"]:
        with open(model, "rb") as f:
            model = f.read()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    del model
    known = {x.name for x in session.get_inputs()}
    feeds = {k: v for k, v in feeds.items() if k in known}
    names = [x["name"] for x in request["outputs"]]
    run = runner(session, names, feeds)
    results = run()
    print(json.dumps({"version": ort.__version__, "host": host, "peak": status("VmHWM")}), flush=True)
    for x, value in zip(request["outputs"], results):
        save(x["file"], value)
    if len(sys.argv) < 3:
        return
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        n = 0
        while n < 3 or (n < 1000 and time.perf_counter() - begin < 0.1):  # as the programs of tapc warm up
            run()
            n += 1
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        print(json.dumps({"milliseconds": float(np.median(times)) * 1e3}), flush=True)


main()
