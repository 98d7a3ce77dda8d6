"""Tests of the package, with the program tapc that the environment variable TAPC or the PATH names."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import tapc

MIXED = """tapc 1
%x = tensor float32 [0:4, 0:3]
%h = tensor bfloat16 [0:4]
%n = tensor int64 []
%b = tensor boolean [0:2]
operation op:import {names: ["x", "h", "n", "b"]} -> (result: [%x, %h, %n, %b])
%y = tensor float32 [0:4, 0:3]
%g = tensor bfloat16 [0:4]
%m = tensor int64 []
%c = tensor boolean [0:2]
operation op:relu (tensor: %x) -> (result: %y)
operation op:neg (tensor: %h) -> (result: %g)
operation op:neg (tensor: %n) -> (result: %m)
operation op:not (tensor: %b) -> (result: %c)
operation op:export {names: ["y", "g", "m", "c"]} (tensor: [%y, %g, %m, %c])
"""

PRODUCT = """tapc 1
%a = tensor float32 [0:96, 0:96]
%b = tensor float32 [0:96, 0:96]
%c = tensor float32 [0:96, 0:96]
operation op:matmul (X: %a, Y: %b) -> (Z: %c)
"""

TABLE = """tapc 1
%i = tensor int32 [0:2]
%t = tensor float32 [0:3]
%y = tensor float32 [0:2]
%place = tensor int64 []
%found = tensor int32 []
%index = tensor int64 []
operation op:first_outside {low: 0, high: 3} (indices: %i) -> (place: %place)
operation op:gather (tensor: %i, indices: %place) -> (result: %found)
operation op:cast {dtype: "int64"} (tensor: %found) -> (result: %index)
operation op:check {of: "input i", shape: [2], low: 0, high: 3, offset: 0, stride: 1} (place: %place, index: %index)
operation op:gather (tensor: %t, indices: %i) -> (result: %y)
"""

SCALE = """tapc 1
%x = tensor float32 [0:2]
%w = tensor float32 [0:2]
%y = tensor float32 [0:2]
operation op:constant {value: [1, 2]} -> (result: %w)
operation op:mul (tensors: [%x, %w]) -> (result: %y)
"""

# What is a library of another version, and what is none.
OTHER = """struct { int abi; unsigned long bytes; } table = {%d, 16};
void *%s(void) { return &table; }
"""


def field(number: int, value: Any) -> bytes:
    """Give a field of a protobuf message: a number, a text, or a message."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    data = value.encode() if isinstance(value, str) else value
    size = [len(data)] if len(data) < 128 else [len(data) & 127 | 128, len(data) >> 7]
    return bytes([number << 3 | 2, *size]) + data


def added() -> bytes:
    """Give an ONNX model of y[n, m] = x[n, m] + b[m]."""
    def value(name: str, *dims: str) -> bytes:
        shape = b"".join(field(1, field(2, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    node = field(1, "x") + field(1, "b") + field(2, "y") + field(4, "Add")
    graph = field(1, node) + field(2, "g") + field(11, value("x", "n", "m")) + field(11, value("b", "m")) + field(12, value("y", "n", "m"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


def cache() -> bytes:
    """Give an ONNX model of present = past with a row behind it, and last, the greatest element."""
    def value(name: str, *dims: str) -> bytes:
        shape = b"".join(field(1, field(2, d)) for d in dims)
        return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))

    def zero(name: str) -> bytes:  # an attribute, an integer
        return field(5, field(1, name) + field(3, 0) + b"\xa0\x01\x02")

    join = field(1, "past") + field(1, "row") + field(2, "present") + field(4, "Concat") + zero("axis")
    last = field(1, "present") + field(2, "last") + field(4, "ReduceMax") + zero("keepdims")
    graph = field(1, join) + field(1, last) + field(2, "g") + field(11, value("past", "n", "m")) + field(11, value("row", "k", "m"))
    graph += field(12, value("present", "t", "m")) + field(12, value("last"))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


class Alien:
    """An array of another package, which NumPy knows by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class Models(unittest.TestCase):
    folder: "tempfile.TemporaryDirectory[str]"

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = Path(cls.folder.name)
        for name, text in (("mixed", MIXED), ("product", PRODUCT), ("table", TABLE)):
            (cls.at / f"{name}.tap").write_text(text)
        cls.mixed = tapc.compile(cls.at / "mixed.tap", threads=1)
        cls.product = tapc.compile(cls.at / "product.tap", output=cls.at / "libproduct.so", flags=["--name=times"], threads=2)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.mixed.close()
        cls.product.close()
        cls.folder.cleanup()

    def arguments(self) -> dict[str, Any]:
        return {"x": np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3), "h": np.array([0x3F80, 0, 0x4000, 0xBF80], np.uint16),
                "n": np.array(5), "b": np.array([True, False])}

    def refused(self, text: str, function: Any, *args: Any, kind: "type[tapc.Error]" = tapc.ArgumentError, **kwargs: Any) -> Any:
        with self.assertRaises(kind) as caught:
            function(*args, **kwargs)
        self.assertIn(text, str(caught.exception))
        return caught.exception

    # ---- What a model is ----

    def test_description(self) -> None:
        self.assertEqual(self.mixed.name, "mixed")
        self.assertEqual(self.mixed.description["abi"], 1)
        self.assertEqual(self.mixed.description["tapc"], tapc.__version__)
        self.assertEqual(importlib.metadata.version("tapc"), tapc.__version__)
        self.assertTrue((Path(tapc.__file__).parent / "py.typed").exists())
        self.assertEqual([(t.name, t.dtype, t.shape, t.nbytes) for t in self.mixed.inputs],
                         [("x", "float32", (4, 3), 48), ("h", "bfloat16", (4,), 8), ("n", "int64", (), 8), ("b", "boolean", (2,), 2)])
        self.assertEqual([t.numpy for t in self.mixed.outputs], [np.float32, np.uint16, np.int64, np.bool_])
        self.assertEqual(repr(self.product), "<tapc.Model times (a: float32[96, 96], b: float32[96, 96]) -> (c: float32[96, 96])>")
        self.assertTrue((self.at / "libproduct.h").exists())

    # ---- Values ----

    def test_values(self) -> None:
        given = self.arguments()
        y, g, m, c = self.mixed(**given)
        np.testing.assert_array_equal(y, np.maximum(given["x"], 0))
        np.testing.assert_array_equal(g, given["h"] ^ 0x8000)
        self.assertEqual((m.shape, m[()], list(c)), ((), -5, [False, True]))
        self.assertEqual(list(self.mixed.run(given)), ["y", "g", "m", "c"])
        a = np.random.default_rng(1).standard_normal((2, 96, 96), np.float32)
        np.testing.assert_allclose(self.product(*a), a[0] @ a[1], rtol=1e-3, atol=1e-4)
        again = self.product(a[0], b=a[1])
        np.testing.assert_array_equal(again, self.product(*a))

    def test_arrays_that_are_not_in_order(self) -> None:
        given = self.arguments()
        want = self.mixed(**given)[0]
        odd = np.zeros(49, np.uint8)[1:].view(np.float32).reshape(4, 3)
        self.assertFalse(odd.flags.aligned)
        odd[...] = given["x"]
        for x in (np.asfortranarray(given["x"]), odd, np.repeat(given["x"], 2, axis=1)[:, ::2], given["x"].tolist()):
            np.testing.assert_array_equal(self.mixed(**{**given, "x": x})[0], want)
        for y in (np.empty((4, 3), np.float32), np.empty((3, 4), np.float32).T, np.zeros(49, np.uint8)[1:].view(np.float32).reshape(4, 3)):
            y[...] = 7
            result = self.mixed.run(given, out={"y": y})
            self.assertIs(result["y"], y)
            np.testing.assert_array_equal(y, want)

    def test_out(self) -> None:
        a = np.eye(96, dtype=np.float32)
        c = np.empty_like(a)
        self.assertIs(self.product(a, a, out=c), c)
        np.testing.assert_array_equal(c, a)
        self.assertIs(self.product(a, a, out=[c]), c)
        self.assertIs(self.mixed(**self.arguments(), out=(None, None, n := np.zeros((), np.int64), None))[2], n)
        self.assertEqual(n, -5)
        b = np.broadcast_to(np.float32(1), (96, 96))
        self.refused("can not", self.product, a, a, out=b)
        self.refused("overlaps input a", self.product, a, a, out=a)
        self.refused('output "c": expected float32, found float64', self.product, a, a, out=np.empty((96, 96)))
        self.refused('output "c": expected shape (96, 96), found (96, 95)', self.product, a, a, out=np.empty((96, 95), np.float32))
        self.refused("expected 1 arrays, found 2", self.product, a, a, out=[c, c])
        self.refused("expected an array, found int", self.product, a, a, out=3)
        self.refused('no output is named "d": expected c', self.product, a, a, out={"d": c})

    def test_dlpack(self) -> None:
        a = np.arange(96 * 96, dtype=np.float32).reshape(96, 96)
        identity = np.eye(96, dtype=np.float32)
        np.testing.assert_array_equal(self.product(Alien(a), Alien(identity)), a)
        np.testing.assert_array_equal(np.from_dlpack(self.product(a, identity)), a)
        self.refused("expected float32, found float64", self.product, Alien(a.astype(np.float64)), a)

        class Far(Alien):
            def __dlpack__(self, **options: Any) -> Any:
                raise BufferError("it is in the memory of a GPU")

        self.refused('input "a": DLPack: it is in the memory of a GPU', self.product, Far(a), a)

    def test_types_of_other_packages(self) -> None:
        try:
            import ml_dtypes
        except ImportError:
            self.skipTest("there is no ml_dtypes")
        given = self.arguments()
        given["h"] = np.array([1, 0, 2, -1], ml_dtypes.bfloat16)
        g = np.empty(4, ml_dtypes.bfloat16)
        self.assertIs(self.mixed.run(given, out={"g": g})["g"], g)
        self.assertEqual(g.tolist(), [-1, 0, -2, 1])
        given["h"] = given["h"].view(np.uint16).view(np.float16)
        self.refused("expected bfloat16, found float16", self.mixed.run, given)

    # ---- Threads ----

    def test_threads(self) -> None:
        identity = np.eye(96, dtype=np.float32)
        faults: list[BaseException] = []

        def work(model: tapc.Model, seed: int) -> None:
            try:
                a = np.full((96, 96), seed, np.float32)
                for _ in range(20):
                    np.testing.assert_array_equal(model(a, identity), a)
            except BaseException as e:  # noqa: B902
                faults.append(e)

        for instances in (1, 3):
            with tapc.load(self.at / "libproduct.so", threads=2, instances=instances) as model:
                threads = [threading.Thread(target=work, args=(model, i)) for i in range(8)]
                for t in threads:
                    t.start()
                for t in threads:
                    t.join()
                self.assertLessEqual(model._made, instances)
                self.assertEqual(len(model._idle), model._made)
        self.assertEqual(faults, [])

    def test_without_pythons_lock(self) -> None:
        """Two runs that are in progress at the same time show that Python's lock is not held."""
        with tapc.load(self.at / "libproduct.so", threads=1, instances=2) as model:
            both = threading.Barrier(2, timeout=60)
            run = model._run

            @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
            def meet(*args: Any) -> int:
                both.wait()
                return int(run(*args))

            model._run = meet
            identity = np.eye(96, dtype=np.float32)
            threads = [threading.Thread(target=model, args=(identity, identity)) for _ in range(2)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            self.assertFalse(both.broken)

    def test_fork(self) -> None:
        if not hasattr(os, "fork"):
            self.skipTest("there is no fork")
        identity = np.eye(96, dtype=np.float32)
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if np.array_equal(self.product(identity, identity), identity) else 1)
            finally:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        np.testing.assert_array_equal(self.product(identity, identity), identity)

    # ---- What is refused ----

    def test_arguments(self) -> None:
        a = np.zeros((96, 96), np.float32)
        self.refused('input "b" is missing: expected float32 of shape (96, 96)', self.product, a)
        self.refused("at most 2 inputs, found 3", self.product, a, a, a)
        self.refused('no input is named "c": expected a, b', self.product, a, a, c=a)
        self.refused('input "a" is given twice', self.product, a, a=a)
        self.refused('no input is named "bb", did you mean "b": expected a, b', self.product, a, bb=a)
        self.refused('input "a": expected float32, found float64', self.product, a.astype(np.float64), a)
        self.refused('input "a": expected float32, found >f4', self.product, a.astype(">f4"), a)
        self.refused('input "b": expected shape (96, 96), found (96,)', self.product, a, a[0])
        self.refused('input "a": expected float32, found <U2', self.product, "no", a)
        self.refused("inputs: expected a mapping of names to arrays, found list", self.product.run, [a, a])
        self.refused("at: expected a mapping of dimensions to sizes, found int", self.product.run, {"a": a, "b": a}, at=2)
        given = self.arguments()
        self.refused("expected int64, found float64", self.mixed.run, {**given, "n": 1.5})
        self.assertEqual(self.mixed.run({**given, "n": 7})["m"], -7)

    def test_value_of_an_input(self) -> None:
        with tapc.compile(self.at / "table.tap", threads=1) as table:
            t = np.array([1, 2, 3], np.float32)
            np.testing.assert_array_equal(table.run({"i": np.array([2, 0], np.int32), "t": t})["y"], [3, 1])
            error = self.refused("input i: index 3 at [1] is out of range: expected 0 to 2", table.run, {"i": np.array([2, 3], np.int32), "t": t},
                                 kind=tapc.InputError)
            self.assertIsNone(error.code)

    def test_sizes(self) -> None:
        (self.at / "added.onnx").write_bytes(added())
        with tapc.compile(self.at / "added.onnx", dims={"n": np.array([1, 3]), "m": "2,4"}) as model:
            self.assertEqual([tuple(v.at.values()) for v in model.versions], [(1, 2), (1, 4), (3, 2), (3, 4)])
            self.assertEqual(list(model.versions[-1].at), ["n", "m"])
            self.assertEqual((model.inputs, model.outputs), (model.versions[-1].inputs, model.versions[-1].outputs))
            for v in model.versions:
                n, m = v.at.values()
                x, b = np.arange(n * m, dtype=np.float32).reshape(n, m), np.arange(m, dtype=np.float32) * 10
                self.assertEqual((v.inputs[0].nbytes, v.outputs[0].shape), (x.nbytes, (n, m)))
                out = np.zeros((n, m), np.float32)
                self.assertIs(model(x, b, out=out), out)
                np.testing.assert_array_equal(out, x + b)
                np.testing.assert_array_equal(model.run({"x": x.tolist(), "b": b}, at={"m": m})["y"], x + b)
            x, b = np.zeros((3, 2), np.float32), np.zeros(4, np.float32)
            self.refused('input "x": expected shape (1, 2) or (1, 4) or (3, 2) or (3, 4), found (2, 2)', model, x[:2], b)
            self.refused('input "b": expected shape (2,), found (4,)', model, x, b)
            self.refused('output "y": expected shape (3, 2), found (2, 3)', model, x, b[:2], out=x.reshape(2, 3))
            self.refused('input "x": expected shape (1, 2) or (1, 4), found (3, 2)', model.run, {"x": x, "b": b[:2]}, at={"n": 1})
            self.refused("n: expected 1 or 3, found 2", model.run, {"x": x, "b": b}, at={"n": 2})
            self.refused('no dimension with several sizes is named "k": expected n, m', model.run, {"x": x, "b": b}, at={"k": 2})
        with tapc.compile(self.at / "added.onnx", dims={"n": 2, "m": "1..12"}) as model:
            for m in (1, 7, 12, 7):
                x, b = np.arange(2 * m, dtype=np.float32).reshape(2, m), np.ones(m, np.float32)
                np.testing.assert_array_equal(model(x, b), x + b)
            self.refused('input "x": expected shape (2, 1) or (2, 2) or ... or (2, 12), found (2, 13)', model, np.zeros((2, 13), np.float32), np.zeros(13, np.float32))
        self.assertEqual([dict(v.at) for v in self.product.versions], [{}])
        self.refused("expected none", self.product.run, {"a": np.zeros((96, 96), np.float32), "b": np.zeros((96, 96), np.float32)}, at={"n": 2})

    def test_shared_memory(self) -> None:
        (self.at / "cache.onnx").write_bytes(cache())
        with tapc.compile(self.at / "cache.onnx", dims={"n": "0..3", "m": 2, "k": 1}, flags=["--alias", "past=present,0=8"]) as model:
            room = model.room("past")
            self.assertEqual((room.shape, model.inputs[0].room, model.outputs[0].shares), ((8, 2), (8, 2), "past"))
            for n in range(4):
                out = model.run({"past": room[:n], "row": np.array([[n, n + 1]], np.float32)})
                self.assertTrue(np.shares_memory(out["present"], room))
                self.assertEqual((out["present"].shape, float(out["last"])), ((n + 1, 2), n + 1))
            np.testing.assert_array_equal(room[:5], [[0, 1], [1, 2], [2, 3], [3, 4], [0, 0]])
            row = np.zeros((1, 2), np.float32)
            for bad in (np.zeros((3, 2), np.float32), room[1:4], room[:6:2], [[1, 2]], room[::-1][:3]):
                self.refused('input "past": expected', model.run, {"past": bad, "row": row})
            self.refused("expected None, as it has the memory", model.run, {"past": room[:1], "row": row}, out={"present": np.zeros((2, 2), np.float32)})
            self.refused('no input that shares memory is named "row": expected past', model.room, "row")

    def test_closed(self) -> None:
        model = tapc.load(self.at / "libproduct.so", threads=1)
        model.close()
        model.close()
        a = np.zeros((96, 96), np.float32)
        self.refused("is closed", model, a, a)

    def test_load(self) -> None:
        self.refused("no such file", tapc.load, self.at / "none.so", kind=tapc.LoadError)
        self.refused("invalid ELF header", tapc.load, self.at / "product.tap", kind=tapc.LoadError)
        self.refused("threads: expected", tapc.load, self.at / "libproduct.so", threads=1 << 20, kind=tapc.RunError)
        for wrong in (-1, 1 << 31, (1 << 32) + 1, 1.5, "2"):
            self.refused("threads: expected a number from 0 to", tapc.load, self.at / "libproduct.so", threads=wrong)
        whole = (self.at / "libproduct.so").read_bytes()
        for n in (5000, len(whole) // 3):  # the system would end this process
            (self.at / "cut.so").write_bytes(whole[:n])
            self.refused("is truncated", tapc.load, self.at / "cut.so", kind=tapc.LoadError)
        self.refused("pin: expected a core for each of 600 threads", tapc.load, self.at / "libproduct.so", threads=600, instances=2, pin=True, kind=tapc.RunError)
        if hasattr(os, "sched_getaffinity"):
            cpus = os.sched_getaffinity(0)
            self.refused("pin: expected a core for each of 1000 threads", tapc.load, self.at / "libproduct.so", threads=1000, pin=True, kind=tapc.RunError)
            with tapc.load(self.at / "libproduct.so", threads=1, pin=True) as model:
                model(np.zeros((96, 96), np.float32), np.zeros((96, 96), np.float32))
            self.assertEqual(os.sched_getaffinity(0), cpus)
        self.refused("instances: expected a number from 1 to 2147483647, found 0", tapc.load, self.at / "libproduct.so", instances=0)
        for name, abi, text in (("tapc_library_of", 2, "has version 2 of the library interface: expected version 1"),
                                ("other", 1, "is no library of tapc's")):
            (self.at / "other.c").write_text(OTHER % (abi, name))
            library = self.at / f"other{abi}.so"
            subprocess.run(["cc", "-shared", "-fPIC", str(self.at / "other.c"), "-o", str(library)], check=True)
            self.refused(text, tapc.load, library, kind=tapc.LoadError)

    def test_weights(self) -> None:
        (self.at / "scale.tap").write_text(SCALE)
        self.assertEqual(tapc.compile(self.at / "scale.tap", flags=["--weights=file"])([2, 3]).tolist(), [2, 6])
        library = self.at / "libscale.so"
        tapc.compile(self.at / "scale.tap", output=library, flags=["--weights=file"]).close()
        weights = self.at / "libscale.so.weights"
        data = weights.read_bytes()
        weights.write_bytes(b"X" + data[1:])
        self.refused("libscale.so.weights: it is damaged", tapc.load, library, kind=tapc.RunError)
        weights.unlink()
        self.refused("No such file or directory", tapc.load, library, kind=tapc.RunError)
        os.mkfifo(weights)  # which nobody writes
        self.refused("it does not belong to this program", tapc.load, library, kind=tapc.RunError)
        weights.unlink()
        weights.write_bytes(data)
        model = tapc.load(library)
        self.assertEqual(model([2, 3]).tolist(), [2, 6])
        (self.at / "scale.tap").write_text(SCALE.replace("[1, 2]", "[1, 7]"))
        self.refused("was written anew while it is loaded", tapc.compile, self.at / "scale.tap", output=library, kind=tapc.LoadError)
        model.close()
        self.assertEqual(tapc.load(library)([2, 3]).tolist(), [2, 21])

    def test_compile(self) -> None:
        (self.at / "bad.tap").write_text(MIXED.replace("%y = tensor float32 [0:4, 0:3]", "%y = tensor float32 [0:4, 0:2]"))
        error = self.refused("bad.tap:11:1: TAP0602: ", tapc.compile, self.at / "bad.tap", kind=tapc.CompileError)
        self.assertEqual((error.code, error.status, error.diagnostics[0]["location"]["line"]), ("TAP0602", 1, 11))
        self.assertEqual(pickle.loads(pickle.dumps(error)).code, "TAP0602")
        error = self.refused("no such file", tapc.compile, self.at / "none.tap", kind=tapc.CompileError)
        self.assertEqual(error.code, "TAP0868")
        self.refused("flags: expected a list of flags, such as ['--fast-math'], found a text", tapc.compile, self.at / "mixed.tap", flags="--fast-math")
        self.refused("dims: expected a mapping of names to sizes, found list", tapc.compile, self.at / "mixed.tap", dims=[1])
        self.refused("dims: expected a size, or sizes, found 2.5", tapc.compile, self.at / "mixed.tap", dims={"batch": 2.5})
        self.refused("zork", tapc.compile, self.at / "mixed.tap", dims={"batch": [1, 8]}, flags=["--zork"], kind=tapc.CompileError)
        before = os.environ.get("TAPC")
        os.environ["TAPC"] = str(self.at / "tapc")
        try:
            self.refused("there is no such program", tapc.find, kind=tapc.LoadError)
        finally:
            os.environ.pop("TAPC")
            if before is not None:
                os.environ["TAPC"] = before


if __name__ == "__main__":
    print("Python", sys.version.split()[0], "NumPy", np.__version__)
    unittest.main()
