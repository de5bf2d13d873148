"""A peer's fx graph and its operands to our `Graph`, so that each side writes the same files by the same code.

Cheaper for the peer than what it writes itself: one pass over the nodes, statistics in the tensors' own precision in
two passes over the values. Sizes and numbers that the peer made symbolic become the numbers that they stood for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import GraphModule
from torch.fx import Node as FxNode
from torch.fx.node import map_aggregate
from torch.utils._pytree import tree_flatten

from extract.arguments import encode
from extract.canonical import canonical_op
from extract.graph import Arg, ArgList, ArgSlice, Graph, Kind, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from extract.spelling import spell_call

_MAX_VALUES = 64


@dataclass(frozen=True, slots=True)
class Captured:
    """One graph of a peer; `operands` are the values of its placeholders, in order."""

    module: GraphModule
    operands: Sequence[Any]


def to_graph(captured: Captured) -> Graph:
    """Convert, measuring tensors that have values; raises `UnknownCallable` or `UnsupportedArgument`."""
    conversion = _Conversion(captured)
    for node in captured.module.graph.nodes:
        conversion.visit(node)
    return Graph(tuple(conversion.nodes), tuple(conversion.tensors), tuple(conversion.outputs))


@dataclass(slots=True)
class _Conversion:
    captured: Captured
    nodes: list[Node] = field(default_factory=list)
    tensors: list[TensorMeta] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    values: dict[FxNode, Any] = field(default_factory=dict)
    num_placeholders: int = 0

    def visit(self, node: FxNode) -> None:
        if node.op == "placeholder":
            self.values[node] = self._take(node, self.captured.operands[self.num_placeholders])
            self.num_placeholders += 1
        elif node.op == "get_attr":
            held = _attribute(self.captured.module, str(node.target))
            self.values[node] = self._take(node, held) if isinstance(held, torch.Tensor) else str(node.target)
        elif node.op == "output":
            flat, _ = tree_flatten(node.args)
            self.outputs = [value for entry in flat if _is_ref(value := self._value(entry))]
        else:
            self.values[node] = self._call(node)

    def _take(self, node: FxNode, operand: Any) -> Any:
        if not isinstance(operand, torch.Tensor):
            return _number(operand)
        if operand.dim() == 0 and node.users and all(user.target == "item" for user in node.users):
            return operand.item()
        self.tensors.append(measure(node.name, _kind(node, operand), operand))
        return TensorRef(len(self.tensors) - 1)

    def _call(self, node: FxNode) -> Any:
        made = node.meta.get("example_value", node.meta.get("val"))
        args, kwargs = self._value(node.args), self._value(node.kwargs)
        if getattr(node.target, "__name__", None) == "getitem" and isinstance(args[0], OpRef) and type(args[1]) is int:
            source = node.all_input_nodes[0]
            if isinstance(source.meta.get("example_value", source.meta.get("val")), tuple | list):
                return OpRef(args[0].index, (*args[0].path, args[1]))
        metas = tuple(_output_metas(made, ()))
        if not metas:
            return args[0] if node.target == "item" and not _is_ref(args[0]) else _number(made)
        func: Any = getattr(torch.Tensor, str(node.target)) if node.op == "call_method" else _public(node.target)
        target, args, kwargs = spell_call(func, args, kwargs)
        encoded = tuple([_encode(arg) for arg in args])
        named = tuple([(name, _encode(arg)) for name, arg in kwargs.items()])
        self.nodes.append(Node(canonical_op(target, encoded, dict(named)), target, encoded, named, metas))
        return OpRef(len(self.nodes) - 1)

    def _value(self, argument: Any) -> Any:
        return map_aggregate(argument, self._of_leaf)

    def _of_leaf(self, leaf: Any) -> Any:
        return self.values[leaf] if isinstance(leaf, FxNode) else leaf


def measure(name: str, kind: Kind, tensor: torch.Tensor) -> TensorMeta:
    """Return the record of a tensor: of the values where it has some, else of its shape and dtype alone."""
    shape, stride, dtype = tuple(tensor.shape), tuple(tensor.stride()), str(tensor.dtype).removeprefix("torch.")
    if tensor.is_meta or tensor.numel() == 0:
        return TensorMeta(name, kind, name, shape, stride, dtype)
    flat = tensor.detach().reshape(-1)
    few = tuple(flat.tolist()) if flat.numel() < _MAX_VALUES else None
    low, high = (float(bound) for bound in flat.aminmax())
    floating = flat if flat.is_floating_point() else flat.float()
    std, mean = torch.std_mean(floating, correction=min(1, floating.numel() - 1))
    return TensorMeta(name, kind, name, shape, stride, dtype, float(mean), float(std), low, high, few, "values")


def _kind(node: FxNode, operand: torch.Tensor) -> Kind:
    if isinstance(operand, torch.nn.Parameter):
        return "parameter"
    if node.op == "get_attr":
        return "constant"
    return "buffer" if "buffers" in node.name or node.name.startswith("b_") else "input"


def _public(func: Any) -> Any:
    """Return the public function of a private twin that Dynamo calls instead (`torch._C._nn.pad`)."""
    if getattr(func, "__module__", None) == "torch._C._nn":
        return getattr(torch.nn.functional, func.__name__, func)
    return func


def _is_ref(value: Any) -> bool:
    return isinstance(value, TensorRef | OpRef)


def _encode(argument: Any) -> Arg:
    """Encode an argument whose tensors are refs already: those pass through, the rest is ours to spell."""
    if _is_ref(argument):
        return argument
    if isinstance(argument, tuple | list) and not isinstance(argument, torch.Size):
        elements = tuple([_encode(element) for element in argument])
        return elements if isinstance(argument, tuple) else ArgList(elements)
    if isinstance(argument, slice):
        return ArgSlice(*[_encode(bound) for bound in (argument.start, argument.stop, argument.step)])
    return encode(_number(argument), _no_tensor)


def _no_tensor(tensor: torch.Tensor) -> Ref:
    raise TypeError(f"a tensor of shape {tuple(tensor.shape)} stands in an argument of an fx node")


def _number(value: Any) -> Any:
    """Return the number behind a symbolic one (without adding a guard); tuples element by element."""
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return value.node.hint
    if isinstance(value, torch.Size | tuple):
        return tuple(_number(element) for element in value)
    return value


def _output_metas(made: Any, path: tuple[int, ...]) -> list[OutputMeta]:
    if isinstance(made, torch.Tensor):
        dtype = str(made.dtype).removeprefix("torch.")
        return [OutputMeta(path, _number(made.shape), _number(made.stride()), dtype)]
    if isinstance(made, tuple | list):
        return [meta for index, part in enumerate(made) for meta in _output_metas(part, (*path, index))]
    return []


def _attribute(module: torch.nn.Module, name: str) -> Any:
    held: Any = module
    for part in name.split("."):
        held = getattr(held, part)
    return held
