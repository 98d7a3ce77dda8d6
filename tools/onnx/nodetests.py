"""Writes ONNX's backend node tests as folders of a model and its tensors.

  python3 nodetests.py OUTPUT

Needs the Python package onnx. Each test becomes OUTPUT/NAME/model.onnx with test_data_set_N/input_N.pb and output_N.pb,
and tolerance.json where the test has tolerances of its own.
"""

import json
import os
import sys

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases


def encode(value, port):
    """Encodes an input or output in the message that its declared type calls for."""
    kind = port.type.WhichOneof("value")
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString()
    if kind == "sequence_type":
        return numpy_helper.from_list(value, port.name).SerializeToString()
    if kind == "map_type":
        return numpy_helper.from_dict(value, port.name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, port.name).SerializeToString()
    return numpy_helper.from_array(np.asarray(value), port.name).SerializeToString()


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def main(out):
    failed = 0
    for case in collect_testcases(None):
        folder = os.path.join(out, case.name)
        write(os.path.join(folder, "model.onnx"), case.model.SerializeToString())
        tolerance = {"rtol": case.rtol, "atol": case.atol}
        write(os.path.join(folder, "tolerance.json"), json.dumps(tolerance).encode())
        for n, (inputs, outputs) in enumerate(case.data_sets):
            for side, values, ports in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
                for i, value in enumerate(values):
                    try:
                        data = encode(value, ports[i])
                    except Exception as err:  # an element type that numpy_helper does not write
                        print(f"{case.name}: {side} {i}: {err}", file=sys.stderr)
                        failed += 1
                        continue
                    write(os.path.join(folder, f"test_data_set_{n}", f"{side}_{i}.pb"), data)
    return failed


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
