"""A plugin for tapc in Python: it merges a linear operation and the relu that alone reads its result.

The same rewrite as plugins/examples/linear-relu, which is in Go; a test compares what the two make.
"""

import tapcplugin

SPACES = ("op", "ops", "builtins", "tapc")


def kernel(node):
    """The kernel of an operation without tapc's namespaces; "" for other nodes."""
    if node is None or not node.HasField("operation"):
        return ""
    space, colon, name = node.operation.kernel.partition(":")
    return name if colon and space in SPACES else node.operation.kernel


def only(ports):
    """The only selection of ports, or None."""
    if len(ports) == 1 and len(ports[0].selections) == 1:
        return ports[0].selections[0]
    return None


def box(x):
    return (tuple(x.start), tuple(x.end))


class Nodes:
    """The nodes of a graph by number, with who reads and writes each tensor."""

    def __init__(self, graph):
        self.by_number, self.readers, self.writers = {}, {}, {}
        number = 0
        for node in graph.nodes:
            number += node.gap
            self.by_number[number] = node
            number += 1
        for number, node in self.by_number.items():
            if not node.HasField("operation"):
                continue
            for ports, into in ((node.operation.inputs, self.readers), (node.operation.outputs, self.writers)):
                for tensor in {s.tensor for p in ports for s in p.selections}:
                    into.setdefault(tensor, []).append(number)  # tensor is one more than its number

    def store(self, graph):
        """Puts the nodes that are left back, under the numbers they had."""
        left, free = [], 0
        for number in sorted(self.by_number):
            node = self.by_number[number]
            node.gap = number - free
            free = number + 1
            left.append(node)
        del graph.nodes[:]
        graph.nodes.extend(left)


def match(nodes, number):
    """The linear operation in front of a relu, the relu's result and the tensor between them, or None."""
    relu = nodes.by_number.get(number)
    if kernel(relu) != "relu" or relu.HasField("io"):
        return None
    source, result = only(relu.operation.inputs), only(relu.operation.outputs)
    if source is None or result is None:
        return None
    between = nodes.by_number.get(source.tensor - 1)
    writers, readers = nodes.writers.get(source.tensor, []), nodes.readers.get(source.tensor, [])
    if between is None or not between.HasField("tensor") or len(writers) != 1 or len(readers) != 1:
        return None
    whole = box(between.tensor.range)
    linear = nodes.by_number.get(writers[0])
    if kernel(linear) != "linear" or linear.HasField("io") or box(source) != whole:
        return None
    out = only(linear.operation.outputs)
    if out is None or box(out) != whole:
        return None
    if between.tensor.dtype != nodes.by_number[result.tensor - 1].tensor.dtype:
        return None
    if any(p.name == "activation" and p.value.text != "none" for p in linear.operation.params):
        return None
    return linear, relu, source.tensor - 1, result


def apply(nodes, number, found):
    linear, relu, between, result = found
    op = linear.operation
    for i in reversed(range(len(op.params))):
        if op.params[i].name == "activation":
            del op.params[i]
    param = op.params.add(name="activation")
    param.value.text = "relu"
    op.params.sort(key=lambda p: p.name)
    op.outputs[0].selections[0].CopyFrom(result)
    sign(linear, relu)
    del nodes.by_number[number]
    del nodes.by_number[between]


def sign(linear, relu):
    """The merged operation's signature: relu's output, where both run over one index; none otherwise."""
    if not linear.HasField("signature"):
        return
    both = relu.HasField("signature") and relu.HasField("index") and linear.HasField("index")
    if both and relu.index == linear.index and len(relu.signature.inputs) == 1 and \
            list(relu.signature.inputs[0].projections) == list(linear.signature.outputs[0].projections):
        outputs = linear.signature.outputs[0]
        del outputs.projections[:]
        outputs.projections.extend(relu.signature.outputs[0].projections)
        return
    linear.ClearField("signature")
    linear.ClearField("index")


def merge(work):
    nodes, merged = Nodes(work.graph), 0
    for i, number in enumerate(sorted(nodes.by_number)):
        if i % 1024 == 0 and work.cancelled():
            return False
        found = match(nodes, number)
        if found is not None:
            apply(nodes, number, found)
            merged += 1
    work.count("merged", merged)
    if merged:
        nodes.store(work.graph)
    return merged > 0


if __name__ == "__main__":
    tapcplugin.serve("python-linear-relu", "1.0.0", "Merges relu into the linear operation before it.", [
        tapcplugin.Pass("python-linear-relu", "Merge linear and the relu behind it, in Python.", merge)])
