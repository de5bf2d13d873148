"""A graph to Python source text and back: `model.py` of a sample, and the column `graph_texts.model_py`.

`render` writes one class `GraphModule` with only `forward`, flat arguments (the tensor table in order) and one
statement per op in public torch-level names. `parse` reads such a text with `ast` and never executes it. The text
holds ops, edges and literals; tensors' facts and op outputs travel beside it. `parse(render(g), g.tensors)` equals
`g` but for `Node.outputs`, which come back empty.

Reading rule: at statement level the outermost subscript is an op (`operator.getitem`); a subscript inside an
argument, or under the outermost one, picks an element of a tuple that an op returned.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from types import EllipsisType

from extract.canonical import canonical_op
from extract.graph import Arg, ArgList, ArgSlice, Graph, Node, OpRef, Ref, TensorMeta, TensorRef, TorchConstant

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**", "matmul": "@",
    "and_": "&", "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
    "eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
}  # fmt: skip
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}
OPERATOR_NAMES: dict[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
    ast.LShift: "lshift", ast.RShift: "rshift", ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le",
    ast.Gt: "gt", ast.GtE: "ge", ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert",
}  # fmt: skip
_PROPERTIES = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))
_MEMORY_FORMATS = frozenset(("contiguous_format", "channels_last", "channels_last_3d", "preserve_format"))
_LAYOUTS = frozenset(("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged"))
DTYPES = frozenset(
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
    "float4_e2m1fn_x2 complex128 complex64 complex32 int64 int32 int16 int8 int4 int2 int1 uint64 uint32 uint16 "
    "uint8 uint7 uint6 uint5 uint4 uint3 uint2 uint1 bool quint8 qint8 qint32 bits8 bits16 quint4x2 quint2x4".split()
)


# Where calls live; the last two only in foreign programs that read numbers of tensors.
_ROOTS = ("torch", "operator", "math", "builtins")


class TextError(ValueError):
    """Source text that is not a graph's; says which line and what was found there."""


def render(graph: Graph) -> str:
    """Return the graph's source text; equal graphs give equal texts."""
    names = value_names(graph)
    used = {ref.index for node in graph.nodes for ref in node.refs() if isinstance(ref, OpRef)}
    used.update(ref.index for ref in graph.outputs if isinstance(ref, OpRef))
    writer = _Writer(graph.tensors, names)
    arguments = "".join(f", {tensor.name}" for tensor in graph.tensors)
    lines = ["import operator", "", "import torch", "", "", "class GraphModule(torch.nn.Module):"]
    lines.append(f"    def forward(self{arguments}):")
    for index, node in enumerate(graph.nodes):
        lines.append(f"        {writer.statement(names[index], node, index in used)}")
    outputs = "".join(f"{writer.value(ref)}, " for ref in graph.outputs).rstrip()
    lines.append(f"        return ({outputs})")
    return "\n".join(lines) + "\n"


def value_names(graph: Graph) -> list[str]:
    """Return the local variable of each op in the text: `<op>_<index>`, kept apart from the arguments' names."""
    taken = {tensor.name for tensor in graph.tensors}
    names: list[str] = []
    for index, op in enumerate(graph.op_names):
        name = f"{op.replace('.', '_')}_{index}"
        while name in taken:
            name += "_"
        names.append(name)
    return names


def parse(text: str, tensors: tuple[TensorMeta, ...]) -> Graph:
    """Read a graph from source text and the facts of its tensors; raises `TextError` on anything else.

    `tensors` holds one entry per argument of `forward`, in any order; names tell which is which.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TextError(f"not Python source: {error}") from error
    return _Reader(_find_forward(tree), tensors).read()


def torch_constant(dotted: str) -> TorchConstant | None:
    """Return the constant that a name such as `torch.float32` stands for; None for another name."""
    name = dotted.removeprefix("torch.")
    if name == dotted:
        return None
    if name in DTYPES:
        return TorchConstant("dtype", name)
    if name in _MEMORY_FORMATS:
        return TorchConstant("memory_format", name)
    return TorchConstant("layout", name) if name in _LAYOUTS else None


class _Writer:
    """Writes statements and argument values."""

    def __init__(self, tensors: tuple[TensorMeta, ...], names: list[str]) -> None:
        self._tensors = tensors
        self._names = names

    def statement(self, name: str, node: Node, is_used: bool) -> str:
        """Return the one statement of an op; `x[i] = y` has no value, so it cannot say that its value is used."""
        if node.target == "operator.setitem" and self._is_indexing(node, 3) and not is_used:
            return f"{self.value(node.args[0])}[{self._index(node.args[1])}] = {self.value(node.args[2])}"
        return f"{name} = {self._expression(node)}"

    def value(self, arg: Arg) -> str:
        """Return the source of one argument value."""
        if isinstance(arg, TensorRef):
            return self._tensors[arg.index].name
        if isinstance(arg, OpRef):
            return self._names[arg.index] + "".join(f"[{element}]" for element in arg.path)
        if isinstance(arg, tuple):
            return "(" + ", ".join(map(self.value, arg)) + (",)" if len(arg) == 1 else ")")
        if isinstance(arg, ArgList):
            return "[" + ", ".join(map(self.value, arg.elements)) + "]"
        if isinstance(arg, ArgSlice):
            return f"slice({self.value(arg.start)}, {self.value(arg.stop)}, {self.value(arg.step)})"
        return _literal_source(arg)

    def _expression(self, node: Node) -> str:
        target, name = node.target, node.target.rpartition(".")[2]
        first_is_ref = bool(node.args) and isinstance(node.args[0], TensorRef | OpRef)
        if target == "operator.getitem" and self._is_indexing(node, 2):
            return f"{self.value(node.args[0])}[{self._index(node.args[1])}]"
        if target.startswith("operator.") and name in _BINARY and len(node.args) == 2 and not node.kwargs:
            return f"{self._operand(node.args[0])} {_BINARY[name]} {self._operand(node.args[1])}"
        if (
            target.startswith("operator.")
            and name in _UNARY
            and first_is_ref
            and len(node.args) == 1
            and not node.kwargs
        ):
            return f"{_UNARY[name]}{self.value(node.args[0])}"
        if target.startswith("torch.Tensor.") and first_is_ref:
            if name in _PROPERTIES and len(node.args) == 1 and not node.kwargs:
                return f"{self.value(node.args[0])}.{name}"
            if target.count(".") == 2:
                return f"{self.value(node.args[0])}.{name}({self._arguments(node.args[1:], node)})"
        return f"{target}({self._arguments(node.args, node)})"

    def _operand(self, arg: Arg) -> str:
        source = self.value(arg)
        return f"({source})" if source.startswith("-") else source

    def _arguments(self, positional: tuple[Arg, ...], node: Node) -> str:
        parts = [self.value(arg) for arg in positional]
        parts += [f"{name}={self.value(value)}" for name, value in node.kwargs]
        return ", ".join(parts)

    def _is_indexing(self, node: Node, count: int) -> bool:
        return len(node.args) == count and not node.kwargs and isinstance(node.args[0], TensorRef | OpRef)

    def _index(self, arg: Arg) -> str:
        if isinstance(arg, tuple) and arg:
            return ", ".join(map(self._index_element, arg)) + ("," if len(arg) == 1 else "")
        return self._index_element(arg)

    def _index_element(self, arg: Arg) -> str:
        if not isinstance(arg, ArgSlice):
            return self.value(arg)
        start, stop, step = ("" if bound is None else self.value(bound) for bound in (arg.start, arg.stop, arg.step))
        return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"


class _Reader:
    """Reads the statements of one `forward`."""

    def __init__(self, forward: ast.FunctionDef, tensors: tuple[TensorMeta, ...]) -> None:
        self._forward = forward
        self._tensors = tensors
        self._nodes: list[Node] = []
        self._values: dict[str, Ref] = {tensor.name: TensorRef(i) for i, tensor in enumerate(tensors)}
        arguments = [argument.arg for argument in forward.args.args[1:]]
        if missing := [name for name in arguments if name not in self._values]:
            raise TextError(f"argument {missing[0]} of forward has no tensor record; add one for each argument")

    def read(self) -> Graph:
        """Return the graph of the whole body."""
        outputs: tuple[Ref, ...] | None = None
        for statement in self._forward.body:
            if isinstance(statement, ast.Return):
                outputs = self._returned(statement)
            else:
                self._read_statement(statement)
        if outputs is None:
            raise TextError("forward has no return statement")
        return Graph(tuple(self._nodes), self._tensors, outputs)

    def _read_statement(self, statement: ast.stmt) -> None:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise _unexpected(statement)
        goal = statement.targets[0]
        if isinstance(goal, ast.Subscript):
            operand, index = self._value(goal.value), self._index(goal.slice)
            self._append("operator.setitem", (operand, index, self._value(statement.value)), {})
        elif isinstance(goal, ast.Name):
            self._append(*self._operation(statement.value))
            self._values[goal.id] = OpRef(len(self._nodes) - 1)
        else:
            raise _unexpected(statement)

    def _append(self, target: str, args: tuple[Arg, ...], kwargs: Mapping[str, Arg]) -> None:
        self._nodes.append(Node(canonical_op(target, args, kwargs), target, args, tuple(kwargs.items())))

    def _operation(self, node: ast.expr) -> tuple[str, tuple[Arg, ...], dict[str, Arg]]:
        if isinstance(node, ast.Subscript):
            return "operator.getitem", (self._value(node.value), self._index(node.slice)), {}
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATOR_NAMES:
            return f"operator.{OPERATOR_NAMES[type(node.op)]}", (self._value(node.left), self._value(node.right)), {}
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATOR_NAMES:
            operands = (self._value(node.left), self._value(node.comparators[0]))
            return f"operator.{OPERATOR_NAMES[type(node.ops[0])]}", operands, {}
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATOR_NAMES:
            return f"operator.{OPERATOR_NAMES[type(node.op)]}", (self._value(node.operand),), {}
        if isinstance(node, ast.Attribute) and node.attr in _PROPERTIES:
            return f"torch.Tensor.{node.attr}", (self._value(node.value),), {}
        if isinstance(node, ast.Call):
            return self._call(node)
        raise _unexpected(node)

    def _call(self, node: ast.Call) -> tuple[str, tuple[Arg, ...], dict[str, Arg]]:
        args = tuple(self._value(arg) for arg in node.args)
        kwargs: dict[str, Arg] = {}
        for keyword in node.keywords:
            if keyword.arg is None:
                raise _unexpected(node)
            kwargs[keyword.arg] = self._value(keyword.value)
        dotted = _dotted_name(node.func)
        if dotted is not None and dotted.split(".")[0] in _ROOTS:
            return dotted, args, kwargs
        if isinstance(node.func, ast.Attribute):
            return f"torch.Tensor.{node.func.attr}", (self._value(node.func.value), *args), kwargs
        raise _unexpected(node)

    def _returned(self, statement: ast.Return) -> tuple[Ref, ...]:
        elements = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        refs = [self._value(element) for element in elements if element is not None]
        return tuple(ref for ref in refs if isinstance(ref, TensorRef | OpRef))

    def _value(self, node: ast.expr) -> Arg:
        if isinstance(node, ast.Name):
            return self._name(node)
        if type(node) is ast.Constant:
            return _literal_value(node)
        if isinstance(node, ast.Subscript):
            return self._element(node)
        if isinstance(node, ast.Tuple):
            return tuple(self._value(element) for element in node.elts)
        if isinstance(node, ast.List):
            return ArgList(tuple(self._value(element) for element in node.elts))
        if isinstance(node, ast.Slice):
            bounds = [None if bound is None else self._value(bound) for bound in (node.lower, node.upper, node.step)]
            return ArgSlice(*bounds)
        if isinstance(node, ast.Call):
            return self._literal_call(node)
        if isinstance(node, ast.Attribute):
            return _torch_constant(node)
        return _literal_value(node)

    def _index(self, node: ast.expr) -> Arg:
        return self._value(node)

    def _name(self, node: ast.Name) -> Ref:
        if node.id not in self._values:
            raise TextError(f"line {node.lineno}: {node.id} is used before it is defined")
        return self._values[node.id]

    def _element(self, node: ast.Subscript) -> Ref:
        base, index = self._value(node.value), self._value(node.slice)
        if not isinstance(base, OpRef) or not isinstance(index, int):
            raise _unexpected(node)
        return OpRef(base.index, (*base.path, index))

    def _literal_call(self, node: ast.Call) -> Arg:
        name = _dotted_name(node.func)
        values = [self._value(arg) for arg in node.args]
        if name == "slice" and len(values) == 3:
            return ArgSlice(*values)
        if name == "float" and len(values) == 1 and isinstance(values[0], str):
            return float(values[0])
        if name == "complex" and len(values) == 2 and all(isinstance(v, int | float) for v in values):
            return complex(*values)  # pyright: ignore[reportArgumentType, reportCallIssue]
        if name == "torch.device" and len(values) == 1 and isinstance(values[0], str):
            return TorchConstant("device", values[0])
        raise _unexpected(node)


def _find_forward(tree: ast.Module) -> ast.FunctionDef:
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            for member in statement.body:
                if isinstance(member, ast.FunctionDef) and member.name == "forward":
                    return member
    raise TextError("no class with a forward method")


def _literal_source(value: Arg) -> str:
    if isinstance(value, TorchConstant):
        return f"torch.device({value.name!r})" if value.kind == "device" else f"torch.{value.name}"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float('{value!r}')"
    if isinstance(value, complex):
        return f"complex({_literal_source(value.real)}, {_literal_source(value.imag)})"
    return "..." if isinstance(value, EllipsisType) else repr(value)


def _literal_value(node: ast.expr) -> Arg:
    if isinstance(node, ast.Constant) and not isinstance(node.value, bytes):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if isinstance(number, int | float):
            return -number
    raise _unexpected(node)


def _torch_constant(node: ast.Attribute) -> Arg:
    constant = torch_constant(_dotted_name(node) or "")
    if constant is None:
        raise _unexpected(node)
    return constant


def _dotted_name(node: ast.expr) -> str | None:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def _unexpected(node: ast.AST) -> TextError:
    line = getattr(node, "lineno", "?")
    source = ast.unparse(node) if isinstance(node, ast.expr | ast.stmt) else type(node).__name__
    return TextError(f"line {line}: cannot read {source[:120]!r} as one torch-level call")
