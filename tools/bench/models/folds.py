"""Writes orders and running sums along one dimension as ONNX models: python3 folds.py FOLDER. It needs onnx."""
import sys
from onnx import TensorProto, helper, save

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
TOP = [((20, 50000), 50), ((20, 50000), 1000), ((1, 1000), 1), ((1, 1000), 5), ((1, 1000000), 1), ((1, 1000000), 5), ((1, 1000000), 1000)]
SUMS = [((1024, 1024), 0, FLOAT), ((1024, 1024), 1, FLOAT), ((64, 256, 256), 1, FLOAT), ((1024, 1024), 0, INT64), ((64, 256, 256), 1, INT64)]


def write(path, node, x, outputs, constant):
    value = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    graph = helper.make_graph([node], "fold", [value("x", *x)], [value(*o) for o in outputs], [constant])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    print(path)


def main(folder):
    for shape, k in TOP:
        first = (*shape[:-1], k)
        write(f"{folder}/top_{k}_of_{'x'.join(map(str, shape))}.onnx", helper.make_node("TopK", ["x", "k"], ["y", "i"]), (FLOAT, shape),
              [("y", FLOAT, first), ("i", INT64, first)], helper.make_tensor("k", INT64, [1], [k]))
    for shape, axis, kind in SUMS:
        name = f"sum_{TensorProto.DataType.Name(kind).lower()}_{'x'.join(map(str, shape))}_along_{axis}"
        write(f"{folder}/{name}.onnx", helper.make_node("CumSum", ["x", "axis"], ["y"]), (kind, shape),
              [("y", kind, shape)], helper.make_tensor("axis", INT64, [], [axis]))


main(sys.argv[1])
