"""What submissions that compute nothing reach: zeros, ones, each output's own mean, an operand of its shape and dtype.

A submission passes at a tolerance level where all outputs do. Its level over several draws of operands is the smallest,
so that on later draws whole outputs are compared only where a sample of their elements leaves room for less: no sample
is harder to pass than the whole. Costs some 75 ns for each element of the first draw's outputs and submission.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import torch

from profiles.comparison import MIN_LEVEL, compare

_SAMPLE: Final = 4096  # elements of an output


@dataclass(slots=True)
class NullLevels:
    """The smallest level of each submission on the draws seen so far; None: none passes."""

    zeros: int | None = None
    ones: int | None = None
    mean: int | None = None
    identity: int | None = None

    def add(self, outputs: Sequence[torch.Tensor], operands: Iterable[torch.Tensor]) -> None:
        """Take in one draw: what the program returned, and its operands before it ran."""
        self.zeros = _lower(self.zeros, outputs, [_filled(output, 0) for output in outputs])
        self.ones = _lower(self.ones, outputs, [_filled(output, 1) for output in outputs])
        self.mean = _lower(self.mean, outputs, [_filled(output, _mean(output)) for output in outputs])
        self.identity = _lower_identity(self.identity, outputs, list(operands))


def sample(tensor: torch.Tensor) -> torch.Tensor:
    """Return some elements of a tensor, spread evenly; those of equal shapes at the same places."""
    flat = tensor.detach().reshape(-1)
    return flat[:: max(len(flat) // _SAMPLE, 1)]


def _lower(best: int | None, outputs: Sequence[torch.Tensor], submitted: Sequence[torch.Tensor]) -> int | None:
    """Return the level of what is submitted where that is less than `best`, else `best`."""
    if not _is_less(_level([*map(sample, outputs)], [*map(sample, submitted)]), best):
        return best
    level = _level(outputs, submitted)
    return level if _is_less(level, best) else best


def _lower_identity(best: int | None, outputs: Sequence[torch.Tensor], operands: Sequence[torch.Tensor]) -> int | None:
    """Return the level at which each output has an operand that passes for it where that is less than `best`."""
    worst = MIN_LEVEL
    for output in outputs:
        level = best
        for operand in operands:
            if (operand.shape, operand.dtype) == (output.shape, output.dtype) and level != MIN_LEVEL:
                level = _lower(level, [output], [operand])
        if not _is_less(level, best):
            return best
        worst = max(worst, MIN_LEVEL if level is None else level)
    return worst


def _level(expected: Sequence[torch.Tensor], submitted: Sequence[torch.Tensor]) -> int | None:
    return compare(expected, submitted).tolerance_level


def _is_less(level: int | None, best: int | None) -> bool:
    return level is not None and (best is None or level < best)


def _filled(output: torch.Tensor, value: complex) -> torch.Tensor:
    """Return one value in the shape and dtype of an output; it takes no memory."""
    return torch.tensor(value, dtype=_wide(output)).to(output.dtype).expand(output.shape)


def _mean(output: torch.Tensor) -> complex:
    """Return the mean of an output, rounded where its dtype has whole numbers alone."""
    mean = output.mean(dtype=_wide(output)).item()
    return mean if output.is_floating_point() or output.is_complex() else round(mean)


def _wide(output: torch.Tensor) -> torch.dtype:
    return torch.complex128 if output.is_complex() else torch.float64
