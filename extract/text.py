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
import keyword
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType

from extract.call_forms import FormedCall, FormMemo, Template, form_calls, read_template, slot_mark
from extract.canonical import canonical_op
from extract.graph import (
    REFS,
    Arg,
    ArgList,
    ArgSlice,
    Graph,
    Node,
    OpRef,
    Ref,
    TensorMeta,
    TensorRef,
    TorchConstant,
    map_refs,
)

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


def render(graph: Graph, calls: Sequence[FormedCall] | None = None) -> str:
    """Return the graph's source text; equal graphs give equal texts. Its `calls` are formed where not given."""
    calls = form_calls(graph.nodes) if calls is None else calls
    names = value_names(graph)
    used = {ref.index for _, refs in calls for ref in refs if type(ref) is OpRef}
    used.update(ref.index for ref in graph.outputs if isinstance(ref, OpRef))

    def name(ref: Ref) -> str:
        if isinstance(ref, TensorRef):
            return graph.tensors[ref.index].name
        return names[ref.index] + "".join([f"[{element}]" for element in ref.path]) if ref.path else names[ref.index]

    arguments = "".join([f", {tensor.name}" for tensor in graph.tensors])
    lines = ["import operator", "", "import torch", "", "", "class GraphModule(torch.nn.Module):"]
    lines.append(f"    def forward(self{arguments}):")
    for index, (form, refs) in enumerate(calls):
        statement = _statements.find(form)
        lines.append(f"        {statement.source(names[index], [name(ref) for ref in refs], index in used)}")
    outputs = "".join([f"{name(ref)}, " for ref in graph.outputs]).rstrip()
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
    graph = _parse_lines(text, tensors)
    if graph is not None:
        return graph
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TextError(f"not Python source: {error}") from error
    forward = _find_forward(tree)
    reader = _Reader(_named_tensors([argument.arg for argument in forward.args.args[1:]], tensors))
    return _graph(reader.read(forward.body), reader, tensors)


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


@dataclass(frozen=True, slots=True)
class _Statement:
    """The one statement of a call, by its form: its expression, or the whole of `x[i] = y`, which has no value, so that
    it cannot say that its value is used."""

    expression: Template
    write: Template | None

    def source(self, name: str, operands: Sequence[str], is_used: bool) -> str:
        if self.write is not None and not is_used:
            return self.write.fill(operands)
        return f"{name} = {self.expression.fill(operands)}"


class _Writer:
    """Writes a call with slots."""

    def statement(self, call: Node) -> _Statement:
        write = None
        if slot_mark(TensorRef(-1))[0] in call.target:
            raise TextError("a name that holds a NUL")
        if call.target == "operator.setitem" and self._is_indexing(call, 3):
            goal = f"{self.value(call.args[0])}[{self._index(call.args[1])}]"
            write = read_template(f"{goal} = {self.value(call.args[2])}")
        return _Statement(read_template(self._expression(call)), write)

    def value(self, arg: Arg) -> str:
        """Return the source of one argument value; marks stand for its slots."""
        if isinstance(arg, REFS):
            return slot_mark(arg)
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


_statements = FormMemo(_Writer().statement)


def _named_tensors(arguments: Sequence[str], tensors: tuple[TensorMeta, ...]) -> dict[str, Ref]:
    values: dict[str, Ref] = {tensor.name: TensorRef(index) for index, tensor in enumerate(tensors)}
    if missing := [name for name in arguments if name not in values]:
        raise TextError(f"argument {missing[0]} of forward has no tensor record; add one for each argument")
    return values


def _graph(outputs: tuple[Ref, ...] | None, reader: _Reader, tensors: tuple[TensorMeta, ...]) -> Graph:
    if outputs is None:
        raise TextError("forward has no return statement")
    return Graph(tuple(reader.nodes), tensors, outputs)


# What `render` writes before the first statement, and around each. Strings come first, so that names in them are left
# alone; a name before `=` is an argument's.
_FORWARD = re.compile(
    r"import operator\n\nimport torch\n\n\nclass GraphModule\(torch\.nn\.Module\):\n"
    r"    def forward\(self((?:, [A-Za-z_]\w*)*)\):\n"
)
_ASSIGNMENT = re.compile(r"        ([A-Za-z_]\w*) = (.+)")
_NAME = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.])([A-Za-z_]\w*)(?!=)")
_NOT_VALUES = frozenset((*_ROOTS, "float", "complex", "slice", *keyword.kwlist))
_SLOT = "passnet_slot_"
_HOLDERS = (tuple, ArgList, ArgSlice)
_MAX_FORMS = 50_000
_forms: dict[str, Node] = {}


def _parse_lines(text: str, tensors: tuple[TensorMeta, ...]) -> Graph | None:
    """Read a text in the form that `render` gives, several times as fast; None for any other.

    Programs repeat their blocks: a line is read with `ast` once for all lines that differ in their operands alone. Each
    line must be a statement by itself, so nothing passes that `ast` would read otherwise as a whole.
    """
    head = _FORWARD.match(text)
    if head is None or not text.isascii() or _SLOT in text:
        return None
    try:
        reader = _Reader(_named_tensors(head[1].split(", ")[1:], tensors))
        if not _NOT_VALUES.isdisjoint(reader.values):
            return None
        *lines, last = text[head.end() :].removesuffix("\n").split("\n")
        for line in lines:
            _read_line(reader, line)
        if not last.startswith("        return "):
            return None
        forward = _find_forward(ast.parse(f"class GraphModule:\n    def forward():\n{last}"))
        return _graph(reader.read(forward.body), reader, tensors)
    except (TextError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read_line(reader: _Reader, line: str) -> None:
    """Read one line of the body, by the form of a line before it where there is one; raises what `parse` turns."""
    assignment = _ASSIGNMENT.fullmatch(line)
    if assignment is None or assignment[1] in _NOT_VALUES:
        if not line.startswith("        ") or line[8] == " ":
            raise TextError("not a line of ours")
        reader.read(ast.parse(line[8:]).body)
        return
    refs: list[Ref] = []

    def mark(match: re.Match[str]) -> str:
        ref = reader.values.get(match[1]) if match[1] else None
        if ref is None:
            return match[0]
        refs.append(ref)
        return f"{_SLOT}{len(refs) - 1}"

    form = _NAME.sub(mark, assignment[2])
    known = _forms.get(form)
    if known is None:
        slots: dict[str, Ref] = {f"{_SLOT}{number}": OpRef(-1 - number) for number in range(len(refs))}
        of_form = _Reader(slots)
        of_form.append(*of_form.operation(ast.parse(form, mode="eval").body))
        if len(_forms) >= _MAX_FORMS:
            _forms.clear()
        known = _forms[form] = of_form.nodes[0]
    args = tuple([_filled(arg, refs) for arg in known.args])
    kwargs = tuple([(name, _filled(arg, refs)) for name, arg in known.kwargs])
    reader.nodes.append(Node(known.op, known.target, args, kwargs))
    reader.values[assignment[1]] = OpRef(len(reader.nodes) - 1)


def _filled(arg: Arg, refs: Sequence[Ref]) -> Arg:
    """Put the operands of a line in the place of its form's."""
    if isinstance(arg, OpRef):
        return _with_path(refs[-1 - arg.index], arg.path)
    if isinstance(arg, _HOLDERS):
        return map_refs(arg, lambda ref: _filled(ref, refs))
    return arg


def _with_path(ref: Ref, path: tuple[int, ...]) -> Ref:
    if not path:
        return ref
    if not isinstance(ref, OpRef):
        raise TextError("an element of a tensor is no operand")
    return OpRef(ref.index, (*ref.path, *path))


class _Reader:
    """Reads statements with `ast`: `values` says what names stand for, `nodes` are the ops so far."""

    def __init__(self, values: dict[str, Ref]) -> None:
        self.values = values
        self.nodes: list[Node] = []

    def read(self, body: Sequence[ast.stmt]) -> tuple[Ref, ...] | None:
        """Read statements; return what a return statement among them returns."""
        outputs: tuple[Ref, ...] | None = None
        for statement in body:
            if isinstance(statement, ast.Return):
                outputs = self._returned(statement)
            else:
                self._read_statement(statement)
        return outputs

    def _read_statement(self, statement: ast.stmt) -> None:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            raise _unexpected(statement)
        goal = statement.targets[0]
        if isinstance(goal, ast.Subscript):
            operand, index = self._value(goal.value), self._index(goal.slice)
            self.append("operator.setitem", (operand, index, self._value(statement.value)), {})
        elif isinstance(goal, ast.Name):
            self.append(*self.operation(statement.value))
            self.values[goal.id] = OpRef(len(self.nodes) - 1)
        else:
            raise _unexpected(statement)

    def append(self, target: str, args: tuple[Arg, ...], kwargs: Mapping[str, Arg]) -> None:
        """Add one op."""
        self.nodes.append(Node(canonical_op(target, args, kwargs), target, args, tuple(kwargs.items())))

    def operation(self, node: ast.expr) -> tuple[str, tuple[Arg, ...], dict[str, Arg]]:
        """Return target and arguments of the one call that an expression is; raises TextError."""
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
        for given in node.keywords:
            if given.arg is None:
                raise _unexpected(node)
            kwargs[given.arg] = self._value(given.value)
        dotted = _dotted_name(node.func)
        if dotted is not None and dotted.split(".")[0] in _ROOTS:
            return dotted, args, kwargs
        if isinstance(node.func, ast.Attribute):
            return f"torch.Tensor.{node.func.attr}", (self._value(node.func.value), *args), kwargs
        raise _unexpected(node)

    def _returned(self, statement: ast.Return) -> tuple[Ref, ...]:
        elements = statement.value.elts if isinstance(statement.value, ast.Tuple) else [statement.value]
        refs = [self._value(element) for element in elements if element is not None]
        return tuple(ref for ref in refs if isinstance(ref, REFS))

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
        if node.id not in self.values:
            raise TextError(f"line {node.lineno}: {node.id} is used before it is defined")
        return self.values[node.id]

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
