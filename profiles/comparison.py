"""What a backend returned against what eager returned: are they alike, and how far apart at most?

Outputs are trees of tensors, numbers, strings and None in sequences (tuple, list and their subclasses are alike) and
mappings (by key, in any order). They are alike where structure, shapes and dtypes are; strides and devices may differ.
Whoever runs programs that write to their operands copies what the first returned before the second runs: tensors that
share memory are equal whatever the second does.

Differences are taken in float64 and complex128. Integers and bools are exact, and so are dtypes that have no tolerance.
Values that are equal, and nan against nan, are 0 apart; nan against a number is infinitely far, as are infinities that
differ. The relative difference is over the expected magnitude: 0 where both are 0, infinite where only that one is.

Tolerance levels are those of the paper, appendix F (`profiles.tolerances`): a value passes at t in [-10, 0] where
its difference is at most atol(t) + rtol(t) x expected magnitude, as in `torch.allclose`: nan never passes, infinities
only their equals. Both grow with t, so that what passes at t passes above it.

Tensors are compared in pieces, which bounds the memory that it takes, whatever their size, strides and overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import torch

from profiles import tolerances
from profiles.tolerances import MAX_LEVEL, MIN_LEVEL, Tolerance, tolerance_of

# Elements of a piece. On a CPU no more than torch computes on one thread, whose temporaries fit in the cache: 72 ns
# an element, 83 with 2 ** 20, ten times that where another process wants the cores (measured). On a GPU enough to
# outweigh launches and waits; a dozen temporaries make 200 MB (not measured).
_PIECE: Final = 1 << 15
_GPU_PIECE: Final = 1 << 21
_WORDS: Final = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_SIGN_BIT: Final = torch.iinfo(torch.int64).min
_INTEGERS: Final = frozenset(
    {torch.bool, torch.int8, torch.int16, torch.int32, torch.int64}
    | {torch.uint8, torch.uint16, torch.uint32, torch.uint64}
)
_FLOAT8: Final = frozenset(
    {torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2, torch.float8_e5m2fnuz, torch.float8_e8m0fnu}
)


TOLERANCES: Final[Mapping[torch.dtype, Tolerance]] = MappingProxyType(
    {getattr(torch, name): slopes for name, slopes in tolerances.TOLERANCES.items()}
)
"""Those of `profiles.tolerances`, by dtype. Other dtypes: 0 at every t."""


def tolerance(dtype: torch.dtype, level: int) -> tuple[float, float]:
    """Return atol(t) and rtol(t) of a dtype; (0, 0) for one that `TOLERANCES` lacks."""
    return tolerance_of(str(dtype).removeprefix("torch."), level)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What was found; all over all outputs, and None where outputs are not alike (`reason`, one line, says how).

    `has_nan`: in what was got. `has_new_inf`: an infinity where the expected value is finite. `bitwise_equal`: the same
    bytes, signs of zero and payloads of nan included. `tolerance_level`: the smallest t at which every value passes;
    None where there is none. Outputs without a single element are equal: differences 0, level -10.
    """

    reason: str | None
    has_nan: bool
    has_new_inf: bool | None = None
    bitwise_equal: bool | None = None
    max_abs_diff: float | None = None
    max_rel_diff: float | None = None
    tolerance_level: int | None = None


def compare(expected: Any, got: Any) -> Comparison:
    """Compare two output trees, on a CPU at about 75 ns for an element, 7 where whole pieces are the same (measured).

    Raises `TypeError` on what is no output: objects of other types, tensors without values (meta, fake) or quantised.
    """
    left, right = list(_leaves(expected, "outputs")), list(_leaves(got, "outputs"))
    reason = _first_unlike(left, right)
    if reason is not None:
        return Comparison(reason, has_nan(got))
    found = _Found()
    for one, other in zip(left, right, strict=True):
        if one.tensor is not None and other.tensor is not None:
            for pieces in _pieces(one.tensor, other.tensor):
                found.add(*pieces)
    return found.comparison()


def has_nan(outputs: Any) -> bool:
    """Tell whether a nan is anywhere in an output tree."""
    tensors = [leaf.tensor for leaf in _leaves(outputs, "outputs") if leaf.tensor is not None]
    return any(bool(_widen(piece).isnan().any()) for tensor in tensors for piece, _ in _pieces(tensor, tensor))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A place in a tree, what must be alike there, and the values there if any."""

    place: str
    form: str
    tensor: torch.Tensor | None = None


class _Found:
    """What pieces compared so far add up to."""

    def __init__(self) -> None:
        self._has_nan = self._has_new_inf = False
        self._is_bitwise_equal = True
        self._max_abs = self._max_rel = 0.0
        self._level: int | None = MIN_LEVEL

    def add(self, expected: torch.Tensor, got: torch.Tensor) -> None:
        """Take in two pieces of one shape and dtype."""
        got = got.to(expected.device)
        is_same = torch.equal(_words(expected), _words(got))
        wide = _widen(got)
        is_nan = bool(wide.isnan().any())
        self._has_nan |= is_nan
        if is_same:
            self._level = None if is_nan else self._level
            return
        self._is_bitwise_equal = False
        wide_expected = _widen(expected)
        self._has_new_inf |= bool((wide.isinf() & wide_expected.isfinite()).any())
        gap, size = _gap(wide_expected, wide), _magnitude(wide_expected, expected.dtype)
        ratio = torch.where(gap == 0, 0.0, gap / size).nan_to_num(math.inf, math.inf)
        self._max_abs = max(self._max_abs, float(gap.max()))
        self._max_rel = max(self._max_rel, float(ratio.max()))
        self._raise_level(gap, size, expected.dtype)

    def _raise_level(self, gap: torch.Tensor, size: torch.Tensor, dtype: torch.dtype) -> None:
        """Go up from the level reached so far to one at which the piece passes too."""
        levels = range(MAX_LEVEL + 1 if self._level is None else self._level, MAX_LEVEL + 1)
        self._level = next((level for level in levels if _passes(gap, size, *tolerance(dtype, level))), None)

    def comparison(self) -> Comparison:
        found = self._has_nan, self._has_new_inf, self._is_bitwise_equal, self._max_abs, self._max_rel, self._level
        return Comparison(None, *found)


def _leaves(tree: Any, place: str) -> Iterator[_Leaf]:
    """Yield the places of a tree, each container before what is in it: the first that differs between two is told."""
    if isinstance(tree, torch.Tensor):
        yield _tensor_leaf(tree, place)
    elif isinstance(tree, Mapping):
        keys = sorted(tree, key=repr)
        yield _Leaf(place, f"a mapping of {keys}")
        for key in keys:
            yield from _leaves(tree[key], f"{place}[{key!r}]")
    elif isinstance(tree, list | tuple):
        yield _Leaf(place, f"a sequence of {len(tree)}")
        for index, element in enumerate(tree):
            yield from _leaves(element, f"{place}[{index}]")
    elif isinstance(tree, bool | int | float | complex):
        yield _number_leaf(tree, place)
    elif tree is None or isinstance(tree, str):
        yield _Leaf(place, repr(tree))
    else:
        raise TypeError(f"{place}: a {type(tree).__name__} is no output that can be compared")


def _tensor_leaf(tensor: torch.Tensor, place: str) -> _Leaf:
    if tensor.is_meta or hasattr(tensor, "fake_mode"):
        raise TypeError(f"{place}: a tensor without values cannot be compared")
    if tensor.dtype not in TOLERANCES and tensor.dtype not in _INTEGERS | _FLOAT8:
        raise TypeError(f"{place}: tensors of {tensor.dtype} cannot be compared")
    form = f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
    if tensor.layout == torch.strided:
        return _Leaf(place, form, tensor.detach())
    return _Leaf(place, f"{form} {tensor.layout}", tensor.detach().to_dense())


def _number_leaf(number: complex, place: str) -> _Leaf:
    name = type(number).__name__
    if isinstance(number, int) and not isinstance(number, bool) and not -(2**63) <= number < 2**63:
        return _Leaf(place, f"{name} {number}")
    dtype = next(
        wide
        for kind, wide in ((bool, torch.bool), (int, torch.int64), (float, torch.float64), (complex, torch.complex128))
        if isinstance(number, kind)
    )
    return _Leaf(place, name, torch.tensor(number, dtype=dtype))


def _first_unlike(expected: Sequence[_Leaf], got: Sequence[_Leaf]) -> str | None:
    for one, other in zip(expected, got, strict=False):  # where one ends first, the form of what it is in differs
        if one.form != other.form:
            return f"{one.place}: {other.form}, expected {one.form}"
    return None


def _pieces(left: torch.Tensor, right: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield views of the same parts of two tensors of one shape, of a piece's elements at most; none of empty ones."""
    num_elements, most = left.numel(), _PIECE if left.is_cpu else _GPU_PIECE
    if 0 < num_elements <= most:
        yield left, right
    elif num_elements:
        axis = max(range(left.dim()), key=left.shape.__getitem__)
        size = max(left.shape[axis] * most // num_elements, 1)
        for pair in zip(left.split(size, axis), right.split(size, axis), strict=True):
            yield from _pieces(*pair)


def _words(piece: torch.Tensor) -> torch.Tensor:
    """Return the bytes of values as integers of their width, by which they are compared without a copy."""
    plain = piece.resolve_conj().resolve_neg()
    plain = torch.view_as_real(plain) if plain.dtype == torch.complex128 else plain
    return plain.view(_WORDS[plain.itemsize])


def _widen(piece: torch.Tensor) -> torch.Tensor:
    """Return the values in float64, complex128 or int64; those of uint64 shifted down by 2 ** 63, which keeps order."""
    if piece.dtype == torch.uint64:
        return piece.view(torch.int64) ^ _SIGN_BIT
    if piece.dtype in _INTEGERS:
        return piece.to(torch.int64)
    return piece.to(torch.complex128 if piece.is_complex() else torch.float64)


def _gap(expected: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """Return how far widened values are apart, in float64; never nan, and 0 for integers that are equal alone."""
    if expected.dtype == torch.int64:
        return _unsigned(torch.maximum(expected, got) - torch.minimum(expected, got))
    is_same = (expected == got) | (expected.isnan() & got.isnan())
    return torch.where(is_same, 0.0, (got - expected).abs()).nan_to_num(math.inf, math.inf)


def _magnitude(wide: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.uint64:
        return _unsigned(wide ^ _SIGN_BIT)
    return (wide.double() if wide.dtype == torch.int64 else wide).abs()


def _unsigned(words: torch.Tensor) -> torch.Tensor:
    """Return in float64 what 64-bit words mean without a sign."""
    return words.double() + (words < 0) * 2.0**64


def _passes(gap: torch.Tensor, size: torch.Tensor, atol: float, rtol: float) -> bool:
    is_within = torch.where(size.isfinite(), gap <= atol + rtol * size, (gap == 0) & ~size.isnan())
    return bool(is_within.all())
