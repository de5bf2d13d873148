"""A graph to its three hashes: which program it is, at which operand shapes, and up to which sizes.

Algorithms `passnet-graph/1`, `passnet-signature/1` and `passnet-structure/1` (definitions.md section 1; the exact
text that is hashed is in docs/definitions.md). Standard library only, deterministic, linear in the graph. An
independent verifier in tests/ recomputes the hashes from a sample directory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from extract.call_forms import Form, FormedCall, FormMemo, call_form, form_calls, slot_number
from extract.canonical import bind, mutated_operands
from extract.graph import (
    REFS,
    Arg,
    ArgList,
    ArgSlice,
    Graph,
    Node,
    OpRef,
    OutputMeta,
    Ref,
    TensorMeta,
    TensorRef,
    TorchConstant,
    is_contiguous,
)
from extract.op_tables import load_size_args

GRAPH_ALGORITHM = "passnet-graph/1"
SIGNATURE_ALGORITHM = "passnet-signature/1"
STRUCTURE_ALGORITHM = "passnet-structure/1"
SINGLE_OP_ALGORITHM = "passnet-single-op/1"


@dataclass(frozen=True, slots=True)
class GraphHashes:
    """The three identities of a graph, each 64 hexadecimal characters."""

    graph_sha256: str
    signature_sha256: str
    structure_sha256: str


def hash_graph(graph: Graph, calls: Sequence[FormedCall] | None = None) -> GraphHashes:
    """Return all three hashes of `graph`, walking it once; its `calls` are formed where not given."""
    numbering = _Numbering()
    lines, masked = [GRAPH_ALGORITHM], [STRUCTURE_ALGORITHM]
    for form, refs in form_calls(graph.nodes) if calls is None else calls:
        line, masked_line = numbering.line(form, refs)
        lines.append(line)
        masked.append(masked_line)
    closing = "return" + "".join(f" {numbering.name(ref)}" for ref in graph.outputs)
    lines.append(closing)
    masked.append(closing)
    graph_sha256 = _sha256(lines)
    return GraphHashes(graph_sha256, signature_from(graph_sha256, graph.tensors, numbering.tensors), _sha256(masked))


def tensor_numbers(graph: Graph) -> list[tuple[int, int]]:
    """Return (number, position in the tensor table) of each tensor that the body uses; literals have no part in it."""
    numbering = _Numbering()
    for form, refs in form_calls(graph.nodes):
        numbering.line(form, refs)
    for ref in graph.outputs:
        numbering.name(ref)
    return numbering.tensors


def signature_from(graph_sha256: str, tensors: Sequence[TensorMeta], numbers: Sequence[tuple[int, int]]) -> str:
    """Return the signature of a program of known identity, from its tensors and their `tensor_numbers`."""
    return _sha256([SIGNATURE_ALGORITHM, graph_sha256, *_operand_lines(tensors, numbers)])


def graph_lines(graph: Graph) -> list[str]:
    """Return the lines behind `graph_sha256`, one per op, then the return."""
    numbering = _Numbering()
    lines = [numbering.line(form, refs)[0] for form, refs in form_calls(graph.nodes)]
    return [*lines, "return" + "".join(f" {numbering.name(ref)}" for ref in graph.outputs)]


def graph_sha256(graph: Graph) -> str:
    """Return the identity of the program: ops, edges and literals."""
    return hash_graph(graph).graph_sha256


def signature_sha256(graph: Graph) -> str:
    """Return the identity of the program at its operands' kinds, shapes and dtypes: the key of a graph's row."""
    return hash_graph(graph).signature_sha256


def structure_sha256(graph: Graph) -> str:
    """Return the identity of the program with size arguments masked: one for all batch and image sizes."""
    return hash_graph(graph).structure_sha256


def single_op_sha256(graph: Graph, index: int) -> str:
    """Return the key of one op: name, literals with sizes masked, operand kinds, ranks and dtypes."""
    form, refs = call_form(graph.nodes[index])
    return _single_op_key(form, tuple([_describe_operand(graph, ref) for ref in refs]))


def single_op_keys(graph: Graph, calls: Sequence[FormedCall]) -> list[str]:
    """Return the key of each op of a graph, whose calls these are."""
    tensors = [_describe_tensor(tensor) for tensor in graph.tensors]
    made = [{output.path: _describe_output(output) for output in node.outputs} for node in graph.nodes]
    keys: list[str] = []
    for form, refs in calls:
        operands = [made[ref.index].get(ref.path, "op") if type(ref) is OpRef else tensors[ref.index] for ref in refs]
        keys.append(_single_op_key(form, tuple(operands)))
    return keys


def _single_op_key(form: Form, operands: tuple[str, ...]) -> str:
    """Return the key of a call from what its operands are."""
    known = _single_ops.get((form, operands))
    if known is None:
        if len(_single_ops) >= _MAX_SINGLE_OPS:
            _single_ops.clear()
        known = _single_ops[form, operands] = _single_op(form.call, operands)
    return known


_MAX_SINGLE_OPS = 50_000
_single_ops: dict[tuple[Form, tuple[str, ...]], str] = {}


def _single_op(call: Node, operands: Sequence[str]) -> str:
    op, arguments = bind(call)

    def describe(slot: Ref) -> str:
        return operands[slot_number(slot)]

    body = " ".join(f"{name}={_format(value, describe, _is_size(op, name), op)}" for name, value in arguments)
    return _sha256([SINGLE_OP_ALGORITHM, f"{op} {body}"])


def op_sequence(graph: Graph) -> str:
    """Return the canonical op names in recorded order, joined by newlines."""
    return "\n".join(graph.op_names)


@dataclass(frozen=True, slots=True)
class _LineForm:
    """The line of a call, plain and with sizes masked, `%s` for each operand; which operands these are, in the order
    in which they are named; and which ones the call writes into."""

    head: str
    plain: str
    masked: str
    named: tuple[int, ...]
    written: tuple[int, ...]


def _line_form(node: Node) -> _LineForm:
    op, arguments = bind(node)
    named: list[int] = []

    def name(slot: Ref) -> str:
        named.append(slot_number(slot))
        return _SLOT

    plain, masked = "", ""
    for argument, value in arguments:
        text = _format(value, name, False, op)
        masked_text = _format(value, lambda slot: _SLOT, True, op) if _is_size(op, argument) else text
        plain += f" {argument}={text}"
        masked += f" {argument}={masked_text}"
    written = tuple([slot_number(slot) for slot in mutated_operands(node)])
    template = _template(plain)
    masked_template = template if masked == plain else _template(masked)
    return _LineForm(f" = {op}", template, masked_template, tuple(named), written)


_SLOT = "\0"
"""What no line holds: strings are written as JSON."""


def _template(text: str) -> str:
    return text.replace("%", "%%").replace(_SLOT, "%s")


_line_forms = FormMemo(_line_form)


class _Numbering:
    """Numbers values by first appearance in the body; an in-place op's operand goes on under the op's number."""

    def __init__(self) -> None:
        self._of_tensors: dict[int, int] = {}
        self._of_ops: dict[int, int] = {}
        self._renamed: dict[tuple[int, tuple[int, ...]], int] = {}
        self._next = 0
        self._position = 0

    @property
    def tensors(self) -> list[tuple[int, int]]:
        """(Number, position in the tensor table) of each tensor named so far, by number."""
        return [(number, index) for index, number in self._of_tensors.items()]

    def line(self, form: Form, refs: Sequence[Ref]) -> tuple[str, str]:
        """Return the op's line and the same with sizes masked; to be called once per op, in order."""
        line = _line_forms.find(form)
        names = tuple([self.name(refs[operand]) for operand in line.named])
        number = self._of_ops[self._position] = self._new_number()
        self._position += 1
        for operand in line.written:
            value = self._resolve(refs[operand])
            if value != (number, ()):
                self._renamed[value] = number
        head = f"%{number}{line.head}"
        plain = head + line.plain % names
        return plain, plain if line.masked is line.plain else head + line.masked % names

    def name(self, ref: Ref) -> str:
        """Return how a line refers to a value: its number, and the element where its op returned several."""
        number, path = self._resolve(ref)
        return f"%{number}" + "".join([f".{element}" for element in path]) if path else f"%{number}"

    def _resolve(self, ref: Ref) -> tuple[int, tuple[int, ...]]:
        numbers, path = (self._of_ops, ref.path) if isinstance(ref, OpRef) else (self._of_tensors, ())
        number = numbers.get(ref.index)
        if number is None:
            number = numbers[ref.index] = self._new_number()
        start = (number, path)
        while (number, path) in self._renamed:
            number, path = self._renamed[number, path], ()
        if (number, path) != start:
            self._renamed[start] = number  # path compression: long chains of in-place ops stay linear
        return number, path

    def _new_number(self) -> int:
        self._next += 1
        return self._next - 1


def _operand_lines(tensors: Sequence[TensorMeta], numbers: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield kind, shape, dtype (and stride where not contiguous) of each numbered tensor, by number."""
    for number, index in numbers:
        tensor = tensors[index]
        stride = "" if is_contiguous(tensor.shape, tensor.stride) else f" {_ints(tensor.stride)}"
        yield f"%{number} {tensor.kind} {_ints(tensor.shape)} {tensor.dtype}{stride}"


def _format(value: Arg, name_ref: Callable[[Ref], str], masked: bool, op: str) -> str:
    if isinstance(value, REFS):
        return name_ref(value)
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return "@size" if masked and op not in ("getitem", "setitem") else str(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (float, complex)):
        return repr(value)
    if isinstance(value, TorchConstant):
        return "@device" if value.kind == "device" else value.name
    if isinstance(value, ArgSlice):
        bounds = [_format_bound(bound, name_ref, masked, op) for bound in (value.start, value.stop)]
        return f"slice({bounds[0]},{bounds[1]},{_format(value.step, name_ref, False, op)})"
    if isinstance(value, ArgList):
        body = ",".join(_format(element, name_ref, masked, op) for element in value.elements)
        return f"[{body}]" if op in ("getitem", "setitem") else f"({body})"
    if isinstance(value, tuple):
        return "(" + ",".join(_format(element, name_ref, masked, op) for element in value) + ")"
    return "..."


def _format_bound(bound: Arg, name_ref: Callable[[Ref], str], masked: bool, op: str) -> str:
    is_int = isinstance(bound, int) and not isinstance(bound, bool)
    return "@size" if masked and is_int else _format(bound, name_ref, False, op)


def _describe_operand(graph: Graph, ref: Ref) -> str:
    if isinstance(ref, TensorRef):
        return _describe_tensor(graph.tensors[ref.index])
    for output in graph.nodes[ref.index].outputs:
        if output.path == ref.path:
            return _describe_output(output)
    return "op"


def _describe_tensor(tensor: TensorMeta) -> str:
    return f"{tensor.kind}:{len(tensor.shape)}:{tensor.dtype}"


def _describe_output(output: OutputMeta) -> str:
    return f"op:{len(output.shape)}:{output.dtype}"


def _is_size(op: str, argument: str) -> bool:
    return (op, argument) in load_size_args()


def _ints(values: tuple[int, ...]) -> str:
    return "(" + ",".join(map(str, values)) + ")"


def _sha256(lines: list[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()
