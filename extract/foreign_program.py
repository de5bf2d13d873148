"""The calls of a foreign text to a graph: sizes become numbers, tuples are unpacked, shapes are inferred.

Each call is run once on meta tensors (no values, no memory), found through the allowlist of `extract.spelling`, as
a replay does. What returns numbers (`x.size(0)`, `s0 * 4`, `x.shape`) becomes the literals that it gives for the
shapes at hand, as in a trace, and leaves the program. A call that cannot be run (off the allowlist, reading values,
raising) stays with unknown outputs, and so does what depends on it: `Finding` says which came first and why.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any

import torch

from extract.arguments import UnsupportedArgument, encode, map_tensors
from extract.assembly import live_nodes, renumber
from extract.call_forms import FormedCall, form_calls
from extract.canonical import canonical_op
from extract.failure import describe
from extract.foreign_memo import CallMemo, LazyTensor, call_key, lazy_tensor
from extract.foreign_text import Calls
from extract.graph import (
    LEAVES,
    REFS,
    Arg,
    ArgList,
    Graph,
    Node,
    OpRef,
    OutputMeta,
    Ref,
    TensorMeta,
    TensorRef,
    iter_refs,
    map_refs,
)
from extract.op_tables import load_op_names
from extract.replay import run_node
from extract.sample_metadata import SampleError
from extract.shape_memo import ShapeMemo
from extract.spelling import UnknownCallable
from extract.statistics import dtype_name

_META = torch.device("meta")
_UNKNOWN = object()
_MAX_INT = 2**63

# Ops that return a tuple whatever their arguments: what unpacks a value of unknown shape is an element of it.
_SEVERAL = frozenset(
    "split chunk unbind tensor_split hsplit vsplit dsplit split_with_sizes topk sort kthvalue meshgrid lstm gru "
    "multi_head_attention_forward unsafe_chunk unsafe_split frexp slogdet svd qr eigh lu aminmax var_mean std_mean "
    "native_layer_norm native_batch_norm native_group_norm broadcast_tensors atleast_1d".split()
)
_FACT_NAMES = (
    "size dim numel nelement ndimension stride is_floating_point is_complex is_contiguous element_size "
    "storage_offset get_device is_signed __len__".split()
)
_FACT_ATTRIBUTES = "shape dtype ndim layout requires_grad is_cuda is_sparse is_quantized itemsize nbytes".split()

_AUTOCASTS = {
    f"torch.amp.autocast_mode.{name}": step for name, step in (("_enter_autocast", 1), ("_exit_autocast", -1))
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Why shapes are not known from an op on: `reason` as in verdicts, and its particulars."""

    op_index: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Inferred:
    """The graph, its calls formed, and why some of its shapes are unknown; None where all are known."""

    graph: Graph
    calls: Sequence[FormedCall]
    finding: Finding | None


def infer_graph(calls: Calls, tensors: Sequence[TensorMeta]) -> Inferred:
    """Return the graph of some calls over these tensors; raises `SampleError` for calls that make no program."""
    walk = _Walk(tensors)
    with torch.no_grad():
        for index, node in enumerate(calls.nodes):
            walk.step(index, node)
    outputs = [ref for value in calls.returned for ref in iter_refs(walk.resolved(value))]
    return _pruned(walk, tuple(tensors), outputs)


class _Walk:
    """Runs the calls in order; `nodes` are those that stay, `resolved` puts what the others gave in their place."""

    def __init__(self, tensors: Sequence[TensorMeta]) -> None:
        self.nodes: list[Node] = []
        self.finding: Finding | None = None
        self._operands = [lazy_tensor((meta.shape, meta.stride, meta.dtype)) or _UNKNOWN for meta in tensors]
        self._values: list[Any] = []  # by position in `nodes`
        self._stands_for: dict[int, Arg] = {}  # what a call of the text became
        self._autocasts = 0  # regions that are open: meta tensors do not follow them, so what they give is unknown

    def step(self, index: int, node: Node) -> None:
        """Run the call at `index` of the text, or find it among those run before."""
        args = tuple([arg if type(arg) in LEAVES else self.resolved(arg) for arg in node.args])
        kwargs = tuple([(name, self.resolved(arg)) for name, arg in node.kwargs]) if node.kwargs else ()
        node = Node("", node.target, args, kwargs)
        element = self._element(node)
        if element is not None:
            self._stands_for[index] = element
            return
        key = call_key(node, self._value) if self._autocasts == 0 else None
        known = None if key is None else _calls().find(key)
        if known is None:
            self._run_first(index, node, key)
            return
        kept = Node(known.op, node.target, args, kwargs, known.outputs)
        self._append(index, kept, known.value(self._first(node)))

    def _run_first(self, index: int, node: Node, key: Any) -> None:
        value = self._run(node)
        is_number = value is not _UNKNOWN and _is_plain(value)
        if is_number and (value is not None or node.target not in load_op_names()):
            self._stands_for[index] = encode(value, _refuse)
            return
        kept = _described(node, value)
        first = self._first(node)
        is_first = isinstance(first, LazyTensor) and value is first.tensor
        self._append(index, kept, first if is_first else map_tensors(value, LazyTensor))
        if key is not None and value is not _UNKNOWN:
            _calls().remember(key, kept, first, value)

    def _append(self, index: int, node: Node, value: Any) -> None:
        self._stands_for[index] = OpRef(len(self.nodes))
        self.nodes.append(node)
        self._values.append(value)

    def _first(self, node: Node) -> Any:
        """Return the value of the first argument where it is an operand."""
        first = node.args[0] if node.args else None
        return self._value(first) if isinstance(first, REFS) else None

    def resolved(self, arg: Arg) -> Arg:
        """Return an argument with what its refs stand for in their place."""
        return self._standing(arg) if isinstance(arg, REFS) else map_refs(arg, self._standing)

    def _standing(self, ref: Ref) -> Arg:
        if isinstance(ref, TensorRef):
            return ref
        value = self._stands_for[ref.index]
        return _follow(value, ref.path) if ref.path else value

    def _element(self, node: Node) -> Arg:
        """Return what `x[0]` picks where x is a tuple of tensors or of numbers; None where it is an op."""
        if node.target != "operator.getitem" or len(node.args) != 2 or node.kwargs or type(node.args[1]) is not int:
            return None
        base, index = node.args[0], node.args[1]
        elements = base.elements if isinstance(base, ArgList) else base
        if isinstance(elements, tuple):
            return elements[index] if -len(elements) <= index < len(elements) else None
        if not isinstance(base, OpRef):
            return None
        value = self._value(base)
        if isinstance(value, tuple | list) and -len(value) <= index < len(value):
            return OpRef(base.index, (*base.path, index % len(value)))
        if value is _UNKNOWN and index >= 0 and self.nodes[base.index].op.rstrip("_") in _SEVERAL and not base.path:
            return OpRef(base.index, (index,))
        return None

    def _run(self, node: Node) -> Any:
        refs = list(node.refs())
        self._autocasts += _AUTOCASTS.get(node.target, 0)
        if self._autocasts > 0 and self.finding is not None:
            return _UNKNOWN
        if any(self._value(ref) is _UNKNOWN for ref in refs):
            return _UNKNOWN
        compute = _number_functions().get(node.target)
        if compute is not None and not refs:
            return _computed(node, compute)
        try:
            if compute is not None and node.target in _fact_targets():
                return compute(*[self._seen(ref) for ref in refs], *[arg for arg in node.args if type(arg) is int])
            if node.target == "torch.Tensor.device":
                return torch.device("cpu")
            value = run_node(node, self._seen, _META, _memo())
        except UnknownCallable as error:
            return self._unknown("op_not_allowed", str(error))
        except Exception as error:  # foreign code: what torch raises on a foreign graph is the finding
            return self._unknown("raised", f"{node.target}: {describe(error)}")
        if value is None and node.target != "operator.setitem":
            return self._unknown("value_read", f"what {node.target} returns depends on values")
        return value

    def _unknown(self, reason: str, detail: str) -> Any:
        if self.finding is None:
            self.finding = Finding(len(self.nodes), reason, detail[:500])
        return _UNKNOWN

    def _seen(self, ref: Ref) -> Any:
        """Return an operand as torch sees it."""
        return map_tensors(self._value(ref), attrgetter("tensor"), LazyTensor)

    def _value(self, ref: Ref) -> Any:
        if isinstance(ref, TensorRef):
            return self._operands[ref.index]
        value = self._values[ref.index]
        for step in ref.path:
            if value is _UNKNOWN:
                return _UNKNOWN
            value = value[step]
        return value


def _pruned(walk: _Walk, tensors: tuple[TensorMeta, ...], outputs: list[Ref]) -> Inferred:
    """Leave out calls without effect whose results nobody uses; what we do not know may have one."""
    calls = form_calls(walk.nodes)
    live = live_nodes(walk.nodes, outputs, [refs for _, refs in calls])
    known = load_op_names()
    for index in range(len(walk.nodes) - 1, -1, -1):
        if not live[index] and walk.nodes[index].target not in known and not _is_fact(walk.nodes[index]):
            live[index] = True
            _revive(walk.nodes, index, live)
    if all(live):
        return Inferred(Graph(tuple(walk.nodes), tensors, tuple(outputs)), calls, walk.finding)
    places: list[int] = []
    for is_live in live:
        places.append((places[-1] + 1 if places else 0) if is_live else (places[-1] if places else -1))
    kept: list[Node] = []
    for node in (node for node, is_live in zip(walk.nodes, live, strict=True) if is_live):
        moved: dict[Ref, Ref] = {ref: _moved(ref, places) for ref in node.refs()}
        args = tuple([renumber(arg, moved) for arg in node.args])
        kept.append(replace(node, args=args, kwargs=tuple([(n, renumber(arg, moved)) for n, arg in node.kwargs])))
    finding = walk.finding
    if finding is not None:
        finding = replace(finding, op_index=max(0, places[min(finding.op_index, len(places) - 1)]))
    graph = Graph(tuple(kept), tensors, tuple([_moved(ref, places) for ref in outputs]))
    return Inferred(graph, form_calls(kept), finding)


def _revive(nodes: Sequence[Node], index: int, live: list[bool]) -> None:
    pending = [index]
    while pending:
        for ref in nodes[pending.pop()].refs():
            if isinstance(ref, OpRef) and not live[ref.index]:
                live[ref.index] = True
                pending.append(ref.index)


def _moved(ref: Ref, places: Sequence[int]) -> Ref:
    return ref if isinstance(ref, TensorRef) else OpRef(places[ref.index], ref.path)


def _is_fact(node: Node) -> bool:
    return node.target in _fact_targets() or node.target == "torch.Tensor.device"


def _follow(value: Arg, path: tuple[int, ...]) -> Arg:
    for step in path:
        value = OpRef(value.index, (*value.path, step)) if isinstance(value, OpRef) else value[step]  # pyright: ignore
    return value


def _described(node: Node, value: Any) -> Node:
    """Return a call with its op's name and what it returned filled in."""
    try:
        op = canonical_op(node.target, node.args, dict(node.kwargs))
    except (ValueError, TypeError, OverflowError) as error:
        raise SampleError(f"model.py: a call of {node.target[:80]} has arguments of the wrong kind") from error
    outputs: list[OutputMeta] = []
    _describe(value, (), outputs)
    return Node(op, node.target, node.args, node.kwargs, tuple(outputs))


def _describe(value: Any, path: tuple[int, ...], outputs: list[OutputMeta]) -> None:
    if isinstance(value, torch.Tensor):
        outputs.append(OutputMeta(path, tuple(value.shape), value.stride(), dtype_name(value.dtype)))
    elif isinstance(value, tuple | list):
        for position, element in enumerate(value):
            _describe(element, (*path, position), outputs)


def _is_plain(value: Any) -> bool:
    """Tell a number, a dtype or a sequence of them from what holds tensors."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, int | float | complex | str | torch.dtype | torch.device | torch.layout)


def _computed(node: Node, compute: Callable[..., Any]) -> Any:
    """Compute with numbers; what would take long, or is no size, must not be left to a replay: it is no program."""
    args = [list(arg.elements) if isinstance(arg, ArgList) else arg for arg in node.args]
    try:
        value = compute(*args)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise SampleError(f"model.py: {node.target} of numbers cannot be computed: {describe(error)}") from error
    if isinstance(value, int) and not -_MAX_INT <= value < 2 * _MAX_INT:
        raise SampleError(f"model.py: {node.target} gives a number wider than 64 bits")
    return value


def _refuse(tensor: Any) -> Ref:
    raise UnsupportedArgument("a tensor among numbers")


@lru_cache(maxsize=1)
def _memo() -> ShapeMemo:
    return ShapeMemo()


@lru_cache(maxsize=1)
def _calls() -> CallMemo:
    return CallMemo()


@lru_cache(maxsize=1)
def _fact_targets() -> frozenset[str]:
    return frozenset(f"torch.Tensor.{name}" for name in (*_FACT_NAMES, *_FACT_ATTRIBUTES)) | {
        "torch.is_floating_point", "torch.is_complex", "torch.numel", "builtins.len"
    }  # fmt: skip


@lru_cache(maxsize=1)
def _number_functions() -> dict[str, Callable[..., Any]]:
    """What may be computed here: facts about a tensor, and arithmetic of numbers, bounded by `_small`."""
    table: dict[str, Callable[..., Any]] = {f"torch.Tensor.{name}": getattr(torch.Tensor, name) for name in _FACT_NAMES}
    table |= {f"torch.Tensor.{name}": attrgetter(name) for name in _FACT_ATTRIBUTES}
    table |= {"torch.is_floating_point": torch.is_floating_point, "torch.is_complex": torch.is_complex,
              "torch.numel": torch.numel}  # fmt: skip
    names = "add sub mul truediv floordiv mod neg pos invert and_ or_ xor eq ne lt le gt ge abs"
    table |= {f"operator.{name}": _small(getattr(operator, name)) for name in names.split()}
    table |= {f"operator.i{name}": table[f"operator.{name}"] for name in "add sub mul truediv floordiv mod".split()}
    table |= {f"math.{name}": _small(getattr(math, name)) for name in "floor ceil trunc sqrt log log2 exp prod".split()}
    table |= {"operator.pow": _power, "math.pow": _power}
    table |= {f"builtins.{kind.__name__}": _small(kind) for kind in (int, float, bool, abs)}
    table |= {"builtins.min": min, "builtins.max": max, "torch.sym_max": max, "torch.sym_min": min}
    table |= {"torch.sym_int": int, "torch.sym_float": float, "torch.sym_not": operator.not_, "torch.sym_sum": sum}
    table |= {"torch.sym_ite": lambda condition, one, other: one if condition else other}
    return table


def _small(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let numbers through and nothing that could grow: no strings, no sequences times a number."""

    def bounded(*operands: Any) -> Any:
        if not all(isinstance(value, int | float | complex) for value in operands):
            raise TypeError(f"{getattr(function, '__name__', 'a call')} of what is no number")
        return function(*operands)

    return bounded


def _power(base: Any, exponent: Any) -> Any:
    if not isinstance(base, int | float) or not isinstance(exponent, int | float) or abs(exponent) > 64:
        raise TypeError("a power of what is no small number")
    return base**exponent
