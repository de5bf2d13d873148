"""A graph respelled by its identity alone: equal `graph_sha256`, equal text.

Tensors are named `x_0`, `x_1`, ... in the order in which the hash numbers them, and each call is written in one
spelling of its op (`a + b`, `torch.add(a, b)` and `a.add(b)` are one). What an op has several spellings for is chosen
in the order of `_PREFIXES`; a spelling counts only if it binds to the same canonical call, so that the hash stays.
Operands' kinds, values and statistics are dropped, since equal hashes do not share them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache

from extract.canonical import bind, mutated_operands
from extract.custom_schemas import is_custom
from extract.graph import Arg, Graph, Node, OpRef, Ref, TensorMeta, TensorRef, iter_refs, map_refs
from extract.op_tables import Parameter, load_op_names, signatures_of

_PREFIXES = (
    "operator.",
    "torch.",
    "torch.nn.functional.",
    "torch.special.",
    "torch.fft.",
    "torch.linalg.",
    "torch.Tensor.",
)


def canonical_graph(graph: Graph) -> Graph:
    """Return `graph` respelled, unused tensors left out; op outputs and tensors' shapes, strides and dtypes stay."""
    names = _Names(graph)
    nodes = tuple(_respell(names.renamed_node(node)) for node in graph.nodes)
    tensors = tuple(_named(graph.tensors[index], number) for index, number in names.numbers.items())
    return Graph(nodes, tensors, tuple(names.renamed_ref(ref) for ref in graph.outputs))


class _Names:
    """How a graph's values are called: tensors by first use in the canonical call, what an in-place op returns by the
    operand that it wrote into (the hash has one number for both)."""

    def __init__(self, graph: Graph) -> None:
        self.numbers: dict[int, int] = {}
        self._operand_of: dict[OpRef, Ref] = {}
        for index, node in enumerate(graph.nodes):
            for ref in (ref for _, value in bind(node)[1] for ref in iter_refs(value)):
                self._number(ref)
            if _returns_its_operand(node):
                self._operand_of[OpRef(index)] = self._original(next(node.refs()))
        for ref in graph.outputs:
            self._number(ref)

    def renamed_node(self, node: Node) -> Node:
        """Return a node whose refs are renamed."""
        args = tuple(map_refs(arg, self.renamed_ref) for arg in node.args)
        kwargs = tuple((name, map_refs(value, self.renamed_ref)) for name, value in node.kwargs)
        return Node(node.op, node.target, args, kwargs, node.outputs)

    def renamed_ref(self, ref: Ref) -> Ref:
        """Return what a ref is called."""
        original = self._original(ref)
        return TensorRef(self.numbers[original.index]) if isinstance(original, TensorRef) else original

    def _number(self, ref: Ref) -> None:
        original = self._original(ref)
        if isinstance(original, TensorRef):
            self.numbers.setdefault(original.index, len(self.numbers))

    def _original(self, ref: Ref) -> Ref:
        return self._operand_of.get(ref, ref) if isinstance(ref, OpRef) else ref


def _returns_its_operand(node: Node) -> bool:
    is_inplace = node.op.endswith("_") and not node.op.endswith("__") and not is_custom(node.target)
    return is_inplace and bool(node.args) and mutated_operands(node) == (node.args[0],)


def _named(meta: TensorMeta, number: int) -> TensorMeta:
    return TensorMeta(f"x_{number}", "input", "", meta.shape, meta.stride, meta.dtype)


def _respell(node: Node) -> Node:
    call = bind(node)
    op, pairs = call
    for spelling in _spellings(op):
        for args, kwargs in _arrangements(spelling, op, pairs):
            respelled = Node(node.op, spelling, args, kwargs, node.outputs)
            if bind(respelled) == call:
                return respelled
    return node


@lru_cache(maxsize=1)
def _spellings_by_op() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for spelling, op in load_op_names().items():
        found[op].append(spelling)
    return {op: tuple(sorted(spellings, key=_preference)) for op, spellings in found.items()}


def _spellings(op: str) -> tuple[str, ...]:
    return _spellings_by_op().get(op, ())


def _preference(spelling: str) -> tuple[int, str]:
    prefix = spelling[: spelling.rindex(".") + 1]
    return (_PREFIXES.index(prefix) if prefix in _PREFIXES else len(_PREFIXES)), spelling


def _arrangements(
    spelling: str, op: str, pairs: Sequence[tuple[str, Arg]]
) -> Iterator[tuple[tuple[Arg, ...], tuple[tuple[str, Arg], ...]]]:
    """Yield the bound arguments as positional and named ones, by each signature that has them all."""
    given = dict(pairs)
    for signature in signatures_of(spelling, op):
        if set(given) <= {parameter.name for parameter in signature} and not _is_missing_one(signature, given):
            yield _arranged(signature, given)


def _is_missing_one(signature: Sequence[Parameter], given: dict[str, Arg]) -> bool:
    return any(not parameter.has_default and parameter.name not in given for parameter in signature)


def _arranged(
    signature: Sequence[Parameter], given: dict[str, Arg]
) -> tuple[tuple[Arg, ...], tuple[tuple[str, Arg], ...]]:
    args: list[Arg] = []
    kwargs: list[tuple[str, Arg]] = []
    for parameter in signature:
        if parameter.name in given:
            is_positional = not parameter.keyword_only and not kwargs and len(args) == signature.index(parameter)
            if is_positional:
                args.append(given[parameter.name])
            else:
                kwargs.append((parameter.name, given[parameter.name]))
    return tuple(args), tuple(kwargs)
