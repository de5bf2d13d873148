"""Calls of foreign programs on tensors known by their facts alone: what torch was asked once is not asked again.

Programs repeat their blocks and corpora their programs, so nearly every call was seen before with operands of equal
shapes, strides and dtypes and with equal literals. Such a call needs no tensors: its outcome is that of before. A
tensor is made, on the meta device, only where torch must see it. What may be remembered follows
`extract.shape_memo`, whose reasons hold here too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType
from typing import Any

import torch

from extract.graph import ArgList, ArgSlice, Node, OpRef, OutputMeta, Ref, TensorRef, TorchConstant, contiguous_stride
from extract.statistics import dtype_name

Facts = tuple[tuple[int, ...], tuple[int, ...], str]
"""Shape, stride and dtype."""

_SCALARS: frozenset[type] = frozenset({int, float, bool, str, type(None), EllipsisType})


class LazyTensor:
    """A meta tensor, by its facts or as it is; by its facts it is made when torch must see it."""

    __slots__ = ("_facts", "_tensor")

    def __init__(self, given: Facts | torch.Tensor) -> None:
        self._facts = given if isinstance(given, tuple) else None
        self._tensor = given if isinstance(given, torch.Tensor) else None

    @property
    def tensor(self) -> torch.Tensor:
        """The tensor; the same one each time, so that what calls change of it is seen."""
        if self._facts is not None:
            self._tensor, self._facts = _make(self._facts), None
        return self._tensor  # pyright: ignore[reportReturnType]  there are facts or it

    @property
    def facts(self) -> Facts | None:
        """Its facts as of now; None where they do not say what calls make of it (complex, sparse)."""
        return self._facts or _facts_of(self.tensor)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call was: its op's canonical name, and what it returned: lazy tensors to copy, or None for its first
    operand again."""

    op: str
    outputs: tuple[OutputMeta, ...]
    returned: Any

    def value(self, first_operand: Any) -> Any:
        """Return the value of another such call."""
        return first_operand if self.returned is None else _fresh(self.returned)


class _NotMemorable(Exception):
    """An argument whose part in the outcome a key cannot express."""


class CallMemo:
    """Remembers at most `max_calls` distinct calls; forgets all of them when full."""

    def __init__(self, max_calls: int = 50_000) -> None:
        self._max_calls = max_calls
        self._outcomes: dict[Any, Outcome] = {}
        self._rules: dict[Any, tuple[str, str]] = {}

    def find(self, key: Any) -> Outcome | None:
        """Return what a call with this key was; None for one not seen before."""
        known = self._outcomes.get(key)
        if known is not None:
            return known
        general = _general_key(key)
        told = None if general is None else self._rules.get(general)
        if told is None:
            return None
        op, rule = told
        facts = _RULES[rule](key)
        known = Outcome(op, (OutputMeta((), *facts),), None if rule == "first" else LazyTensor(facts))
        self._keep(key, known)
        return known

    def remember(self, key: Any, node: Node, first_operand: Any, returned: Any) -> None:
        """Remember the call that `node` records and what torch returned for it, where that is plain tensors."""
        is_first = isinstance(first_operand, LazyTensor) and returned is first_operand.tensor
        if is_first and first_operand.facts != key[1]:
            return  # what reshapes its operand in place must run each time
        try:
            structure = None if is_first else _structure(returned)
        except _NotMemorable:
            return
        self._keep(key, Outcome(node.op, node.outputs, structure))
        general = _general_key(key)
        rule = None if general is None else "first" if is_first else _rule_of(key, structure)
        if rule is not None:
            self._rules[general] = node.op, rule

    def _keep(self, key: Any, outcome: Outcome) -> None:
        if len(self._outcomes) >= self._max_calls:
            self._outcomes.clear()
            self._rules.clear()
        self._outcomes[key] = outcome


def call_key(node: Node, lookup: Callable[[Ref], Any]) -> Any:
    """Return what the outcome of a call depends on, hashable; None where that cannot be said.

    `lookup` gives the value of an operand: lazy tensors, alone or in tuples and lists.
    """
    if not node.args:
        return None
    try:
        key: list[Any] = [node.target]
        for arg in node.args:
            key.append(_key_of(arg, lookup))
        for name, arg in node.kwargs:
            if name == "out" and arg is not None:
                return None
            key.append(name)
            key.append(_key_of(arg, lookup))
    except _NotMemorable:
        return None
    return tuple(key)


def _general_key(key: Any) -> Any:
    """Return a key in which sizes have no part, of a call of which one tells of all; None for others.

    What the ops of `_GENERAL` return for dense operands depends on which sizes are one, on the order of dimensions in
    memory, and on which operands have sizes of the first, not on what these are.
    """
    name = key[0].rpartition(".")[2]
    if name == "linear":
        return _general_key_of_linear(key)
    if name not in _GENERAL or not _is_facts(key[1]):
        return None
    shape, _, dtype = key[1]
    order = _memory_order(key[1])
    if order is None:
        return None
    others: list[Any] = []
    for part in key[2:]:
        if not _is_facts(part):
            are_last = part == _sizes_key(shape[len(shape) - len(part) + 1 :]) if type(part) is tuple else False
            others.append((tuple, len(part)) if are_last else part)
            continue
        is_aligned, is_channel, own_order = _is_aligned(part[0], shape), part[0] == shape[1:2], _memory_order(part)
        if own_order is None or not (is_aligned or is_channel):
            return None
        others.append((_ones(part[0]), is_aligned, is_channel, own_order, part[2]))
    return key[0], dtype, _ones(shape), order, tuple(others)


# By the name that ends their spelling: pointwise functions, of two operands where the other one broadcasts, and norms.
_GENERAL = frozenset(
    "relu relu_ relu6 silu gelu hardswish hardtanh hardsigmoid sigmoid tanh elu leaky_relu mish softplus dropout "
    "softmax add add_ sub mul div truediv iadd imul batch_norm layer_norm normalize".split()
)


def _general_key_of_linear(key: Any) -> Any:
    if len(key) != 4 or not _is_row_major(key[1]) or not _is_row_major(key[2]):
        return None
    (shape, _, dtype), (weight, _, weight_dtype), bias = key[1:]
    if len(weight) != 2 or shape[-1:] != weight[1:]:
        return None
    if _is_facts(bias):
        if bias[:2] != (weight[:1], (1,)):
            return None
        bias = bias[2]
    return key[0], dtype, _ones(shape), _ones(weight), weight_dtype, bias


def _rule_of(key: Any, returned: Any) -> str | None:
    """Return the rule that tells what such a call returns from its key; None where none does."""
    facts = returned.facts if isinstance(returned, LazyTensor) else None
    rules = ("linear",) if key[0].endswith(".linear") else ("like_first", "row_major")
    return next((rule for rule in rules if facts == _RULES[rule](key)), None)


def _of_linear(key: Any) -> Facts:
    (shape, _, dtype), (weight, _, _) = key[1:3]
    return (*shape[:-1], weight[0]), contiguous_stride((*shape[:-1], weight[0])), dtype


_RULES: dict[str, Callable[[Any], Facts]] = {
    "first": lambda key: key[1],
    "like_first": lambda key: key[1],
    "row_major": lambda key: (key[1][0], contiguous_stride(key[1][0]), key[1][2]),
    "linear": _of_linear,
}


def _is_aligned(sizes: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    """Tell whether sizes are those of the last dimensions, or one."""
    if len(sizes) > len(shape):
        return False
    return all(size in (1, own) for size, own in zip(reversed(sizes), reversed(shape), strict=False))


def _ones(shape: tuple[int, ...]) -> tuple[bool, ...]:
    return tuple([length == 1 for length in shape])


def _memory_order(facts: Facts) -> tuple[int, ...] | None:
    """Return the dimensions from the outermost in memory on; None where they leave holes, overlap or hold nothing."""
    shape, stride, _ = facts
    order = tuple(sorted(range(len(shape)), key=lambda dim: -stride[dim]))
    expected = contiguous_stride(tuple([shape[dim] for dim in order]))
    return order if expected == tuple([stride[dim] for dim in order]) and 0 not in shape else None


def _sizes_key(sizes: tuple[int, ...]) -> Any:
    return tuple, *[(int, size) for size in sizes]


def _is_facts(part: Any) -> bool:
    return type(part) is tuple and type(part[0]) is tuple


def _is_row_major(facts: Any) -> bool:
    return _is_facts(facts) and 0 not in facts[0] and facts[1] == contiguous_stride(facts[0])


def lazy_tensor(facts: Facts) -> LazyTensor | None:
    """Return a tensor of these facts; None where torch can have none."""
    if not _can_be(facts):
        return None
    return LazyTensor(_make(facts) if facts[2].startswith("complex") else facts)


def _key_of(arg: Any, lookup: Callable[[Ref], Any]) -> Any:
    """Return a stand-in that is equal exactly when the argument plays the same part (1, 1.0 and True differ)."""
    kind = type(arg)
    if kind is OpRef or kind is TensorRef:
        return _key_of_value(lookup(arg))
    if kind in _SCALARS:
        return kind, arg
    if kind is tuple:
        if _SCALARS.issuperset(map(type, arg)):
            return kind, *zip(map(type, arg), arg, strict=True)
        return kind, *[_key_of(element, lookup) for element in arg]
    if kind is ArgList:
        return kind, *[_key_of(element, lookup) for element in arg.elements]
    if kind is ArgSlice:
        return kind, *[_key_of(bound, lookup) for bound in (arg.start, arg.stop, arg.step)]
    if kind is TorchConstant:
        return arg
    raise _NotMemorable


def _key_of_value(value: Any) -> Any:
    kind = type(value)
    if kind is LazyTensor:
        facts = value.facts
        if facts is not None:
            return facts
    elif kind is tuple or kind is list:
        return kind, *[_key_of_value(element) for element in value]
    raise _NotMemorable


def _structure(returned: Any) -> Any:
    """Return what was returned with tensors replaced by lazy ones."""
    kind = type(returned)
    if kind is torch.Tensor:
        facts = _facts_of(returned)
        if facts is not None:
            return LazyTensor(facts)
    elif kind is tuple or kind is list:
        return kind([_structure(element) for element in returned])
    raise _NotMemorable


def _fresh(structure: Any) -> Any:
    kind = type(structure)
    return LazyTensor(structure.facts) if kind is LazyTensor else kind([_fresh(element) for element in structure])


def _facts_of(tensor: torch.Tensor) -> Facts | None:
    if tensor.layout is not torch.strided or tensor.is_complex() or not tensor.is_meta:
        return None
    return tuple(tensor.shape), tensor.stride(), dtype_name(tensor.dtype)


def _make(facts: Facts) -> torch.Tensor:
    shape, stride, dtype = facts
    return torch.empty_strided(shape, stride, dtype=getattr(torch, dtype), device="meta")


@lru_cache(maxsize=1 << 14)
def _can_be(facts: Facts) -> bool:
    try:
        _make(facts)
    except (RuntimeError, AttributeError, TypeError):
        return False
    return True
