"""A library that is loaded."""

from __future__ import annotations

import _ctypes
import ctypes
import difflib
import functools
import json
import math
import operator
import os
import struct
import threading
import weakref
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional, Union

import numpy as np

from ._errors import ArgumentError, Error, InputError, LoadError, RunError

ABI = 1  # TAPC_ABI, the version of the interface that is written here
_ERROR_BYTES = 2048

# How elements are stored that NumPy has no type for: what it calls numbers of as many bytes.
_STORED = {"bfloat16": "uint16", "int4": "int8", "int2": "int8", "uint4": "uint8", "uint2": "uint8"}
_NUMPY = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
          "complex64", "complex128"}

Out = Union[Any, Sequence[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Tensor:
    """An input or output of a model."""

    name: str
    dtype: str  # as tapc calls it
    shape: tuple[int, ...]
    nbytes: int  # of its memory
    room: Optional[tuple[int, ...]] = None  # the shape of the memory that an input and an output share; both lie at its start
    shares: Optional[str] = None  # the name of the one that it shares memory with

    @functools.cached_property
    def numpy(self) -> "np.dtype[Any]":
        """The type of arrays that hold it: of its bits, where NumPy has no such type (uint16 for bfloat16)."""
        if self.dtype in _NUMPY:
            return np.dtype(self.dtype)
        if self.dtype == "boolean":
            return np.dtype(np.bool_)
        if self.dtype in _STORED:
            return np.dtype(_STORED[self.dtype])
        if self.dtype.startswith("float"):  # of 8 bits and less
            return np.dtype(np.uint8)
        raise LoadError(f'"{self.name}" has the unknown type {self.dtype}')

    @functools.cached_property
    def _steps(self) -> tuple[int, ...]:
        """The bytes from an element of shared memory to the next, along each dimension."""
        steps, step = [], self.numpy.itemsize
        for n in reversed(self.room or ()):
            steps.append(step)
            step *= n
        return tuple(reversed(steps))


@dataclass(frozen=True)
class Version:
    """What a model has for one size of each of its dimensions."""

    at: Mapping[str, int]  # the size of each dimension; none of a model that has one size
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]

    @functools.cached_property
    def _sizes(self) -> Any:
        """The sizes as C has them, none of a model that has one size."""
        return (ctypes.c_int64 * len(self.at))(*self.at.values()) if self.at else None


class _Table(ctypes.Structure):
    """struct tapc_library of tapc_library.h."""

    _fields_ = [("abi", ctypes.c_int), ("bytes", ctypes.c_size_t), ("name", ctypes.c_char_p), ("description", ctypes.c_char_p),
                ("create", ctypes.c_void_p), ("run", ctypes.c_void_p), ("destroy", ctypes.c_void_p), ("run_at", ctypes.c_void_p),
                ("pin", ctypes.c_void_p)]


# Functions of these types are called without Python's lock.
_CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
_RUN_AT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t)
_PIN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
_DESTROY = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _table_of(path: str) -> tuple[int, _Table]:
    """Load a library and give its handle and its table."""
    try:
        _whole(path)
        library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as e:
        raise LoadError(str(e)) from None
    try:
        table_of = library.tapc_library_of
    except AttributeError:
        raise LoadError(f"{path} is no library of tapc's, or of a version before its interface had a number") from None
    table_of.restype = ctypes.POINTER(_Table)
    table = table_of().contents
    if table.abi != ABI:
        raise LoadError(f"{path} has version {table.abi} of the library interface: expected version {ABI}")
    return library._handle, table


def _whole(path: str) -> None:
    """Refuse an ELF file that is truncated, of which the system would map pages that are not there, and end the process for it."""
    with open(path, "rb") as f:
        size, head = os.fstat(f.fileno()).st_size, f.read(64)
        if head[:6] != b"\x7fELF\x02\x01" or len(head) < 64:  # the system refuses what is no such file
            return
        (begin,), (entry, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        if begin + entry * count > size or entry < 56:
            raise LoadError(f"{path} is truncated or damaged")
        f.seek(begin)
        headers = f.read(entry * count)
    for i in range(count):
        (at,), (length,) = struct.unpack_from("<Q", headers, i * entry + 8), struct.unpack_from("<Q", headers, i * entry + 32)
        if at + length > size:
            raise LoadError(f"{path} is truncated: expected at least {at + length} bytes, found {size}")


class Model:
    """A library that is loaded. Any thread may call it.

    A run takes one of the model's instances, and waits where all are busy. An instance has threads and scratch memory of its own.
    versions are what it has for each size of its dimensions, ascending; inputs and outputs are those of the last, the greatest.
    """

    _closed: bool

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, threads: int = 0, instances: int = 1, pin: bool = False) -> None:
        threads, instances = _count(threads, "threads", 0), _count(instances, "instances", 1)
        self.path = os.path.abspath(os.fspath(path))
        if not os.path.exists(self.path):
            raise LoadError(f"{self.path}: no such file")
        status = os.stat(self.path)
        self._file = (status.st_dev, status.st_ino, status.st_mtime_ns)
        if any(m.path == self.path and m._file != self._file for m in _models if not m._closed):  # which the system would give again
            raise LoadError(f"{self.path} was written anew while it is loaded: expected that its models are closed first, or another name")
        self._handle, table = _table_of(self.path)
        self._create, self._run, self._destroy = _CREATE(table.create), _RUN(table.run), _DESTROY(table.destroy)
        try:
            self.description: dict[str, Any] = json.loads(table.description)
            self.name: str = self.description["program"]
            self.inputs, self.outputs = (tuple(_described(t) for t in self.description[k]) for k in ("inputs", "outputs"))
            self.versions: tuple[Version, ...] = _versions(self.description, self.inputs, self.outputs)
            self._found = {tuple(t.shape for t in v.inputs): v for v in self.versions}  # the greatest, by the shapes of inputs
        except (ValueError, KeyError, TypeError) as e:
            raise LoadError(f"{self.path}: its description can not be read: {e!r}") from None
        if self.versions[-1].at:
            if table.bytes < _Table.pin.offset:
                raise LoadError(f"{self.path} has several sizes and no function for them")
            self._run_at = _RUN_AT(table.run_at)
        if pin and table.bytes < ctypes.sizeof(_Table):
            raise LoadError(f"{self.path} has no function that binds threads to cores: expected one that this version of tapc built")
        self._pin = _PIN(table.pin) if pin else None
        for tensor in self.inputs + self.outputs:
            tensor.numpy  # refuses a type that is not known
        self._names = dict.fromkeys(t.name for t in self.inputs)
        self._threads, self._limit = threads, instances
        self._closed = False
        self._begin()
        _models.add(self)
        made: list[int] = []
        try:  # now it is known that there is one, and the memory for it; and the cores for all
            for _ in range(instances if pin else 1):
                made.append(self._take())
        finally:
            for instance in made:
                self._give(instance)

    # ---- Running ----

    def room(self, name: str) -> "np.ndarray[Any, Any]":
        """Give memory for an input that shares it with an output, of zeros.

        What a run takes is a view from its start on, such as room[:, :, :n]; what it gives for the output is another view of the same memory.
        """
        for t in self.inputs:
            if t.name == name and t.room is not None:
                return np.zeros(t.room, t.numpy)
        names = [t.name for t in self.inputs if t.room is not None]
        raise ArgumentError(f'no input that shares memory is named "{name}"{_expected(name, names)}')

    def __call__(self, *args: Any, out: Optional[Out] = None, **kwargs: Any) -> Any:
        """Run on inputs, in order or by name, and give the output, or a tuple of all if there are several.

        out is where outputs are to be written: an array, a sequence of arrays and None in order, or a mapping of names to arrays.
        """
        if len(args) > len(self.inputs):
            raise ArgumentError(f"expected at most {len(self.inputs)} inputs, found {len(args)}")
        given = dict(zip((t.name for t in self.inputs), args))
        for name, value in kwargs.items():
            if name in given:
                raise ArgumentError(f'input "{name}" is given twice')
            given[name] = value
        results = self.run(given, out=out)
        return next(iter(results.values())) if len(results) == 1 else tuple(results.values())

    def run(self, inputs: Mapping[str, Any], *, out: Optional[Out] = None, at: Optional[Mapping[str, int]] = None) -> dict[str, "np.ndarray[Any, Any]"]:
        """Run on inputs by name and give the outputs by name.

        at are sizes of dimensions. Where they and the inputs' shapes leave several, it is the greatest.
        """
        arrays, memories = self._given_inputs(inputs)
        if at is not None and not isinstance(at, Mapping):
            raise ArgumentError(f"at: expected a mapping of dimensions to sizes, found {type(at).__name__}")
        version = self._version(arrays, at or {})
        results: dict[str, Any] = {}
        moved: list[tuple[Any, Any]] = []  # outputs, and the arrays from which they are copied
        buffers: list[Any] = []  # None for what C finds where the input is
        for t, array in zip(version.outputs, self._given_outputs(out)):
            if t.shares is not None:
                if array is not None:
                    raise ArgumentError(f'output "{t.name}": expected None, as it has the memory of input "{t.shares}"')
                results[t.name] = np.ndarray(t.shape, t.numpy, *memories[t.shares], t._steps)
                buffers.append(None)
                continue
            buffer = result = np.empty(t.shape, t.numpy) if array is None else _output_array(t, array)
            if not result.flags.c_contiguous or not result.flags.aligned:
                buffer = np.empty(t.shape, t.numpy)
                moved.append((result, buffer))
            results[t.name] = array if isinstance(array, np.ndarray) else result
            buffers.append(buffer)
        self._call(version, arrays, buffers)
        for result, buffer in moved:
            result[...] = buffer
        return results

    def _given_inputs(self, inputs: Mapping[str, Any]) -> tuple[list[Any], dict[str, tuple[Any, int]]]:
        """Give the arrays of inputs in order, and of those that share memory the array that owns it and where in it they begin."""
        _known(inputs, self._names, "input")
        arrays, memories = [], {}
        for t in self.inputs:
            if t.name not in inputs:
                raise ArgumentError(f'input "{t.name}" is missing: expected {t.dtype} of shape {t.shape}')
            if t.room is None:
                arrays.append(_input_array(t, inputs[t.name]))
                continue
            array, owner, begin = _shared_array(t, inputs[t.name])
            arrays.append(array)
            memories[t.name] = owner, begin
        return arrays, memories

    def _version(self, arrays: list[Any], at: Mapping[str, int]) -> Version:
        """Give the greatest version of some sizes that takes the arrays."""
        shapes = tuple(a.shape for a in arrays)
        if not at and shapes in self._found:
            return self._found[shapes]
        left = self.versions
        for name, size in at.items():
            if name not in left[-1].at:
                raise ArgumentError(f'no dimension with several sizes is named "{name}"{_expected(name, left[-1].at)}')
            found = tuple(v for v in left if v.at[name] == size)
            if not found:
                raise ArgumentError(f"{name}: expected {_either(str(v.at[name]) for v in left)}, found {size}")
            left = found
        for i, array in enumerate(arrays):
            found = tuple(v for v in left if v.inputs[i].shape == array.shape)
            if not found:
                expected = _either(str(v.inputs[i].shape) for v in left)
                raise ArgumentError(f'input "{self.inputs[i].name}": expected shape {expected}, found {array.shape}')
            left = found
        return left[-1]

    def _given_outputs(self, out: Optional[Out]) -> list[Any]:
        if out is None:
            return [None] * len(self.outputs)
        if isinstance(out, Mapping):
            _known(out, [t.name for t in self.outputs], "output")
            return [out.get(t.name) for t in self.outputs]
        if not isinstance(out, (list, tuple)):
            out = [out]
        if len(out) != len(self.outputs):
            raise ArgumentError(f"out: expected {len(self.outputs)} arrays, found {len(out)}")
        return list(out)

    def _call(self, version: Version, inputs: list[Any], outputs: list[Any]) -> None:
        ins = (ctypes.c_void_p * max(1, len(inputs)))(*(a.ctypes.data for a in inputs))
        outs = (ctypes.c_void_p * max(1, len(outputs)))(*(None if a is None else a.ctypes.data for a in outputs))
        text = ctypes.create_string_buffer(_ERROR_BYTES)
        instance = self._take()
        try:
            if version.at:
                status = self._run_at(instance, version._sizes, ins, outs, text, _ERROR_BYTES)
            else:
                status = self._run(instance, ins, outs, text, _ERROR_BYTES)
        finally:
            self._give(instance)
        if status:
            kind: type[Error] = {1: InputError, 2: ArgumentError}.get(status, RunError)
            raise kind(text.value.decode(errors="replace"))

    # ---- Instances ----

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._idle: list[int] = []
        self._made = 0

    def _take(self) -> int:
        with self._changed:
            while not self._closed and not self._idle and self._made == self._limit:
                self._changed.wait()
            if self._closed:
                raise ArgumentError(f"{self.path} is closed")
            if self._idle:
                return self._idle.pop()
            place = self._made
            self._made += 1
        instance = None
        try:
            text = ctypes.create_string_buffer(_ERROR_BYTES)
            instance = self._create(self._threads, text, _ERROR_BYTES)
            if instance and self._pin and self._pin(instance, place, text, _ERROR_BYTES):
                self._destroy(instance)
                instance = None
            if instance:
                return int(instance)
        finally:
            if not instance:
                with self._changed:
                    self._made -= 1
                    self._changed.notify()
        raise RunError(text.value.decode(errors="replace"))

    def _give(self, instance: int) -> None:
        with self._changed:
            self._idle.append(instance)
            self._changed.notify_all()

    def close(self) -> None:
        """End the threads, free the memory and unload the library, once no run is in progress. The model can not be called afterwards."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            while len(self._idle) < self._made:
                self._changed.wait()
            idle, self._idle, self._made = self._idle, [], 0
        for instance in idle:
            self._destroy(instance)
        if self._handle:
            handle, self._handle = self._handle, 0
            _ctypes.dlclose(handle)

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_made"):
            self.close()

    def __repr__(self) -> str:
        def texts(tensors: tuple[Tensor, ...]) -> str:
            return ", ".join(f"{t.name}: {t.dtype}{list(t.shape)}" for t in tensors)

        return f"<tapc.Model {self.name} ({texts(self.inputs)}) -> ({texts(self.outputs)})>"


_models: "weakref.WeakSet[Model]" = weakref.WeakSet()


def _forked() -> None:
    """A process that was forked off has no threads of instances, and perhaps locks that nobody will give back."""
    for model in _models:
        model._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


def load(path: Union[str, "os.PathLike[str]"], *, threads: int = 0, instances: int = 1, pin: bool = False) -> Model:
    """Load a library that tapc built (``tapc build --emit=lib``).

    threads are those of an instance, 0 one for each core. instances are how many runs can be in progress at the same time.
    pin binds each thread of each instance to a core of its own, and who calls a run while it lasts; RunError where there are fewer cores.
    """
    return Model(path, threads=threads, instances=instances, pin=pin)


def _described(t: dict[str, Any]) -> Tensor:
    """Give the tensor of a description."""
    return Tensor(t["name"], t["dtype"], tuple(t["shape"]), t["bytes"], tuple(t["room"]) if "room" in t else None, t.get("shares"))


def _versions(description: dict[str, Any], inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]) -> tuple[Version, ...]:
    """Give those that a description lists, or the one that it is of."""
    def shaped(tensors: tuple[Tensor, ...], shapes: list[list[int]]) -> tuple[Tensor, ...]:
        return tuple(replace(t, shape=tuple(s), nbytes=t.numpy.itemsize * math.prod(t.room or s)) for t, s in zip(tensors, shapes))

    if not description.get("sizes"):
        return (Version({}, inputs, outputs),)
    names = [d["name"] for d in description["dims"]]
    return tuple(Version(dict(zip(names, v["at"])), shaped(inputs, v["inputs"]), shaped(outputs, v["outputs"])) for v in description["sizes"])


def _either(texts: Iterable[str]) -> str:
    """Write texts, each once; of many the first and the last."""
    each = list(dict.fromkeys(texts))
    if len(each) > 8:
        each[2:-1] = ["..."]
    return " or ".join(each)


# ---- Arrays ----


def _count(value: Any, name: str, least: int) -> int:
    """Give a number of threads or instances, which C has as an int."""
    if not hasattr(value, "__index__") or not least <= operator.index(value) < 1 << 31:
        raise ArgumentError(f"{name}: expected a number from {least} to {(1 << 31) - 1}, found {value!r}")
    return operator.index(value)


def _known(given: Mapping[str, Any], names: Collection[str], kind: str) -> None:
    if not isinstance(given, Mapping):
        raise ArgumentError(f"{kind}s: expected a mapping of names to arrays, found {type(given).__name__}")
    for name in given:
        if name not in names:
            raise ArgumentError(f'no {kind} is named "{name}"{_expected(name, names)}')


def _expected(name: str, names: Iterable[str]) -> str:
    """Write which names there are, and the nearest first."""
    names = list(names)
    near = difflib.get_close_matches(name, names, 1)
    return (f', did you mean "{near[0]}"' if near else "") + f': expected {", ".join(names[:12]) or "none"}' + (", ..." if len(names) > 12 else "")


def _input_array(tensor: Tensor, value: Any) -> "np.ndarray[Any, Any]":
    """Give the array of an input: the one that was given, where its elements are in order, else a copy."""
    if type(value) is np.ndarray and value.dtype == tensor.numpy and value.flags.c_contiguous and value.flags.aligned:
        return value
    about = f'input "{tensor.name}"'
    array = _array(value, about)
    if array is None:
        try:
            array = np.asarray(value)
            if array.dtype.kind in "biufc" and "biufc".find(array.dtype.kind.replace("u", "i")) <= "biufc".find(tensor.numpy.kind.replace("u", "i")):
                array = np.asarray(value, dtype=tensor.numpy)
        except (OverflowError, TypeError, ValueError) as e:
            raise ArgumentError(f"{about}: {e}") from None
    return np.require(_typed(array, tensor, about), requirements=["C", "A"])


def _shared_array(tensor: Tensor, value: Any) -> tuple["np.ndarray[Any, Any]", "np.ndarray[Any, Any]", int]:
    """Give the array of an input that shares memory, which must be the start of the memory, the array that owns that, and where it begins there, in bytes."""
    about = f'input "{tensor.name}"'
    if not isinstance(value, np.ndarray) or not value.flags.writeable or not value.flags.aligned:
        raise ArgumentError(f"{about}: expected an array that can be written, such as a part of model.room({tensor.name!r}), found {type(value).__name__}")
    array = _typed(value, tensor, about)
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    begin = 0 if array is owner else array.ctypes.data - owner.ctypes.data
    fits = array.strides == tensor._steps or array.ndim == len(tensor._steps) and all(
        n <= 1 or step == s for n, step, s in zip(array.shape, array.strides, tensor._steps))
    if not fits or not owner.flags.c_contiguous or not 0 <= begin <= owner.nbytes - tensor.nbytes:
        raise ArgumentError(f"{about}: expected a part, from the start on, of an array of shape {tensor.room}, such as model.room({tensor.name!r})")
    return array, owner, begin


def _output_array(tensor: Tensor, value: Any) -> "np.ndarray[Any, Any]":
    about = f'output "{tensor.name}"'
    array = _array(value, about)
    if array is None:
        raise ArgumentError(f"{about}: expected an array, found {type(value).__name__}")
    if not array.flags.writeable:
        raise ArgumentError(f"{about}: expected an array that can be written, found one that can not")
    array = _typed(array, tensor, about)
    if array.shape != tensor.shape:
        raise ArgumentError(f"{about}: expected shape {tensor.shape}, found {array.shape}")
    return array


def _array(value: Any, about: str) -> Optional["np.ndarray[Any, Any]"]:
    """Give an array without a copy, or None for what is no array."""
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError, ValueError) as e:
            raise ArgumentError(f"{about}: DLPack: {e}") from None
    return None


def _typed(array: "np.ndarray[Any, Any]", tensor: Tensor, about: str) -> "np.ndarray[Any, Any]":
    if array.dtype != tensor.numpy:
        if tensor.numpy.name == tensor.dtype or array.dtype.name != tensor.dtype or array.dtype.itemsize != tensor.numpy.itemsize:
            raise ArgumentError(f"{about}: expected {tensor.dtype}, found {array.dtype if array.dtype.isnative else array.dtype.str}")
        array = array.view(tensor.numpy)  # a package's type of this name, such as ml_dtypes' bfloat16
    return array
