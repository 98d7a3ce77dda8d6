"""Says how far ONNX Runtime's results move when its inputs move by a millionth of themselves: python3 stability.py MODEL [NAME=SIZE …] [NAME=FILE.npy …].

SIZE is that of a dimension with a name; inputs without a file are random floats. What it prints is the greatest difference of an output, divided by the greatest
magnitude of that output, the most of three tries: what is as far from ONNX Runtime is no further than ONNX Runtime is from itself."""
import sys
import numpy as np
import onnxruntime

options = onnxruntime.SessionOptions()
options.log_severity_level = 3
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
given = dict(word.split("=", 1) for word in sys.argv[2:])
rng = np.random.default_rng(1)
inputs = {}
for x in session.get_inputs():
    if x.name in given:
        inputs[x.name] = np.load(given[x.name])
    elif x.type == "tensor(float)":
        inputs[x.name] = rng.uniform(-1, 1, [int(given.get(n, n)) for n in x.shape]).astype(np.float32)
    else:
        sys.exit(f'input "{x.name}" has type {x.type}: expected a file')
before, most = session.run(None, inputs), 0.0
for _ in range(3):
    moved = {name: (x * (1 + 1e-6 * rng.choice([-1, 1], x.shape))).astype(x.dtype) if x.dtype.kind == "f" else x for name, x in inputs.items()}
    for a, b in zip(before, session.run(None, moved)):
        most = max(most, float(np.abs(a - b).max() / max(np.abs(a).max(), np.finfo(np.float32).tiny)))
print(most)
