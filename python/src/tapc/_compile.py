"""From a model to a library: the program tapc."""

from __future__ import annotations

import json
import operator
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional, SupportsIndex, Union

from ._errors import ArgumentError, CompileError, LoadError
from ._model import Model, load

StrPath = Union[str, "os.PathLike[str]"]
Size = Union[SupportsIndex, str, Iterable[SupportsIndex]]


def find() -> str:
    """Give the path of the program tapc: what the environment variable TAPC says, else on the PATH, beside Python, or in the clone."""
    named = os.environ.get("TAPC")
    if named:
        found = shutil.which(named)
        if not found:
            raise LoadError(f"TAPC={named}: there is no such program")
        return found
    clone = Path(__file__).resolve().parents[3]
    for folder in (None, os.path.dirname(sys.executable), str(clone)):
        found = shutil.which("tapc", path=folder)
        if found:
            return found
    raise LoadError("the program tapc is not on the PATH: name it in the environment variable TAPC, or build it with "
                    '"go build ./cmd/tapc" in a clone')


def compile(model: StrPath, dims: Optional[Mapping[str, Size]] = None, *, output: Optional[StrPath] = None, flags: Sequence[str] = (),
            threads: int = 0, instances: int = 1, pin: bool = False) -> Model:
    """Compile a model's file to a library and load it.

    dims are the sizes of symbolic dimensions by name. The library is kept as the file output, with its header beside it, or else only as long as
    it is loaded. flags are further ones of ``tapc build``. threads, instances and pin are those of ``load``.
    """
    if isinstance(flags, str):
        raise ArgumentError(f"flags: expected a list of flags, such as [{flags!r}], found a text")
    if dims is not None and not isinstance(dims, Mapping):
        raise ArgumentError(f"dims: expected a mapping of names to sizes, found {type(dims).__name__}")
    command = [find(), "build", os.fspath(model), "--emit=lib", "--diagnostics=json"]
    for name, size in (dims or {}).items():
        command += ["--dim", f"{name}={_size_text(size)}"]
    command += flags
    if output is not None:
        _build(command, os.fspath(output))
        return load(output, threads=threads, instances=instances, pin=pin)
    with tempfile.TemporaryDirectory(prefix="tapc-") as folder:
        path = os.path.join(folder, "libmodel.so")
        _build(command, path)
        return load(path, threads=threads, instances=instances, pin=pin)  # which stays mapped without its name


def _size_text(size: Size) -> str:
    if isinstance(size, str):
        return size
    try:
        sizes = size if isinstance(size, Iterable) else [size]
        return ",".join(str(operator.index(n)) for n in sizes)
    except TypeError:
        raise ArgumentError(f"dims: expected a size, or sizes, found {size!r}") from None


def _build(command: list[str], output: str) -> None:
    done = subprocess.run([*command, "-o", output], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    if done.returncode == 0:
        return
    text = done.stderr.decode(errors="replace").strip()
    found = _diagnostics(text)
    raise CompileError("\n".join(_line(d) for d in found) or text or f"tapc ended with status {done.returncode}", done.returncode, found)


def _diagnostics(text: str) -> list[dict[str, Any]]:
    start = text.find('{"diagnostics":')
    try:
        found = json.loads(text[start:])["diagnostics"] if start >= 0 else []
    except (ValueError, KeyError):
        return []
    return [d for d in found if isinstance(d, dict)]


def _line(d: dict[str, Any]) -> str:
    """Write one finding as tapc does."""
    at = d.get("location") or {}
    where = ":".join(str(at[k]) for k in ("file", "line", "column") if at.get(k))
    text = f"{where}: " if where else ""
    text += f"{d['code']}: " if d.get("code") else ""
    text += str(d.get("message", ""))
    if d.get("expected") or d.get("found"):
        text += f" (expected {d.get('expected')}, found {d.get('found')})"
    return text
