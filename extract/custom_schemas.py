"""What the schema of a custom op says about its effects: which operands it writes into, and whether it is random.

A graph holds a call's name and arguments, not the op's schema; that travels apart (table `custom_ops`). Who traces or
reads graphs with custom ops declares their schemas first, and `extract.canonical` asks here. Declarations are known to
one process. An op without one is taken at its worst where that is safe: one that returns nothing writes into all its
operands. Hashes never depend on declarations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from extract.graph import Node, Ref, iter_refs

TORCH_NAMESPACES = ("aten", "prim", "prims")
"""Those of torch.ops that are torch's own."""

_PREFIX = "torch.ops."
_NAME = re.compile(r"(?:[\w.]+::)?[\w.]+\((.*)\)\s*->", re.DOTALL)
_PARAMETER = re.compile(r"(?P<type>\S.*?)\s+(?P<name>\w+)(?:\s*=.*)?$", re.DOTALL)
_WRITTEN = re.compile(r"\([^()]*!")


@dataclass(frozen=True, slots=True)
class Effects:
    """The operands that an op writes into, as (position or None for keyword-only, name), and whether it is random."""

    written: tuple[tuple[int | None, str], ...]
    is_random: bool = False


_declared: dict[str, Effects] = {}


def is_custom(target: str) -> bool:
    """Tell whether a spelling names an op from outside torch's own namespaces."""
    return target.startswith(_PREFIX) and target.split(".")[2] not in TORCH_NAMESPACES


def declare_schema(name: str, schema: str, is_random: bool = False) -> None:
    """Remember the effects of the op `namespace.name`; raises ValueError when `schema` is not one of torch's."""
    _declared[name] = Effects(_written_parameters(schema), is_random)


def effects_of(target: str) -> Effects | None:
    """Return the declared effects of the op behind a spelling, its overload not considered; None where unknown."""
    return _declared.get(_op_name(target))


def is_declared_random(target: str) -> bool:
    """Tell whether the op behind a spelling was declared as random."""
    effects = effects_of(target)
    return effects is not None and effects.is_random


def written_by_schema(node: Node) -> tuple[Ref, ...]:
    """Return the operands that a custom op writes into; of an undeclared op that returns nothing, all operands."""
    effects = effects_of(node.target)
    if effects is None:
        return () if node.outputs else tuple(node.refs())
    named = dict(node.kwargs)
    found: list[Ref] = []
    for position, name in effects.written:
        if name in named:
            found.extend(iter_refs(named[name]))
        elif position is not None and position < len(node.args):
            found.extend(iter_refs(node.args[position]))
    return tuple(found)


def _op_name(target: str) -> str:
    return ".".join(target.removeprefix(_PREFIX).split(".")[:2])


def _written_parameters(schema: str) -> tuple[tuple[int | None, str], ...]:
    match = _NAME.match(schema.strip())
    if match is None:
        raise ValueError(f"not an op's schema: {schema[:120]!r}")
    written: list[tuple[int | None, str]] = []
    is_positional = True
    for position, text in enumerate(_split(match[1])):
        if text == "*":
            is_positional = False
            continue
        parameter = _PARAMETER.match(text)
        if parameter is None:
            raise ValueError(f"not a parameter of an op's schema: {text[:120]!r}")
        if _WRITTEN.search(parameter["type"]):
            written.append((position if is_positional else None, parameter["name"]))
    return tuple(written)


def _split(parameters: str) -> list[str]:
    """Split at the commas outside brackets and strings."""
    parts, depth, quote = [""], 0, ""
    for character in parameters:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        depth += (character in "([") - (character in ")]") if not quote else 0
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
