"""Compile tensor programs with tapc, and run them on NumPy arrays.

``compile`` makes a library of a model and loads it, ``load`` loads one that is there; both give a ``Model``, which is called with arrays.
What fails is an ``Error``, whose ``code`` is tapc's where it has one.
"""

from ._compile import compile, find
from ._errors import ArgumentError, CompileError, Error, InputError, LoadError, RunError
from ._model import Model, Tensor, Version, load

__version__ = "0.1.0"
__all__ = ["ArgumentError", "CompileError", "Error", "InputError", "LoadError", "Model", "RunError", "Tensor", "Version", "compile",
           "find", "load"]
