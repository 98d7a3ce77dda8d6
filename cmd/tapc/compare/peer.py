"""Runs an ONNX model with ONNX Runtime for tapc compare.

    peer.py REQUEST    runs once: REQUEST is a file of JSON with model, inputs, outputs (names and files), threads
    peer.py REQUEST -  the same, and then for each line N on standard input prints the median milliseconds of N runs

Prints one JSON object a line."""
import json
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


def main():
    with open(sys.argv[1]) as f:
        request = json.load(f)
    ort.set_default_logger_severity(3)
    host = status("VmHWM")
    feeds = {x["name"]: np.load(x["file"]) for x in request["inputs"]}
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
    results = session.run(names, feeds)
    print(json.dumps({"version": ort.__version__, "host": host, "peak": status("VmHWM")}), flush=True)
    for x, value in zip(request["outputs"], results):
        np.save(x["file"], value)
    if len(sys.argv) < 3:
        return
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        begin = time.perf_counter()
        n = 0
        while n < 3 or (n < 1000 and time.perf_counter() - begin < 0.1):  # as the programs of tapc warm up
            session.run(names, feeds)
            n += 1
        times = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            session.run(names, feeds)
            times.append(time.perf_counter() - begin)
        print(json.dumps({"milliseconds": float(np.median(times)) * 1e3}), flush=True)


main()
