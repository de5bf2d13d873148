"""What each op of a graph depends on, from its row alone: a data input of the model, and the dtype the model is put in.

A program that depends on neither is the same at every shape, or in every dtype. The second is a likely reading, not
proven: parameters, and inputs and buffers that give floats, are taken to follow the model's dtype, and so does what is
computed from them, until a call names its dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Reads(NamedTuple):
    """One op: the ops that it reads from, whether it reads a data input, or any tensor of the model, whether it returns
    floats, and whether it names their dtype itself."""

    ops: Sequence[int]
    reads_input: bool
    reads_tensor: bool
    is_float: bool
    is_cast: bool


class Dependence:
    """Follows a graph's ops in order."""

    def __init__(self) -> None:
        self._on_input: list[bool] = []
        self._on_dtype: list[bool] = []

    def add(self, op: Reads) -> tuple[bool, bool]:
        """Return whether the next op depends on a data input, and whether on the dtype that the model is put in."""
        on_input = op.reads_input or any([self._on_input[index] for index in op.ops])
        on_dtype = (op.reads_tensor and op.is_float) or any([self._on_dtype[index] for index in op.ops])
        self._on_input.append(on_input)
        self._on_dtype.append(on_dtype and op.is_float and not op.is_cast)
        return on_input, on_dtype
