"""Torch callables to their public spelling, and back through an allowlist.

A function mode or an fx graph hands us function objects (`torch._C._nn.linear`, a slot wrapper, a method of
`TensorBase`); a graph stores public names (`torch.nn.functional.linear`, `operator.getitem`, `torch.Tensor.view`).
The way back, `resolve`, follows only names of `data/op_names.csv` and registered `torch.ops`: names such as
`torch.load` run code and are refused (definitions.md section 2).
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional

from extract.op_tables import load_op_names

# Namespaces in order of preference: an object with several public names gets the first.
NAMESPACES: tuple[tuple[str, Any], ...] = (
    ("torch", torch),
    ("torch.nn.functional", torch.nn.functional),
    ("torch.linalg", torch.linalg),
    ("torch.fft", torch.fft),
    ("torch.special", torch.special),
    ("torch.Tensor", torch.Tensor),
)

# Attribute reads that make a tensor; all other attributes of a tensor are facts about it.
TENSOR_PROPERTIES = ("T", "mT", "H", "mH", "real", "imag", "data")

# Tensor's reflected and other special methods, as the operator they spell; True: operands swapped.
_SPECIAL_METHODS: dict[str, tuple[str, bool]] = {
    "__getitem__": ("getitem", False),
    "__setitem__": ("setitem", False),
    "__floordiv__": ("floordiv", False),
    "__rsub__": ("sub", True),
    "__rdiv__": ("truediv", True),
    "__rtruediv__": ("truediv", True),
    "__rfloordiv__": ("floordiv", True),
    "__rpow__": ("pow", True),
    "__rmod__": ("mod", True),
    "__rmatmul__": ("matmul", True),
    "__radd__": ("add", True),
    "__rmul__": ("mul", True),
    "__rand__": ("and_", True),
    "__ror__": ("or_", True),
    "__rxor__": ("xor", True),
    "__rlshift__": ("lshift", True),
    "__rrshift__": ("rshift", True),
    "__and__": ("and_", False),
    "__or__": ("or_", False),
    "__xor__": ("xor", False),
    "__invert__": ("invert", False),
    "__lshift__": ("lshift", False),
    "__rshift__": ("rshift", False),
    "__iand__": ("iand", False),
    "__ior__": ("ior", False),
    "__ixor__": ("ixor", False),
    "__ilshift__": ("ilshift", False),
    "__irshift__": ("irshift", False),
    "__ifloordiv__": ("ifloordiv", False),
    "__ipow__": ("ipow", False),
    "__imod__": ("imod", False),
    "__neg__": ("neg", False),
    "__pos__": ("pos", False),
    "__abs__": ("abs", False),
    "__pow__": ("pow", False),
    "__mod__": ("mod", False),
    "__matmul__": ("matmul", False),
    **{f"__{name}__": (name, False) for name in ("eq", "ne", "lt", "le", "gt", "ge", "add", "sub", "mul", "truediv")},
    **{f"__{name}__": (name, False) for name in ("iadd", "isub", "imul", "itruediv", "imatmul")},
}

# Binary and unary operators that fx graphs and source text use; each is a spelling `operator.<name>`.
OPERATORS: tuple[str, ...] = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift",
    "eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "invert", "abs", "getitem", "setitem",
    "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul", "iand", "ior", "ixor", "ilshift",
    "irshift",
)  # fmt: skip


# Namespaces of torch and torchvision themselves, where an op must also take a tensor: others read files or print.
_OWN_NAMESPACES = frozenset(
    "aten prim prims quantized _quantized c10d _c10d_functional c10d_functional symm_mem profiler inductor cuda "
    "torchvision image video_reader static_runtime".split()
)


# Functions of torch without a public name that models call through torch.nn and through checks: spelled as aten ops.
_PRIVATE_OPERATIONS = frozenset({"_weight_norm", "_is_all_true", "_is_any_true"})


class UnknownCallable(LookupError):
    """A callable that has no public torch-level name, or a name that the allowlist lacks."""


def spell_call(
    func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[str, tuple[Any, ...], Mapping[str, Any]]:
    """Return the public spelling of a call and its arguments, swapped where a reflected method was called.

    Raises `UnknownCallable` when `func` is no torch-level operation.
    """
    target, swapped = _spelling_of(func)
    return (target, (args[1], args[0], *args[2:]), kwargs) if swapped else (target, args, kwargs)


@lru_cache(maxsize=4096)
def resolve(target: str) -> Callable[..., Any]:
    """Return the callable behind a spelling of the allowlist; raises `UnknownCallable` for any other name."""
    if target.startswith("torch.ops."):
        return _resolve_registered_op(target)
    if target not in load_op_names():
        raise UnknownCallable(f"{target} is not in data/op_names.csv")
    if target.startswith("torch.Tensor.") and target.rpartition(".")[2] in TENSOR_PROPERTIES:
        name = target.rpartition(".")[2]
        return lambda tensor: getattr(tensor, name)
    value: Any = operator if target.startswith("operator.") else torch
    for part in target.split(".")[1:]:
        value = getattr(value, part, None)
    if not callable(value):
        raise UnknownCallable(f"{target} is not in torch {torch.__version__}")
    return value


def is_public_operation(name: str) -> bool:
    """Tell whether an attribute name of a torch namespace may be spelled in a graph."""
    return not name.startswith("_")


@lru_cache(maxsize=8192)
def _spelling_of(func: Callable[..., Any]) -> tuple[str, bool]:
    known = _spellings().get(func)
    if known is not None:
        return known
    operation: Any = func
    if isinstance(operation, torch._ops.OpOverloadPacket):
        return f"torch.ops.{operation._qualified_op_name.replace('::', '.')}", False
    if isinstance(operation, torch._ops.OpOverload):
        return f"torch.ops.{operation._schema.name.replace('::', '.')}.{operation._overloadname}", False
    if isinstance(operation, torch._ops.HigherOrderOperator):
        return f"torch.ops.higher_order.{operation.name()}", False
    descriptor = getattr(func, "__self__", None)
    owner = getattr(descriptor, "__objclass__", None)
    if func.__name__ in ("__get__", "__set__") and owner is not None and issubclass(torch.Tensor, owner):
        suffix = "" if func.__name__ == "__get__" else ".__set__"
        return f"torch.Tensor.{descriptor.__name__}{suffix}", False  # pyright: ignore[reportOptionalMemberAccess]
    module, name = getattr(func, "__module__", None), getattr(func, "__name__", None)
    name = str(name)
    if name in _PRIVATE_OPERATIONS and func in (getattr(torch, name, None), getattr(torch.Tensor, name, None)):
        return f"torch.ops.aten.{name}", False
    raise UnknownCallable(f"{module}.{name} has no public torch-level name")


@lru_cache(maxsize=1)
def _spellings() -> dict[Any, tuple[str, bool]]:
    table: dict[Any, tuple[str, bool]] = {}
    names = load_op_names()
    for prefix, namespace in reversed(NAMESPACES):
        for name in sorted(dir(namespace), reverse=True):
            spelling = f"{prefix}.{name}"
            if is_public_operation(name) and spelling in names:
                value = getattr(namespace, name)
                known = table.get(value, ("", False))[0]  # torch.dsmm is torch.mm to a dictionary, and to torch
                if names[spelling] == name or known != f"{prefix}.{names[spelling]}":
                    table[value] = (spelling, False)
    wrapped: Any = getattr(torch._C, "_nn")  # noqa: B009 - absent from torch's stubs
    for name in dir(wrapped):
        # What torch.nn.functional wraps, called past the wrapper: its public name, else the aten op itself.
        public = f"torch.nn.functional.{name}"
        if is_public_operation(name):
            spelling = public if public in load_op_names() else f"torch.ops.aten.{name}"
            table.setdefault(getattr(wrapped, name), (spelling, False))
    for owner in (torch.Tensor, torch._C.TensorBase):
        for name, (operation, swapped) in _SPECIAL_METHODS.items():
            method = getattr(owner, name, None)
            if method is not None:
                table.setdefault(method, (f"operator.{operation}", swapped))
    for name in OPERATORS:
        table[getattr(operator, name)] = (f"operator.{name}", False)
    return table


def _resolve_registered_op(target: str) -> Callable[..., Any]:
    """Find an op in torch's registry by its schema; the attributes of `torch.ops` itself are never followed."""
    namespace, name, overload = _split_op(target)
    if namespace == "higher_order":
        raise UnknownCallable(f"{target}: higher-order operators cannot be replayed")
    if namespace == "torchvision":
        with suppress(ImportError):
            importlib.import_module(namespace)  # registers its ops; a second import is a look into a dictionary
    schemas = torch._C._jit_get_schemas_for_operator(f"{namespace}::{name}")
    if not schemas:
        raise UnknownCallable(f"{target} is not registered; name the module that registers it with --import")
    if not all(_may_run(namespace, schema) for schema in schemas) and name not in _canonical_names():
        raise UnknownCallable(f"{target} is no computation on tensors")
    packet: Any = torch.ops
    try:
        for part in (namespace, name, *overload):
            packet = getattr(packet, part)
    except (AttributeError, RuntimeError) as error:
        raise UnknownCallable(f"{target} is not registered: {error}") from error
    if not isinstance(packet, torch._ops.OpOverloadPacket | torch._ops.OpOverload):
        raise UnknownCallable(f"{target} is no registered op")
    return packet


def _split_op(target: str) -> tuple[str, str, list[str]]:
    parts = target.split(".")[2:]
    if not 2 <= len(parts) <= 3 or not all(part.isidentifier() for part in parts):
        raise UnknownCallable(f"{target} is no name of a registered op")
    return parts[0], parts[1], parts[2:]


@lru_cache(maxsize=1)
def _canonical_names() -> frozenset[str]:
    return frozenset(load_op_names().values())


def _may_run(namespace: str, schema: Any) -> bool:
    """Tell a computation from an op that touches files, or that has no tensor to compute with."""
    if any("filename" in argument.name for argument in schema.arguments):
        return False
    return namespace not in _OWN_NAMESPACES or any("Tensor" in str(argument.type) for argument in schema.arguments)
