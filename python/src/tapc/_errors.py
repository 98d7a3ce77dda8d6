"""What can go wrong."""

from __future__ import annotations

from typing import Any, Optional, Sequence


class Error(Exception):
    """What all errors of this package have in common: ``code`` is tapc's code for it, such as "TAP0602", or None."""

    code: Optional[str] = None


class ArgumentError(Error, ValueError):
    """What a caller gave does not fit the model: a name, a type, a shape, a buffer."""


class InputError(Error, ValueError):
    """A value in an input is at fault: an index out of range."""


class RunError(Error, RuntimeError):
    """A run failed: there is no memory, or no thread."""


class LoadError(Error, RuntimeError):
    """A file is no library that this package can use."""


class CompileError(Error, RuntimeError):
    """tapc refused a model. ``diagnostics`` are its findings, as ``--diagnostics=json`` has them, and ``status`` is its exit status."""

    def __init__(self, text: str, status: int, diagnostics: Sequence[dict[str, Any]] = ()) -> None:
        super().__init__(text)
        self.status = status
        self.diagnostics = list(diagnostics)
        self.code = next((d["code"] for d in self.diagnostics if d.get("code")), None)

    def __reduce__(self) -> tuple[Any, ...]:
        return CompileError, (str(self), self.status, self.diagnostics)
