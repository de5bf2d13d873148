"""A `Graph` to a `torch.fx.GraphModule` and back.

Data inputs become placeholders, other tensors `get_attr` nodes; a method becomes `call_method`, everything else
`call_function`; an element of a returned tuple is an `operator.getitem` node. The way back also reads graph modules
that Dynamo captured: tuple elements become `OpRef` paths, lifted parameters are placeholders of their own (or what
the caller of `read_calls` knows them to be), output facts come from `example_value`, and grad-mode switches, asserts
and regions without autocast are left out. Hashes survive both ways.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import fx

from extract.arguments import UnsupportedArgument, decode, encode
from extract.assembly import assemble
from extract.canonical import canonical_op
from extract.graph import Graph, Kind, Node, OpRef, OutputMeta, Ref, TensorMeta, TensorRef
from extract.recorded_outputs import describe_outputs
from extract.spelling import TENSOR_PROPERTIES, UnknownCallable, resolve, spell_call
from extract.statistics import measure_tensor

_METHOD_PREFIX = "torch.Tensor."
_META_OUTPUTS = "passnet_outputs"
_META_TENSOR = "passnet_tensor"
_IGNORED_FUNCTIONS = (
    torch._C._set_grad_enabled,
    torch._assert,  # pyright: ignore[reportPrivateImportUsage]
    torch._assert_async,  # pyright: ignore[reportPrivateImportUsage]
    torch.ops.aten._assert_scalar.default,
    torch._check,  # pyright: ignore[reportPrivateImportUsage]
)

# Methods that return their tensor and change nothing that it computes.
_SWITCHES = ("requires_grad_",)

# `0.5 * x` runs `x`'s method, as `x * 0.5` does: what Python reflects is written with the tensor first, as torch
# itself (and so the tracer) sees it. Operators that do not commute have reflected methods of their own.
_REFLECTED: dict[Any, Any] = {
    operator.add: operator.add,
    operator.mul: operator.mul,
    operator.eq: operator.eq,
    operator.ne: operator.ne,
    operator.lt: operator.gt,
    operator.gt: operator.lt,
    operator.le: operator.ge,
    operator.ge: operator.le,
}


@dataclass(frozen=True, slots=True)
class Calls:
    """What a graph module says, before dead code leaves: its calls, their tensors, what it returns."""

    nodes: list[Node]
    tensors: list[TensorMeta]
    outputs: list[Ref]


def to_fx(graph: Graph, tensors: Mapping[str, torch.Tensor]) -> fx.GraphModule:
    """Return a module that computes `graph`; `tensors` holds its parameters, buffers and constants by name.

    Placeholders are the data inputs in order, and the module returns the tuple of outputs. Raises `KeyError` for a
    missing tensor.
    """
    return _Writer(graph, tensors).write()


def from_fx(module: fx.GraphModule, tensors: Mapping[str, torch.Tensor] | None = None) -> Graph:
    """Return the graph of a module at torch level, dead code left out.

    `tensors` gives the value (or a meta tensor) of placeholders by name where the node carries no `example_value`; a
    placeholder that is neither raises `KeyError`. Raises `extract.spelling.UnknownCallable` and
    `extract.arguments.UnsupportedArgument` for what a graph cannot hold.
    """
    calls = _Reader(module, tensors or {}).read()
    return assemble(calls.nodes, calls.tensors, calls.outputs, ())[0]


def read_calls(module: fx.GraphModule, tensors: list[TensorMeta], refs: Mapping[str, Ref]) -> Calls:
    """Return the calls of a captured module whose placeholders are entries of `tensors`, by name; as `from_fx`.

    Tensors that the module holds itself are appended to a copy of `tensors`.
    """
    return _Reader(module, {}, tensors, refs).read()


class _Writer:
    def __init__(self, graph: Graph, tensors: Mapping[str, torch.Tensor]) -> None:
        self._graph = graph
        self._root = torch.nn.Module()
        self._fx = fx.Graph()
        self._tensors = [self._tensor_node(meta, tensors) for meta in _inputs_first(graph.tensors)]
        by_name = {node.meta[_META_TENSOR].name: node for node in self._tensors}
        self._tensor_nodes = [by_name[meta.name] for meta in graph.tensors]
        self._op_nodes: list[fx.Node] = []
        self._elements: dict[OpRef, fx.Node] = {}

    def write(self) -> fx.GraphModule:
        for node in self._graph.nodes:
            self._op_nodes.append(self._call(node))
        self._fx.output(tuple(self._node_of(ref) for ref in self._graph.outputs))
        return fx.GraphModule(self._root, self._fx)

    def _tensor_node(self, meta: TensorMeta, tensors: Mapping[str, torch.Tensor]) -> fx.Node:
        if meta.kind == "input":
            node = self._fx.placeholder(meta.name)
        else:
            tensor = tensors[meta.name]
            if isinstance(tensor, torch.nn.Parameter):
                self._root.register_parameter(meta.name, tensor)
            else:
                self._root.register_buffer(meta.name, tensor)
            node = self._fx.get_attr(meta.name)
        node.meta[_META_TENSOR] = meta
        return node

    def _call(self, node: Node) -> fx.Node:
        args = tuple(decode(arg, self._node_of) for arg in node.args)
        kwargs = {name: decode(arg, self._node_of) for name, arg in node.kwargs}
        method = node.target.removeprefix(_METHOD_PREFIX)
        if method in TENSOR_PROPERTIES and method != node.target:
            made = self._fx.call_function(getattr, (*args, method))
        elif method != node.target:
            made = self._fx.call_method(method, args, kwargs)
        else:
            made = self._fx.call_function(resolve(node.target), args, kwargs)
        made.meta[_META_OUTPUTS] = node.outputs
        return made

    def _node_of(self, ref: Ref) -> fx.Node:
        if isinstance(ref, TensorRef):
            return self._tensor_nodes[ref.index]
        if not ref.path:
            return self._op_nodes[ref.index]
        if ref not in self._elements:
            parent = self._node_of(OpRef(ref.index, ref.path[:-1]))
            self._elements[ref] = self._fx.call_function(operator.getitem, (parent, ref.path[-1]))
        return self._elements[ref]


class _Reader:
    def __init__(
        self,
        module: fx.GraphModule,
        given: Mapping[str, torch.Tensor],
        tensors: Sequence[TensorMeta] = (),
        placeholders: Mapping[str, Ref] | None = None,
    ) -> None:
        self._module = module
        self._given = given
        self._tensors = list(tensors)
        self._placeholders = placeholders or {}
        self._nodes: list[Node] = []
        self._refs: dict[fx.Node, Ref] = {}
        self._attributes: dict[int, Ref] = {}

    def read(self) -> Calls:
        outputs: list[Ref] = []
        for node in self._module.graph.nodes:
            if node.op == "placeholder":
                self._refs[node] = self._placeholder(node)
            elif node.op == "get_attr":
                self._refs[node] = self._attribute(node)
            elif node.op == "output":
                fx.map_arg(node.args, lambda made: outputs.append(self._refs[made]))
            else:
                self._read_call(node)
        return Calls(self._nodes, self._tensors, outputs)

    def _placeholder(self, node: fx.Node) -> Ref:
        known = self._placeholders.get(str(node.target))
        if known is not None:
            return known
        return self._add_tensor(node, self._placeholder_value(node), "input", str(node.target))

    def _placeholder_value(self, node: fx.Node) -> torch.Tensor:
        if _META_TENSOR in node.meta:
            return torch.empty(0)  # the record is there, its tensor is not asked
        value = self._given.get(str(node.target), node.meta.get("example_value"))
        if value is None:
            raise KeyError(f"placeholder {node.target}: no tensor given and no example_value")
        return value

    def _attribute(self, node: fx.Node) -> Ref:
        name = str(node.target)
        value = operator.attrgetter(name)(self._module)
        if id(value) not in self._attributes:
            kind: Kind = "parameter" if isinstance(value, torch.nn.Parameter) else "buffer"
            self._attributes[id(value)] = self._add_tensor(node, value, kind, name)
        return self._attributes[id(value)]

    def _add_tensor(self, node: fx.Node, value: torch.Tensor, kind: Kind, name: str) -> Ref:
        meta = node.meta.get(_META_TENSOR)
        if meta is None:
            kind = "parameter" if isinstance(value, torch.nn.Parameter) else kind
            meta = replace(measure_tensor(value, kind, name), name=name.replace(".", "_"))
        self._tensors.append(meta)
        return TensorRef(len(self._tensors) - 1)

    def _read_call(self, node: fx.Node) -> None:
        if node.target in _IGNORED_FUNCTIONS or _leaves_autocast_off(node):
            return
        if node.op == "call_method" and node.target in _SWITCHES:
            self._refs[node] = self._refs[node.args[0]]  # pyright: ignore[reportArgumentType]
            return
        if node.target is operator.getitem and self._is_tuple_element(node):
            base = self._refs[node.args[0]]  # pyright: ignore[reportArgumentType]
            if isinstance(base, OpRef):
                self._refs[node] = OpRef(base.index, (*base.path, int(node.args[1])))  # pyright: ignore
                return
        try:
            target, args, kwargs = self._spell(node)
        except UnknownCallable:
            if node.users or list(describe_outputs(node.meta.get("example_value"), ())):
                raise
            return  # a note to torch itself, such as that an API was used
        node_args = tuple(encode(arg, self._refs.__getitem__, fx.Node) for arg in args)
        node_kwargs = tuple((name, encode(arg, self._refs.__getitem__, fx.Node)) for name, arg in kwargs.items())
        op = canonical_op(target, node_args, dict(node_kwargs))
        self._refs[node] = OpRef(len(self._nodes))
        self._nodes.append(Node(op, target, node_args, node_kwargs, _outputs_of(node)))

    def _spell(self, node: fx.Node) -> tuple[str, tuple[Any, ...], Mapping[str, Any]]:
        if node.op == "call_method":
            return f"{_METHOD_PREFIX}{node.target}", node.args, node.kwargs
        if node.target is getattr:
            return f"{_METHOD_PREFIX}{node.args[1]}", node.args[:1], {}
        if node.target in _REFLECTED and not isinstance(node.args[0], fx.Node):
            return spell_call(_REFLECTED[node.target], (node.args[1], node.args[0]), {})
        if node.op == "call_function" and callable(node.target):
            return spell_call(node.target, node.args, node.kwargs)
        raise TypeError(f"fx node {node.name}: {node.op} is not a torch-level call")

    def _is_tuple_element(self, node: fx.Node) -> bool:
        """Tell an element of a returned tuple from the indexing of a tensor."""
        source, index = node.args[0], node.args[1]
        if not isinstance(source, fx.Node) or not isinstance(index, int) or isinstance(index, bool):
            return False
        base = self._refs[source]
        if "example_value" in source.meta:
            return not isinstance(source.meta["example_value"], torch.Tensor)
        if not isinstance(base, OpRef):
            return False
        paths = [output.path[: len(base.path) + 1] for output in self._nodes[base.index].outputs]
        return any(len(path) > len(base.path) and path[:-1] == base.path for path in paths)


def _leaves_autocast_off(node: fx.Node) -> bool:
    """Tell the ends of a region that switches autocast off (it is off outside); raises where one switches it on."""
    if node.target is torch.amp.autocast_mode._exit_autocast:
        return True
    if node.target is not torch.amp.autocast_mode._enter_autocast:
        return False
    is_enabled = node.args[2] if len(node.args) > 2 else node.kwargs.get("enabled", True)
    if is_enabled:
        raise UnsupportedArgument("a region under autocast, whose casts a captured module does not show")
    return True


def _inputs_first(tensors: tuple[TensorMeta, ...]) -> list[TensorMeta]:
    """Placeholders must open an fx graph."""
    return sorted(tensors, key=lambda meta: meta.kind != "input")


def _outputs_of(node: fx.Node) -> tuple[OutputMeta, ...]:
    known = node.meta.get(_META_OUTPUTS)
    return known if known is not None else tuple(describe_outputs(node.meta.get("example_value"), ()))
