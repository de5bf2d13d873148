"""One call to its canonical form: the op's one name, and its arguments bound, ordered and freed of defaults.

`F.relu(x, inplace=True)`, `x.relu_()` and `torch.relu_(x)` become (`relu_`, input=x). Pure table work on
`extract.op_tables` (definitions.md section 1; docs/definitions.md spells out the rules that this module adds):

1. Signatures of the spelling, else of the op, are tried in table order; the first whose names, counts and types
   fit binds the call. When none fits by type, the first that fits by names and counts does; when none does,
   positional arguments are named `0`, `1`, ... and follow before the named ones.
2. An `i[]` parameter takes the rest of the positional integers when it is the last positional one.
3. A value is widened to its parameter: an int to a float, one int to `i[n]` equal ints.
4. Arguments equal to the default, and those of the table's `dropped`, are left out; `inplace=True` becomes the
   trailing underscore of the name.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import lru_cache

from extract.call_forms import FormMemo, call_form, fill_slots
from extract.custom_schemas import TORCH_NAMESPACES, is_custom, is_declared_random, written_by_schema
from extract.graph import REFS, Arg, ArgList, Node, OpRef, Ref, TensorRef, TorchConstant
from extract.op_tables import (
    Parameter,
    Signature,
    argument_order,
    dropped_arguments,
    load_op_names,
    signatures_of,
)

BoundCall = tuple[str, list[tuple[str, Arg]]]

# aten, prim and prims are torch itself: `torch.ops.aten.add.Tensor` is `add`. Others keep their namespace.

# Ops that write into an operand without the trailing underscore that says so.
_WRITES_FIRST = frozenset({"setitem"})

# What Dynamo writes to read a size, which is a number.
_SIZE_READS = frozenset(("sym_size", "sym_stride", "sym_numel", "sym_storage_offset"))

_RANDOM_OPS = frozenset(
    "rand randn randint randperm rand_like randn_like randint_like bernoulli multinomial normal poisson binomial "
    "gumbel_softmax rrelu fractional_max_pool2d fractional_max_pool3d".split()
)
_RANDOM_IN_TRAINING = frozenset(
    "dropout alpha_dropout feature_alpha_dropout feature_dropout dropout1d dropout2d dropout3d".split()
)


def canonical_op(target: str, args: tuple[Arg, ...], kwargs: Mapping[str, Arg]) -> str:
    """Return the canonical op name of a call; an operation outside the table keeps its qualified name."""
    op = _op_of(target)
    if op.endswith("_") or not _may_be_inplace(target, op):
        return op
    return op + "_" if _bind(target, op, args, tuple(kwargs.items()))[1].get("inplace") is True else op


def bind(node: Node) -> BoundCall:
    """Return the node's canonical name and its (argument, value) pairs in canonical order, defaults left out.

    Calls that differ in their operands only are bound once: programs repeat their blocks.
    """
    form, refs = call_form(node)
    op, pairs = _bound.find(form)
    return op, [(name, fill_slots(value, refs)) for name, value in pairs]


def bound_arguments(node: Node) -> tuple[str, dict[str, Arg]]:
    """Return the node's canonical name and its arguments by parameter, defaults that were spelled out included.

    The very objects that the node holds, but for numbers that a parameter widens.
    """
    op = _op_of(node.target)
    return op, _bind(node.target, op, node.args, node.kwargs)[1]


_SEQUENCES = (tuple, ArgList)


def _bind_call(node: Node) -> BoundCall:
    op = _op_of(node.target)
    signature, bound = _bind(node.target, op, node.args, node.kwargs)
    if bound.pop("inplace", None) is True:
        op += "_" if not op.endswith("_") else ""
    defaults = {p.name: p for p in signature} if signature else {}
    dropped = dropped_arguments()
    order = argument_order(op) or argument_order(_op_of(node.target))
    kept = [
        (name, value)
        for name, value in bound.items()
        if name not in dropped and not (name in defaults and _is_default(value, defaults[name]))
    ]
    unlisted = len(order)
    kept.sort(key=lambda pair: (order.get(pair[0], unlisted), pair[0] if pair[0] not in order else ""))
    return op, kept


_bound = FormMemo(_bind_call)


def mutated_operands(node: Node) -> tuple[Ref, ...]:
    """Return the operands that a call writes into: the first of an in-place op, `out=`, training-mode statistics.

    By the text of the call alone, as hashes need it; `written_operands` also asks the schemas of custom ops.
    """
    found: list[Ref] = []
    writes_first = node.op in _WRITES_FIRST or (node.op.endswith("_") and not node.op.endswith("__"))
    if writes_first and node.args and isinstance(node.args[0], TensorRef | OpRef):
        found.append(node.args[0])
    for name, value in node.kwargs:
        if name == "out":
            found.extend(ref for ref in _flat(value) if isinstance(ref, REFS))
    if node.op in ("batch_norm", "instance_norm"):
        found.extend(_written_statistics(node))
    return tuple(found)


def written_operands(node: Node) -> tuple[Ref, ...]:
    """Return the operands that a call writes into, those that the schema of a custom op marks included."""
    found = mutated_operands(node)
    return (*found, *written_by_schema(node)) if is_custom(node.target) else found


def is_random(node: Node) -> bool:
    """Tell whether a call draws random numbers (dropout only in training mode; a custom op that declares it)."""
    name = node.op.rstrip("_")
    if name in _RANDOM_OPS:
        return True
    if name not in _RANDOM_IN_TRAINING and name != "scaled_dot_product_attention":
        return is_custom(node.target) and is_declared_random(node.target)
    bound = dict(bind(node)[1])
    if name == "scaled_dot_product_attention":
        return bound.get("dropout_p", 0.0) not in (0, 0.0)
    return bound.get("training", True) is not False and bound.get("p", 0.5) not in (0, 0.0)


def has_effect(node: Node) -> bool:
    """Tell whether a call matters even when nobody uses what it returns."""
    if bool(mutated_operands(node)) or is_random(node):
        return True
    if node.op in _SIZE_READS:
        return False
    return node.target.startswith("torch.ops.") and (not node.outputs or bool(written_operands(node)))


@lru_cache(maxsize=8192)
def _op_of(target: str) -> str:
    name = load_op_names().get(target)
    if name is not None:
        return name
    if target.startswith("torch.ops.") and target.count(".") > 2:
        namespace, name = target.split(".")[2:4]
        return name if namespace in TORCH_NAMESPACES else f"{namespace}.{name}"
    return target


@lru_cache(maxsize=8192)
def _may_be_inplace(target: str, op: str) -> bool:
    return any(p.name == "inplace" for signature in signatures_of(target, op) for p in signature)


def _bind(
    target: str, op: str, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...]
) -> tuple[Signature | None, dict[str, Arg]]:
    signatures = signatures_of(target, op)
    for strict in (True, False):
        for signature in signatures:
            bound = _bind_signature(signature, args, kwargs, strict)
            if bound is not None:
                return signature, bound
    named = {str(position): value for position, value in enumerate(args)}
    return None, {**named, **dict(sorted(kwargs))}


def _bind_signature(
    signature: Signature, args: tuple[Arg, ...], kwargs: tuple[tuple[str, Arg], ...], strict: bool
) -> dict[str, Arg] | None:
    positional = [p for p in signature if not p.keyword_only]
    bound: dict[str, Arg] = {}
    taken = 0
    for position, parameter in enumerate(positional):
        if taken >= len(args):
            break
        is_last = position == len(positional) - 1
        value, taken = _take(parameter, args, taken, is_last)
        bound[parameter.name] = value
    if taken < len(args):
        return None
    by_name = {p.name: p for p in signature}
    for name, value in kwargs:
        name = _PYTHON_NAMES.get(name, name) if name not in by_name else name
        if name in dropped_arguments():
            continue
        if name not in by_name or name in bound:
            return None
        bound[name] = value
    for parameter in signature:
        if parameter.name not in bound:
            if not parameter.has_default:
                return None
            continue
        value = _widen(bound[parameter.name], parameter.type)
        if strict and not _fits(value, parameter.type):
            return None
        bound[parameter.name] = value
    return bound


# Keyword spellings that torch accepts beside the schema's name (numpy style; `tensor` and `sizes` of old).
_PYTHON_NAMES = {
    "self": "input", "tensor": "input", "x": "input", "a": "input", "x1": "input", "x2": "other", "axis": "dim",
    "keepdims": "keepdim", "train": "training", "data": "input", "split_size_or_sections": "split_size",
    "split_sizes": "split_size", "sizes": "size", "shape": "size", "axes": "dim",
}  # fmt: skip


def _take(parameter: Parameter, args: tuple[Arg, ...], taken: int, is_last: bool) -> tuple[Arg, int]:
    if parameter.type == "*varargs":
        return args[taken:], len(args)
    first = args[taken]
    if is_last and parameter.type in ("i[]", "i[]?", "T[]") and first is not None:
        several = len(args) - taken > 1
        if several or not isinstance(first, _SEQUENCES):
            return args[taken:], len(args)
    return first, taken + 1


def _widen(value: Arg, code: str) -> Arg:
    code = code.rstrip("?")
    if code == "f" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if code == "dev" and (isinstance(value, str) or _is_int(value)):
        return TorchConstant("device", str(value))
    if code.startswith("i[") and code != "i[]" and _is_int(value):
        return (value,) * int(code[2:-1])
    return value


def _fits(value: Arg, code: str) -> bool:
    if code.startswith("*"):
        return True
    if code.endswith("?"):
        return value is None or _fits(value, code[:-1])
    if code == "T":
        return isinstance(value, REFS)
    if code == "T[]":
        return isinstance(value, _SEQUENCES) and all(isinstance(v, REFS) for v in _elements(value))
    if code.startswith("i["):
        return isinstance(value, _SEQUENCES) and all(_is_int(v) for v in _elements(value))
    if code == "f[]":
        return isinstance(value, _SEQUENCES) and all(isinstance(v, int | float) for v in _elements(value))
    if code == "n":
        return isinstance(value, bool | int | float | complex)
    if code in _TORCH_CODES:
        return isinstance(value, TorchConstant) and value.kind == _TORCH_CODES[code]
    return {"i": _is_int, "f": _is_float, "b": _is_bool, "s": _is_str}[code](value)


_TORCH_CODES = {"dt": "dtype", "dev": "device", "lay": "layout", "mf": "memory_format"}


def _is_default(value: Arg, parameter: Parameter) -> bool:
    if not parameter.has_default:
        return False
    return _equals_json(value, parameter.default, parameter.type.rstrip("?"))


def _equals_json(value: Arg, default: object, code: str) -> bool:
    if isinstance(default, dict):
        return isinstance(value, float) and repr(value) == next(iter(default.values()))  # pyright: ignore
    if isinstance(default, list):
        return isinstance(value, _SEQUENCES) and _list_equals(_elements(value), default)  # pyright: ignore
    if code.startswith("i[") and code != "i[]" and isinstance(value, tuple):
        return all(_equals_json(element, default, "i") for element in value)
    if isinstance(value, TorchConstant):
        return value.name == default
    if code == "f" and _is_int(default):
        default = float(default)  # pyright: ignore[reportArgumentType]
    return type(value) is type(default) and value == default


def _list_equals(values: tuple[Arg, ...], defaults: list[object]) -> bool:
    return len(values) == len(defaults) and all(map(_same_literal, values, defaults))


def _same_literal(value: Arg, default: object) -> bool:
    return type(value) is type(default) and operator.eq(value, default)


def _elements(value: Arg) -> tuple[Arg, ...]:
    return value.elements if isinstance(value, ArgList) else value if isinstance(value, tuple) else ()


def _flat(value: Arg) -> tuple[Arg, ...]:
    return _elements(value) if isinstance(value, _SEQUENCES) else (value,)


def _is_int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_float(value: object) -> bool:
    return isinstance(value, float) or _is_int(value)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_str(value: object) -> bool:
    return isinstance(value, str)


def _written_statistics(node: Node) -> list[Ref]:
    bound = dict(bind(node)[1])
    if node.op == "batch_norm":
        updates = bound.get("training", False) is True
    else:
        updates = bound.get("use_input_stats", True) is True
    refs = (bound.get("running_mean"), bound.get("running_var"))
    return [ref for ref in refs if updates and isinstance(ref, REFS)]
