"""A foreign `model.py` to its parts: the arguments of `forward`, the statements of its body, what global names mean.

Read with `ast` alone, line by line where the text allows it (`extract.foreign_lines`). `extract.foreign_text` reads the
body. What may give names another meaning, or calls something beside the class, raises `TextError` with its line.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from extract.foreign_lines import FormedLine, read_lines
from extract.text import TextError


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of `forward`: its name, and its annotation as source (empty where it has none)."""

    name: str
    annotation: str


@dataclass(frozen=True, slots=True)
class ForeignSource:
    """A `model.py` as it is read; `imports` says what its global names stand for, `rebound` which names the module
    binds otherwise. Assignments of `body` may be formed."""

    text: str
    arguments: tuple[Argument, ...]
    body: Sequence[ast.stmt | FormedLine]
    imports: Mapping[str, str]
    rebound: frozenset[str] = frozenset()


def read_source(text: str) -> ForeignSource:
    """Parse a text and find its `forward`; raises `TextError` where there is none, or no Python."""
    formed = read_lines(text)
    if formed is not None:
        try:
            if _find_forward(formed.module) is formed.forward:
                return _source(text, formed.module, formed.forward, formed.body)
        except TextError:
            pass  # told of the whole text, too
    return read_whole(text)


def read_whole(text: str) -> ForeignSource:
    """Parse a text whole, so that all its statements have their lines; raises as `read_source`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise TextError(f"not Python source: {type(error).__name__}: {str(error)[:200]}") from error
    forward = _find_forward(tree)
    return _source(text, tree, forward, forward.body)


def same_name(name: str) -> str:
    """Return a name as Python's parser spells identifiers, to compare with one found in a string."""
    return unicodedata.normalize("NFKC", name)


def _source(
    text: str, tree: ast.Module, forward: ast.FunctionDef, body: Sequence[ast.stmt | FormedLine]
) -> ForeignSource:
    given = forward.args
    if given.vararg or given.kwarg:
        raise TextError(f"line {forward.lineno}: forward takes *args or **kwargs, so its arguments are not known")
    arguments = [*given.posonlyargs, *given.args][1:] + given.kwonlyargs
    named = tuple([Argument(argument.arg, _annotation(argument.annotation)) for argument in arguments])
    return ForeignSource(text, named, body, _read_imports(tree), _rebound_names(tree))


def _find_forward(tree: ast.Module) -> ast.FunctionDef:
    """Return the one forward of the class that counts: `GraphModule`, or the only one that has a forward."""
    classes = [statement for statement in tree.body if isinstance(statement, ast.ClassDef)]
    found = [(kind, forward) for kind in classes for forward in _forwards_of(kind)]
    found = [pair for pair in found if pair[0].name == "GraphModule"] or found
    if not found:
        raise TextError("no class with a forward method")
    (kind, forward), *others = found
    if others:
        raise TextError(f"line {others[0][1].lineno}: another forward of {others[0][0].name}; which one counts?")
    if kind.decorator_list or forward.decorator_list:
        raise TextError(f"line {forward.lineno}: a decorator may change what forward does")
    return forward


def _forwards_of(kind: ast.ClassDef) -> list[ast.FunctionDef]:
    members = [member for member in kind.body if isinstance(member, ast.FunctionDef)]
    return [member for member in members if member.name == "forward" and member.args.args]


def _rebound_names(tree: ast.Module) -> frozenset[str]:
    """Return the names that the module binds itself, but for imports; raises `TextError` for what changes others."""
    names: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom | ast.ClassDef):
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(statement.name)
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
                raise TextError(f"line {node.lineno}: the module changes something beside its own names")
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            raise TextError(f"line {statement.lineno}: the module calls something beside its class")
    return frozenset(names)


def _read_imports(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                root = alias.name if alias.asname else alias.name.partition(".")[0]
                found[alias.asname or root] = root
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            for alias in statement.names:
                found[alias.asname or alias.name] = f"{statement.module}.{alias.name}"
    found.pop("*", None)
    return {name: {"_operator": "operator"}.get(dotted, dotted) for name, dotted in found.items()}


def _annotation(node: ast.expr | None) -> str:
    if node is None:
        return ""
    if isinstance(node, ast.Constant):
        return str(node.value)
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""
