"""Writes a model with large weights: a chain of matrix products and ReLUs.

  python3 bigmodel.py FILE MATRICES

Every matrix is 4096 x 4096 floats, 64 MiB. Needs the Python package onnx.
"""

import sys

import numpy as np
from onnx import TensorProto, helper


def main(path, count):
    rng = np.random.default_rng(0)
    weights, nodes, x = [], [], "x"
    for i in range(count):
        w = (rng.random((4096, 4096), dtype=np.float32) - 0.5) / 64
        weights.append(helper.make_tensor(f"w{i}", TensorProto.FLOAT, w.shape, w.tobytes(), raw=True))
        nodes.append(helper.make_node("MatMul", [x, f"w{i}"], [f"m{i}"]))
        nodes.append(helper.make_node("Relu", [f"m{i}"], [f"r{i}"]))
        x = f"r{i}"
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", 4096]) for n in ("x", x)]
    graph = helper.make_graph(nodes, "big", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    with open(path, "wb") as f:
        f.write(model.SerializeToString())


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], int(sys.argv[2]))
