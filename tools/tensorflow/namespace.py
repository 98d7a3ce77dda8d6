"""Writes the dictionary of TensorFlow's operators, frontends/namespace/dict/tensorflow.ns, from the package of a release.

  pip download --no-deps --only-binary=:all: --python-version 36 --platform manylinux1_x86_64 tensorflow==1.13.1
  python namespace.py tensorflow-1.13.1-cp36-cp36m-manylinux1_x86_64.whl
  python namespace.py --check tensorflow-1.13.1-cp36-cp36m-manylinux1_x86_64.whl

Nothing of the package is run: its modules tensorflow/python/ops/gen_*_ops.py carry the operators' definitions as protobuf messages
(OpList), which are read here. Operators that only contrib has are left out.
"""

import ast
import pathlib
import re
import struct
import sys
import zipfile

PATH = pathlib.Path(__file__).resolve().parents[2] / "frontends" / "namespace" / "dict" / "tensorflow.ns"

TYPES = {1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64", 9: "int64", 10: "bool",
         11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16", 17: "uint16", 18: "complex128",
         19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64"}
GROUPS = [
    ("@int", ["int8", "int16", "int32", "int64"]),
    ("@uint", ["uint8", "uint16", "uint32", "uint64"]),
    ("@float", ["float16", "float32", "float64"]),
    ("@complex", ["complex64", "complex128"]),
]
SOURCES = {"Placeholder", "PlaceholderV2", "Variable", "VariableV2", "VarHandleOp"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """A message as a map from a field's number to its values, as bytes or integers."""
    out, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(kind)
            if kind == 2:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        out.setdefault(key >> 3, []).append(value)
    return out


def one(message, number, default=b""):
    return message.get(number, [default])[-1]


def packed(message, number):
    out = []
    for value in message.get(number, []):
        if isinstance(value, int):
            out.append(value)
            continue
        at = 0
        while at < len(value):
            x, at = varint(value, at)
            out.append(x)
    return out


def signed(x):
    return x - (1 << 64) if x >= 1 << 63 else x


def quoted(text):
    return '"' + "".join("\\" + c if c in '"\\' else c if c.isprintable() else "\\u%04x" % ord(c) for c in text) + '"'


def floating(data):
    x = struct.unpack("<f", data)[0]
    for digits in range(1, 10):
        text = "%.*g" % (digits, x)
        if struct.pack("<f", min(max(float(text), -3.4028234e38), 3.4028234e38)) == data:
            break
    return text if re.search(r"[.en]", text) else text + ".0"


def shape(data):
    m = fields(data)
    if one(m, 3, 0):
        return "[]"
    return "[" + ", ".join(str(signed(one(fields(d), 1, 0))) for d in m.get(2, [])) + "]"


def value(data):
    """A default value, or None for one that dictionaries can not say (a tensor, a function)."""
    m = fields(data)
    if 2 in m:
        return quoted(one(m, 2).decode("utf-8", "replace"))
    if 3 in m:
        return str(signed(one(m, 3)))
    if 4 in m:
        return floating(one(m, 4))
    if 5 in m:
        return "true" if one(m, 5) else "false"
    if 6 in m:
        return TYPES[one(m, 6)]
    if 7 in m:
        return shape(one(m, 7)) if not one(fields(one(m, 7)), 3, 0) else None
    if 1 in m:
        return elements(fields(one(m, 1)))
    return None


def elements(m):
    parts = [quoted(x.decode()) for x in m.get(2, [])] + [str(signed(x)) for x in packed(m, 3)]
    for chunk in m.get(4, []):
        parts += [floating(chunk[i:i + 4]) for i in range(0, len(chunk), 4)]
    parts += ["true" if x else "false" for x in packed(m, 5)] + [TYPES[x] for x in packed(m, 6)] + [shape(x) for x in m.get(7, [])]
    return "[" + ", ".join(parts) + "]"


def union(names):
    rest, parts = set(names), []
    for word, members in GROUPS:
        if rest.issuperset(members):
            rest = rest.difference(members)
            parts.append(word)
    return " ".join(parts + sorted(rest))


def name(text):
    return text if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) else quoted(text)


def argument(data, minimum, inferred):
    m = fields(data)
    text = name(one(m, 1).decode())
    typ = TYPES.get(one(m, 3, 0), "") or one(m, 4).decode()
    number, types = one(m, 5).decode(), one(m, 6).decode()
    inferred.update(x for x in (one(m, 4).decode(), number, types) if x)
    if types:
        text, typ = text + "*%d mixed" % minimum.get(types, 0), types
    elif number:
        text += "*%d" % minimum.get(number, 0)
    return "%s: %s" % (text, "ref(%s)" % typ if one(m, 16, 0) else typ)


WORDS = {"list(float)": "floats", "list(int)": "ints", "list(string)": "strings", "list(bool)": "bools", "list(type)": "types",
         "list(shape)": "shapes", "list(tensor)": "tensors"}


def attribute(m, inferred, types):
    key, kind = one(m, 1).decode(), one(m, 2).decode()
    word = WORDS.get(kind, kind)
    default = value(one(m, 3)) if 3 in m else None
    text = name(key) + ("!" if 3 not in m and key not in inferred else "") + ": " + (word if word not in ("list(func)",) else "any")
    if default is not None:
        text += " = " + default
    if 7 in m:
        allowed = fields(one(fields(one(m, 7)), 1))
        if packed(allowed, 6):
            types.append("%s: %s;" % (key, union(TYPES[t] for t in packed(allowed, 6))))
        elif 2 in allowed:
            text += " of " + " ".join(quoted(s.decode()) for s in allowed[2])
    return text


def operator(m):
    text, types, inferred = name(one(m, 1).decode()) + " 0", [], set()
    attrs = [fields(a) for a in m.get(4, [])]
    minimum = {one(a, 1).decode(): signed(one(a, 6, 0)) for a in attrs if one(a, 5, 0)}
    inputs = [argument(a, minimum, inferred) for a in m.get(2, [])]
    outputs = [argument(a, minimum, set()) for a in m.get(3, [])]
    text += " (%s) -> (%s)" % (", ".join(inputs), ", ".join(outputs))
    if attrs:
        text += " {" + ", ".join(attribute(a, inferred, types) for a in attrs) + "}"
    text += "".join(" " + t for t in types)
    traits = [w for w, yes in (("source", one(m, 1).decode() in SOURCES), ("commutative", one(m, 18, 0)), ("stateful", one(m, 17, 0)),
                               ("deprecated", 8 in m)) if yes]
    return text + (" is " + " ".join(traits) if traits else "")


def definitions(wheel):
    """Every operator of the release: its modules hold serialised lists of definitions."""
    out = {}
    for path in wheel.namelist():
        if not re.fullmatch(r"(.*/)?tensorflow/python/ops/gen_\w+\.py", path):
            continue
        for node in ast.walk(ast.parse(wheel.read(path))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_InitOpDefLibrary":
                for op in fields(ast.literal_eval(node.args[0])).get(1, []):
                    m = fields(op)
                    out[one(m, 1).decode()] = m
    return out


def main():
    paths = [a for a in sys.argv[1:] if a != "--check"]
    if len(paths) != 1:
        sys.exit(__doc__)
    release = re.search(r"tensorflow-([\d.]+)-", paths[0])[1]
    ops = definitions(zipfile.ZipFile(paths[0]))
    text = ("# Made by tools/tensorflow/namespace.py from the package tensorflow %s; do not edit.\n" % release +
            "namespace tensorflow\nsource the operator definitions in the package of the release: all but those of contrib and internal ones, whose names begin with _\nreleases %s\n\n" % release +
            "".join(operator(ops[key]) + "\n" for key in sorted(ops)))
    if "--check" not in sys.argv:
        PATH.write_text(text)
    elif PATH.read_text() != text:
        sys.exit("namespace.py: not current, write it again")


if __name__ == "__main__":
    main()
