"""The body of a foreign `forward` to its lines, several times as fast as `ast` reads it whole; None for other texts.

Programs repeat their blocks: lines of the kind `name = expression` that differ in local names alone have one form, with
slots in the place of these names, and `ast` reads each form once. Only texts are taken whose last statement is
`forward`, with one complete statement a line: nothing passes that `ast` would read otherwise as a whole. What is wrong
in a text is told by who reads it whole.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass

SLOT = "passnet_slot_"
"""Slots are names that open with it; no text that holds one is taken."""

_HEADER = re.compile(r"^( *)def forward\(.*:[ ]*\n", re.MULTILINE)
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*) = ([^;#]+)((?:; *(?:[A-Za-z_]\w* = )+None)*)", re.ASCII)
_DROPPED = re.compile(r"([A-Za-z_]\w*) =", re.ASCII)
# Strings come first, so that names in them are left alone; a name before `=` is an argument's, one after `.` a field's.
_LOCAL = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|(?<![\w.])([A-Za-z_]\w*)(?!\w)(?! *=(?!=))", re.ASCII)
# Ends of lines and of indentation to Python's tokenizer, and what changes its language.
_UNUSUAL = ("\r", "\f", "\t", "\0", "__future__", SLOT)
_MAX_FORMS = 10_000
_MAX_CHARS = 2_000
"""Of a line that is kept as a form: others would fill the memory."""


@dataclass(frozen=True, slots=True)
class LineForm:
    """An expression with slots, `SLOT` and a number each, and the global names in it."""

    text: str
    expression: ast.expr
    num_slots: int
    free: frozenset[str]


@dataclass(frozen=True, slots=True)
class FormedLine:
    """The statement `goal = form`, `names` in its slots; the names in `dropped` are None after it."""

    goal: str
    form: LineForm
    names: tuple[str, ...]
    dropped: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FormedText:
    """A module that ends with the function `forward`, whose body is `pass` there, and the statements of that body."""

    module: ast.Module
    forward: ast.FunctionDef
    body: Sequence[ast.stmt | FormedLine]


def read_lines(text: str) -> FormedText | None:
    """Return a text line by line; None for one that must be read whole. Linear in the text."""
    if not text.isascii() or any(word in text for word in _UNUSUAL):
        return None
    header = _HEADER.search(text)
    if header is None:
        return None
    indent, end = header[1], header.end()
    lines = _body_lines(text[end:], len(indent))
    try:
        module = ast.parse(f"{text[:end]}{indent} pass\n")
        forward = _function_on(module, text.count("\n", 0, end))
        if forward is None or lines is None:
            return None
        arguments = [*forward.args.posonlyargs, *forward.args.args, *forward.args.kwonlyargs]
        return FormedText(module, forward, _read_body(lines, {argument.arg for argument in arguments}))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _function_on(module: ast.Module, line: int) -> ast.FunctionDef | None:
    """Return the function that opens on a line and has its whole body, one `pass`, on the next."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.lineno == line:
            (*others, last) = node.body
            return node if not others and isinstance(last, ast.Pass) and last.lineno == line + 1 else None
    return None


def _body_lines(text: str, outer: int) -> list[str] | None:
    """Return the lines of a body without indentation; None where it is not the same for all."""
    lines = [line for line in text.split("\n") if line.strip(" ") and not line.lstrip(" ").startswith("#")]
    if not lines:
        return None
    width = len(lines[0]) - len(lines[0].lstrip(" "))
    indent = " " * width
    if width <= outer or any(not line.startswith(indent) or line[width] == " " for line in lines):
        return None
    return [line[width:].rstrip(" ") for line in lines]


def _read_body(lines: Sequence[str], names: set[str]) -> list[ast.stmt | FormedLine]:
    """Read statements over the local `names`, to which theirs are added; raises as `ast.parse`."""
    body: list[ast.stmt | FormedLine] = []
    for line in lines:
        formed = _read_assignment(line, names) if len(line) <= _MAX_CHARS else None
        if formed is not None:
            names.add(formed.goal)
            names.update(formed.dropped)
            body.append(formed)
            continue
        statements = ast.parse(line).body
        names.update(name for statement in statements for name in _stored_names(statement))
        body += statements
    return body


def _stored_names(statement: ast.stmt) -> list[str]:
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return [node.id for node in names if isinstance(node.ctx, ast.Store)]


def _read_assignment(line: str, names: set[str]) -> FormedLine | None:
    """Return an assignment as its form; None for another statement."""
    assignment = _ASSIGNMENT.fullmatch(line)
    if assignment is None:
        return None
    found: list[str] = []

    def mark(match: re.Match[str]) -> str:
        if match[1] not in names:
            return match[0]
        found.append(match[1])
        return f"{SLOT}{len(found) - 1}"

    form = _form_of(_LOCAL.sub(mark, assignment[2]), len(found))
    dropped = _DROPPED.findall(assignment[3])
    if form is None or not form.free.isdisjoint(names) or any(map(keyword.iskeyword, (assignment[1], *dropped))):
        return None
    return FormedLine(assignment[1], form, tuple(found), tuple(dropped))


_forms: dict[str, LineForm] = {}


def _form_of(text: str, num_slots: int) -> LineForm | None:
    """Return the form of a text; None where it is no expression, or a slot in it is no name."""
    known = _forms.get(text)
    if known is not None:
        return known
    try:
        expression = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    names = [node.id for node in ast.walk(expression) if isinstance(node, ast.Name)]
    slots = {name for name in names if name.startswith(SLOT)}
    if slots != {f"{SLOT}{number}" for number in range(num_slots)}:
        return None
    if len(_forms) >= _MAX_FORMS:
        _forms.clear()
    return _forms.setdefault(text, LineForm(text, expression, num_slots, frozenset(names) - slots))
