"""Ops that a graph calls from outside torch: which they are, and the Python source that registers them.

An op counts as custom when it lies outside the namespaces of `KNOWN_NAMESPACES` (definitions.md section 2). Its
source is the file of the function that `torch.library.custom_op` or `torch.library.impl` registered, read as text;
ops that C++ registered have none.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from extract.custom_schemas import declare_schema, effects_of
from extract.graph import Graph
from extract.licence import find_licence
from extract.op_tables import load_op_names

KNOWN_NAMESPACES = frozenset({"aten", "prim", "prims", "torch", "torchvision"})

# What the source of an accessible op may import (definitions.md section 2).
_ALLOWED_IMPORTS = frozenset({"torch", "triton"}) | frozenset(sys.stdlib_module_names)
_IMPORTING_CALLS = frozenset({"import_module", "__import__", "find_spec", "run_module", "run_path"})

_TORCH_FOLDER = Path(torch.__file__).parent

# How `torch._C._dispatch_dump` says where a schema or a kernel was registered.
_REGISTERED_AT = re.compile(r"registered at (.+):\d+(?: |$)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CustomOp:
    """An op outside torch that a graph calls, with the Python source that registers it where there is one."""

    name: str
    schema: str | None = None
    source: str | None = None
    licence: str | None = None


def custom_targets(graph: Graph) -> tuple[str, ...]:
    """Return the spellings of the custom ops that a graph calls, sorted, each once."""
    return tuple(sorted({node.target for node in graph.nodes if _is_custom(node.target)}))


def collect_custom_ops(graph: Graph) -> tuple[CustomOp, ...]:
    """Return the custom ops of a graph with schema and source as registered in this process."""
    return tuple(_describe(target) for target in custom_targets(graph))


def declare_op(target: str) -> None:
    """Declare the schema of an op registered in this process, so that its effects are known."""
    name = _qualified(target)
    if effects_of(target) is not None:
        return
    schema = _schema(name)
    if schema is not None:
        declare_schema(name.replace("::", "."), schema, _is_random(name))


def registered_schema(name: str) -> str | None:
    """Return the schema of the op `namespace.name` as this process knows it; null where it is not registered."""
    return _schema(name.replace(".", "::", 1))


def forbidden_import(source: str) -> str | None:
    """Return the first module that a source imports beyond torch, triton and the standard library, if any.

    Imports by call (`importlib.import_module`, `__import__`) count wherever they stand; one whose name is no constant
    is returned as its expression. Raises `SyntaxError` when the text is not Python.
    """
    for node in ast.walk(ast.parse(source)):
        for name in _imported(node):
            if name.split(".")[0] not in _ALLOWED_IMPORTS:
                return name
    return None


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or "."] if node.level == 0 else ["."]
    if not isinstance(node, ast.Call):
        return []
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    if called not in _IMPORTING_CALLS:
        return []
    named = [node.args[0]] if node.args else [keyword.value for keyword in node.keywords if keyword.arg == "name"]
    name = named[0] if named else node
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        return [name.value]
    return [f"({ast.unparse(name)})"]


def _is_custom(target: str) -> bool:
    if target.startswith("torch.ops."):
        return target.split(".")[2] not in KNOWN_NAMESPACES
    return target not in load_op_names()


def _describe(target: str) -> CustomOp:
    qualified = _qualified(target)
    source = _source(qualified)
    licence = None if source is None else find_licence(source)
    return CustomOp(qualified.replace("::", "."), _schema(qualified), source, licence)


def _qualified(target: str) -> str:
    namespace, _, name = target.removeprefix("torch.ops.").partition(".")
    return f"{namespace}::{name.partition('.')[0]}"


def _schema(qualified: str) -> str | None:
    schemas = torch._C._jit_get_schemas_for_operator(qualified)
    return str(schemas[0]) if schemas else None


def _is_random(qualified: str) -> bool:
    namespace, _, name = qualified.partition("::")
    packet = getattr(getattr(torch.ops, namespace), name)
    overloads = [getattr(packet, overload) for overload in packet.overloads()]
    return any(torch.Tag.nondeterministic_seeded in overload.tags for overload in overloads)


def _source(qualified: str) -> str | None:
    """The text of the file that registered the op; of several, the one that holds its function or defines it."""
    from torch._library import custom_ops as registered

    definition: Any = registered.OPDEFS.get(qualified)
    function = getattr(definition, "_init_fn", None)
    paths = _defining_files(function) if function is not None else _registering_files(qualified)
    for path in map(Path, paths):
        if path.suffix == ".py" and path.is_file() and _TORCH_FOLDER not in path.parents:
            return path.read_text(encoding="utf-8")
    return None


def _defining_files(function: Any) -> list[str]:
    """The file of a function, then of those that it closes over: `triton_op` wraps the author's in one of torch."""
    cells = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    functions = [function, *(content for content in cells if inspect.isfunction(content))]
    return [path for path in map(inspect.getsourcefile, functions) if path is not None]


def _registering_files(qualified: str) -> list[str]:
    """Files that the dispatcher names for an op of `torch.library.Library`: of its definition, then of its kernels."""
    if not torch._C._dispatch_has_kernel(qualified):
        return []
    return _REGISTERED_AT.findall(torch._C._dispatch_dump(qualified))
