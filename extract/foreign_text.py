"""A foreign `model.py` to the calls in it: texts of any age of the public corpora, read with `ast` alone.

Reads what `torch.fx` and people have written: private names, aliases (`l_x_ = L_x_`), liveness lines (`x = None`),
methods, in-place operators (`x += y`), nested calls, annotations, tuple unpacking, `device(type='cuda', index=0)`,
grad-mode switches and asserts (left out). Nothing is executed and nothing computed here: a call is one `Node` whose op
is not yet named, and reads of sizes and arithmetic of numbers are nodes too; `extract.foreign_program` resolves
them. Every construct that is not understood raises `TextError` with its line.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from extract.foreign_lines import SLOT, FormedLine, LineForm
from extract.foreign_names import DEFAULT_IMPORTS, is_left_out, public_name
from extract.foreign_source import ForeignSource, read_whole
from extract.graph import LEAVES, REFS, Arg, ArgList, ArgSlice, Node, OpRef, Ref, TensorRef, TorchConstant, map_refs
from extract.text import OPERATOR_NAMES, TextError, torch_constant

# Nesting of one expression: machine-made texts need a handful.
MAX_DEPTH = 60
# No integer of torch is wider.
_MAX_INT_BITS = 64
_MAX_RANGE = 10_000
# Forms of lines remembered per meaning of the global names.
_MAX_FORMS = 10_000

_CONSTANTS: dict[str, Arg] = {
    "math.inf": math.inf, "math.nan": math.nan, "torch.inf": math.inf, "torch.nan": math.nan, "math.pi": math.pi,
    "torch.pi": math.pi, "math.e": math.e, "torch.e": math.e, "builtins.Ellipsis": ..., "torch.newaxis": None,
}  # fmt: skip
_REF_TYPES: frozenset[type] = frozenset(REFS)
_LEGACY_DTYPES = {"torch.float": "float32", "torch.double": "float64", "torch.half": "float16", "torch.long": "int64",
                  "torch.int": "int32", "torch.short": "int16", "torch.cfloat": "complex64",
                  "torch.cdouble": "complex128", "builtins.float": "float64", "builtins.int": "int64",
                  "builtins.bool": "bool"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of `forward` in order, their ops not yet named, and what it returns."""

    nodes: tuple[Node, ...]
    returned: tuple[Arg, ...]


def read_calls(source: ForeignSource, values: Mapping[str, Arg]) -> Calls:
    """Return the calls of a source; `values` says what each argument stands for: a tensor, or a number.

    Raises `TextError`. Linear in the text.
    """
    try:
        return _Reader(source, values).read()
    except TextError:  # told of the whole text, whose lines have their numbers
        return _Reader(read_whole(source.text), values).read()


@dataclass(frozen=True, slots=True)
class FormedCalls:
    """The calls of a line's form and what its expression stands for; operand n is `OpRef(-1 - n)`."""

    nodes: tuple[Node, ...]
    value: Arg


class _Reader:
    """Evaluates statements into `Node`s; `_values` holds what each local name stands for."""

    def __init__(self, source: ForeignSource, values: Mapping[str, Arg]) -> None:
        self._source = source
        self._imports = {**DEFAULT_IMPORTS, **source.imports}
        self._values: dict[str, Arg] = dict(values)
        self._nodes: list[Node] = []
        self._returned: tuple[Arg, ...] | None = None
        self._formed = _formed_calls(frozenset(source.imports.items()), source.rebound)

    def read(self) -> Calls:
        """Return the calls of the whole body."""
        self._read_block(self._source.body)
        if self._returned is None:
            raise TextError("forward has no return statement")
        return Calls(tuple(self._nodes), self._returned)

    def _read_block(self, statements: Sequence[ast.stmt | FormedLine]) -> None:
        for statement in statements:
            if isinstance(statement, FormedLine):
                self._read_formed(statement)
            else:
                self._read_statement(statement)
            if self._returned is not None:
                return

    def _read_formed(self, line: FormedLine) -> None:
        """Read an assignment as one of its form before it, where its names stand for operands."""
        try:
            operands = [self._values[name] for name in line.names]
        except KeyError as error:
            raise TextError(f"{error} is used before it is defined") from error
        if _REF_TYPES.issuperset(map(type, operands)):
            value = self._repeat(self._read_once(line.form), operands)  # pyright: ignore[reportArgumentType]
        else:
            slots = {f"{SLOT}{number}": operand for number, operand in enumerate(operands)}
            values, self._values = self._values, slots
            value = self._value(line.form.expression, 0)
            self._values = values
        self._values[line.goal] = value
        self._values.update(dict.fromkeys(line.dropped))

    def _read_once(self, form: LineForm) -> FormedCalls:
        known = self._formed.get(form.text)
        if known is None:
            slots = {f"{SLOT}{number}": OpRef(-1 - number) for number in range(form.num_slots)}
            reader = _Reader(self._source, slots)
            value = reader._value(form.expression, 0)
            if len(self._formed) >= _MAX_FORMS:
                self._formed.clear()
            known = self._formed[form.text] = FormedCalls(tuple(reader._nodes), value)
        return known

    def _repeat(self, calls: FormedCalls, operands: Sequence[Ref]) -> Arg:
        """Append the calls of a form, operands in its slots; return what its expression stands for."""
        start = len(self._nodes)

        def moved(ref: Ref) -> Ref:
            return operands[-1 - ref.index] if ref.index < 0 else OpRef(start + ref.index)

        for node in calls.nodes:
            args = tuple([arg if type(arg) in LEAVES else map_refs(arg, moved) for arg in node.args])
            kwargs = tuple([(name, map_refs(arg, moved)) for name, arg in node.kwargs]) if node.kwargs else ()
            self._nodes.append(Node("", node.target, args, kwargs))
        return map_refs(calls.value, moved)

    def _read_statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            self._assign(statement.targets, statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            self._assign([statement.target], statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._update(statement)
        elif isinstance(statement, ast.Return):
            value = None if statement.value is None else self._value(statement.value, 0)
            self._returned = value if isinstance(value, tuple) else (value,)
        elif isinstance(statement, ast.Expr):
            self._value(statement.value, 0)
        elif isinstance(statement, ast.With):
            self._enter(statement)
        elif isinstance(statement, ast.Delete):
            for goal in statement.targets:
                if isinstance(goal, ast.Name):
                    self._values.pop(goal.id, None)
        elif isinstance(statement, ast.Assert):
            _check_pure(statement)
        elif not isinstance(statement, ast.Pass | ast.Import | ast.ImportFrom | ast.AnnAssign):
            raise _unexpected(statement)

    def _assign(self, goals: Sequence[ast.expr], expression: ast.expr) -> None:
        value = self._value(expression, 0)
        for goal in goals:
            self._bind(goal, value)

    def _bind(self, goal: ast.expr, value: Arg) -> None:
        if isinstance(goal, ast.Name):
            self._values[goal.id] = value
        elif isinstance(goal, ast.Tuple | ast.List):
            self._unpack(goal, value)
        elif isinstance(goal, ast.Subscript):
            operand, index = self._value(goal.value, 0), self._value(goal.slice, 0)
            if not isinstance(operand, TensorRef | OpRef):
                raise _unexpected(goal)
            self._append("operator.setitem", (operand, index, value))
        else:
            raise _unexpected(goal)

    def _unpack(self, goal: ast.Tuple | ast.List, value: Arg) -> None:
        elements = value.elements if isinstance(value, ArgList) else value
        if isinstance(elements, tuple) and len(elements) != len(goal.elts):
            raise _unexpected(goal)
        for position, element in enumerate(goal.elts):
            if isinstance(elements, tuple):
                self._bind(element, elements[position])
            elif isinstance(value, OpRef):
                self._bind(element, self._append("operator.getitem", (value, position)))
            else:
                raise _unexpected(goal)

    def _update(self, statement: ast.AugAssign) -> None:
        goal, plain_name = statement.target, OPERATOR_NAMES[type(statement.op)]
        inplace_name = f"i{plain_name.rstrip('_')}"
        if isinstance(goal, ast.Name):
            operand = self._value(goal, 0)
            value = self._value(statement.value, 0)
            name = inplace_name if isinstance(operand, TensorRef | OpRef) else plain_name
            self._values[goal.id] = self._append(f"operator.{name}", (operand, value))
        elif isinstance(goal, ast.Subscript):
            base, index = self._value(goal.value, 0), self._value(goal.slice, 0)
            part = self._append("operator.getitem", (base, index))
            updated = self._append(f"operator.{inplace_name}", (part, self._value(statement.value, 0)))
            self._append("operator.setitem", (base, index, updated))
        else:
            raise _unexpected(statement)

    def _enter(self, statement: ast.With) -> None:
        """Read a block whose context computes nothing: a grad mode."""
        for context in statement.items:
            call = context.context_expr
            name = self._dotted(call.func) if isinstance(call, ast.Call) else None
            if name is None or not is_left_out(name):
                raise _unexpected(statement)
        self._read_block(statement.body)

    def _append(self, target: str, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...] = ()) -> OpRef:
        self._nodes.append(Node("", target, args, kwargs))
        return OpRef(len(self._nodes) - 1)

    def _value(self, node: ast.expr, depth: int) -> Arg:
        if depth > MAX_DEPTH:
            raise TextError(f"line {node.lineno}: an expression is nested deeper than {MAX_DEPTH}")
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Constant):
            return _literal(node)
        if isinstance(node, ast.Call):
            return self._call(node, depth + 1)
        if isinstance(node, ast.Attribute):
            return self._attribute(node, depth + 1)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth + 1)
        if isinstance(node, ast.Tuple):
            return tuple([self._value(element, depth + 1) for element in node.elts])
        if isinstance(node, ast.List):
            return ArgList(tuple([self._value(element, depth + 1) for element in node.elts]))
        if isinstance(node, ast.Slice):
            bounds = (node.lower, node.upper, node.step)
            return ArgSlice(*[None if bound is None else self._value(bound, depth + 1) for bound in bounds])
        return self._operator(node, depth + 1)

    def _operator(self, node: ast.expr, depth: int) -> Arg:
        if isinstance(node, ast.UnaryOp) and type(node.op) in OPERATOR_NAMES:
            operand = self._value(node.operand, depth)
            if isinstance(operand, int | float | complex) and type(node.op) is ast.USub and operand is not True:
                return -operand
            return self._append(f"operator.{OPERATOR_NAMES[type(node.op)]}", (operand,))
        if isinstance(node, ast.BinOp):
            operands = (self._value(node.left, depth), self._value(node.right, depth))
            return self._append(f"operator.{OPERATOR_NAMES[type(node.op)]}", operands)
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATOR_NAMES:
            operands = (self._value(node.left, depth), self._value(node.comparators[0], depth))
            return self._append(f"operator.{OPERATOR_NAMES[type(node.ops[0])]}", operands)
        raise _unexpected(node)

    def _name(self, node: ast.Name) -> Arg:
        if node.id in self._values:
            return self._values[node.id]
        dotted = self._global(node)
        if dotted is None:
            raise TextError(f"line {node.lineno}: {node.id[:80]} is used before it is defined")
        return _constant(dotted, node)

    def _global(self, node: ast.Name) -> str | None:
        """Return the qualified name that a global one stands for; None for one that nobody imports."""
        if node.id in self._source.rebound:
            raise TextError(f"line {node.lineno}: the module gives {node.id[:80]} another meaning")
        return self._imports.get(node.id)

    def _attribute(self, node: ast.Attribute, depth: int) -> Arg:
        dotted = self._dotted(node)
        if dotted is not None:
            return _constant(dotted, node)
        return self._fact(self._value(node.value, depth), node.attr, node)

    def _fact(self, base: Arg, name: str, node: ast.expr) -> Arg:
        if not isinstance(base, TensorRef | OpRef):
            raise _unexpected(node)
        return self._append(f"torch.Tensor.{name}", (base,))

    def _subscript(self, node: ast.Subscript, depth: int) -> Arg:
        base, index = self._value(node.value, depth), self._value(node.slice, depth)
        elements = base.elements if isinstance(base, ArgList) else base
        if isinstance(elements, tuple) and isinstance(index, int) and -len(elements) <= index < len(elements):
            return elements[index]
        if not isinstance(base, TensorRef | OpRef):
            raise _unexpected(node)
        return self._append("operator.getitem", (base, index))

    def _call(self, node: ast.Call, depth: int) -> Arg:
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(word.arg is None for word in node.keywords):
            raise _unexpected(node)
        dotted = self._dotted(node.func)
        if dotted is not None and is_left_out(dotted):
            return None
        args = tuple([self._value(arg, depth) for arg in node.args])
        kwargs = tuple([(str(word.arg), self._value(word.value, depth)) for word in node.keywords])
        if dotted is None:
            if not isinstance(node.func, ast.Attribute):
                raise _unexpected(node)
            base = self._value(node.func.value, depth)
            if not isinstance(base, TensorRef | OpRef):
                raise _unexpected(node)
            return self._append(public_name(f"torch.Tensor.{node.func.attr}"), (base, *args), kwargs)
        return self._named_call(dotted, args, kwargs, node)

    def _named_call(
        self, dotted: str, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...], node: ast.Call
    ) -> Arg:
        if dotted == "torch.device":
            return _device(args, dict(kwargs), node)
        if dotted == "builtins.getattr" and len(args) == 2 and isinstance(args[1], str):
            return self._fact(args[0], args[1], node)
        if dotted in ("builtins.float", "builtins.complex") and not any(map(_is_ref, args)):
            return _number(dotted, args, node)
        if dotted == "builtins.slice" and 1 <= len(args) <= 3:
            return ArgSlice(None, args[0], None) if len(args) == 1 else ArgSlice(*(*args, None)[:3])
        if dotted in ("torch.Size", "builtins.tuple", "builtins.list") and len(args) == 1:
            elements = args[0].elements if isinstance(args[0], ArgList) else args[0]
            if isinstance(elements, tuple):
                return ArgList(elements) if dotted == "builtins.list" else elements
            return args[0]
        if dotted == "builtins.range" and all(isinstance(arg, int) for arg in args):
            numbers = range(*args)  # pyright: ignore[reportArgumentType, reportCallIssue]
            if len(numbers) <= _MAX_RANGE:
                return tuple(numbers)
        if dotted.partition(".")[0] not in ("torch", "operator", "math", "builtins"):
            raise _unexpected(node)
        return self._append(public_name(dotted), args, kwargs)

    def _dotted(self, node: ast.expr) -> str | None:
        """Return the qualified name of a global; None for an expression over local values."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self._values:
            return None
        root = self._global(node)
        return None if root is None else ".".join([root, *reversed(parts)])


@lru_cache(maxsize=8)
def _formed_calls(imports: frozenset[tuple[str, str]], rebound: frozenset[str]) -> dict[str, FormedCalls]:
    """Return the calls of forms read before, by text, in modules whose global names have these meanings."""
    return {}


_PURE_CALLS = ("isinstance", "len", "hasattr", "all", "any")


def _check_pure(statement: ast.Assert) -> None:
    """Refuse an assertion that calls what might have an effect; others change nothing and are left out."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _PURE_CALLS):
            raise _unexpected(statement)


def _literal(node: ast.Constant) -> Arg:
    value = node.value
    if isinstance(value, int) and value.bit_length() > _MAX_INT_BITS:
        raise TextError(f"line {node.lineno}: an integer of {value.bit_length()} bits; torch's have {_MAX_INT_BITS}")
    if isinstance(value, bytes):
        raise _unexpected(node)
    return value


def _constant(dotted: str, node: ast.expr) -> Arg:
    if dotted in _CONSTANTS:
        return _CONSTANTS[dotted]
    if dotted in _LEGACY_DTYPES:
        return TorchConstant("dtype", _LEGACY_DTYPES[dotted])
    constant = torch_constant(dotted)
    if constant is None:
        raise _unexpected(node)
    return constant


def _device(args: tuple[Arg, ...], kwargs: Mapping[str, Arg], node: ast.Call) -> TorchConstant:
    given = dict(zip(("type", "index"), args, strict=False)) | dict(kwargs)
    kind, index = given.get("type"), given.get("index")
    if isinstance(kind, TorchConstant) and kind.kind == "device":
        return kind
    if not isinstance(kind, str) or not isinstance(index, int | None):
        raise _unexpected(node)
    return TorchConstant("device", kind if index is None else f"{kind}:{index}")


def _number(dotted: str, args: tuple[Arg, ...], node: ast.Call) -> float | complex:
    try:
        return (float if dotted == "builtins.float" else complex)(*args)  # pyright: ignore[reportArgumentType, reportCallIssue]
    except (TypeError, ValueError, OverflowError) as error:
        raise _unexpected(node) from error


def _is_ref(value: Arg) -> bool:
    return isinstance(value, Ref)


def _unexpected(node: ast.AST) -> TextError:
    line, kind = getattr(node, "lineno", "?"), type(node).__name__
    return TextError(f"line {line}: a {kind} that is no torch-level call, number or name")
