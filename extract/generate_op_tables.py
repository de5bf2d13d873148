"""Write data/op_names.csv, data/op_schemas.json and data/size_args.csv from the installed torch.

Run `python -m extract.generate_op_tables` after a torch upgrade and commit what changes together with a new
algorithm version: hashes depend on these tables and never on the torch that is installed.

Sources: the public namespaces of torch, the aten schemas (`torch._C._jit_get_schemas_for_operator`), Python
signatures where torch-level functions are written in Python, and the hand tables below for what neither knows.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import json
import math
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional
from torch.overrides import get_overridable_functions

from extract.op_tables import TABLE_DIR
from extract.spelling import NAMESPACES, OPERATORS, TENSOR_PROPERTIES, is_public_operation

# Spellings whose operation has another name (numpy-style aliases and operators).
ALIASES = {
    "multiply": "mul", "divide": "div", "true_divide": "div", "subtract": "sub", "negative": "neg",
    "absolute": "abs", "concat": "cat", "concatenate": "cat", "clip": "clamp", "clip_": "clamp_",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
    "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh", "arctan2": "atan2", "moveaxis": "movedim", "swapaxes": "transpose", "swapdims": "transpose",
    "fix": "trunc", "row_stack": "vstack", "ger": "outer", "adjoint": "mH", "msort": "msort", "inverse": "linalg_inv",
    "det": "linalg_det", "matrix_power": "linalg_matrix_power", "special_expit": "sigmoid", "special_exp2": "exp2",
    "special_erf": "erf", "special_erfc": "erfc", "special_log1p": "log1p", "special_expm1": "expm1",
    "special_softmax": "softmax", "special_log_softmax": "log_softmax", "special_logsumexp": "logsumexp",
    "special_round": "round", "special_sinc": "sinc", "special_digamma": "digamma", "special_psi": "digamma",
    "linalg_matmul": "matmul", "multiply_": "mul_", "divide_": "div_", "true_divide_": "div_", "subtract_": "sub_",
    "negative_": "neg_", "absolute_": "abs_", "greater_": "gt_", "less_": "lt_", "swapaxes_": "transpose_",
    "swapdims_": "transpose_", "conj_physical": "conj_physical", "t": "t",
    "dsmm": "mm", "spmm": "mm", "hsmm": "hspmm", "saddmm": "sspaddmm",
}  # fmt: skip

OPERATOR_NAMES = {
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and_": "bitwise_and", "or_": "bitwise_or",
    "xor": "bitwise_xor", "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "invert": "bitwise_not",
    "pos": "positive", "iadd": "add_", "isub": "sub_", "imul": "mul_", "itruediv": "div_", "imatmul": "matmul_",
    "ifloordiv": "floor_divide_", "imod": "remainder_", "ipow": "pow_", "iand": "bitwise_and_", "ior": "bitwise_or_",
    "ixor": "bitwise_xor_", "ilshift": "bitwise_left_shift_", "irshift": "bitwise_right_shift_",
}  # fmt: skip

# One argument under several names (numpy-style, aten's and older spellings).
ARGUMENT_ALIASES = {
    "self": "input", "tensor": "input", "train": "training", "split_size_or_sections": "split_size",
    "split_sizes": "split_size", "cudnn_enabled": "cudnn_enable", "sizes": "size", "shape": "size",
}  # fmt: skip
# Arguments that cannot change what is computed: where a warning points, and a backend switch.
DROPPED = ("_stacklevel", "cudnn_enable", "pin_memory", "non_blocking", "requires_grad")

# What neither aten nor `inspect` tells rightly. Rows: [name, type, default?]; a leading * is keyword-only.
_FACTORY_OPTIONS: list[list[Any]] = [["*dtype", "dt?", None], ["*device", "dev?", None]]
HAND_SIGNATURES: dict[str, list[list[list[Any]]]] = {
    "tensor": [[["input", "*"], *_FACTORY_OPTIONS]],
    "as_tensor": [[["input", "*"], ["dtype", "dt?", None], ["device", "dev?", None]]],
    "new_tensor": [[["input", "T"], ["data", "*"], *_FACTORY_OPTIONS]],
    "to": [
        [["input", "T"], ["dtype", "dt"], ["copy", "b", False], ["*memory_format", "mf?", None]],
        [["input", "T"], ["device", "dev?", None], ["dtype", "dt?", None], ["copy", "b", False],
         ["*memory_format", "mf?", None]],
        [["input", "T"], ["other", "T"], ["copy", "b", False], ["*memory_format", "mf?", None]],
    ],
    "type": [[["input", "T"], ["dtype", "*", None]]],
    "type_as": [[["input", "T"], ["other", "T"]]],
    "getitem": [[["input", "*"], ["index", "*"]]],
    "setitem": [[["input", "T"], ["index", "*"], ["value", "*"]]],
    "einsum": [[["equation", "s"], ["operands", "T[]"]]],
    "contiguous": [[["input", "T"], ["memory_format", "mf", "contiguous_format"]]],
    "cpu": [[["input", "T"], ["memory_format", "mf?", None]]],
    "cuda": [[["input", "T"], ["device", "dev?", None], ["memory_format", "mf?", None]]],
    **{name: [[["input", "T"], ["memory_format", "mf?", None]]]
       for name in ("float", "double", "half", "bfloat16", "int", "long", "short", "bool", "char", "byte")},
    **{name: [[["input", "T"]]] for name in TENSOR_PROPERTIES},
}  # fmt: skip

# Integers in these arguments are sizes (definitions.md section 1); `getitem`/`setitem`: slice bounds only.
_SIZE_FACTORIES = ("zeros", "ones", "empty", "rand", "randn", "full", "new_zeros", "new_ones", "new_empty", "new_full",
                   "zeros_like", "randint")  # fmt: skip
SIZE_ARGS: tuple[tuple[str, str], ...] = (
    ("view", "size"), ("reshape", "size"), ("expand", "size"), ("repeat", "repeats"), ("repeat", "size"),
    ("tile", "dims"), ("broadcast_to", "size"), ("arange", "start"), ("arange", "end"), ("linspace", "steps"),
    ("getitem", "index"), ("setitem", "index"), ("narrow", "start"), ("narrow", "length"), ("split", "split_size"),
    ("split_with_sizes", "split_size"), ("tensor_split", "indices"), ("unflatten", "size"), ("interpolate", "size"),
    ("as_strided", "size"), ("as_strided", "stride"), ("as_strided", "storage_offset"), ("eye", "n"), ("eye", "m"),
    ("new_empty_strided", "size"), ("empty_strided", "size"),
    *((name, "size") for name in _SIZE_FACTORIES),
)  # fmt: skip

_ATEN_PREFIXES = ("torch", "torch.nn.functional", "torch.Tensor")
_PREFIXES = {"torch.linalg": "linalg_", "torch.fft": "fft_", "torch.special": "special_"}
_NEVER = {"load", "save", "compile", "export", "from_file", "set_default_device", "manual_seed", "seed", "vmap", "cond"}
_FACTORIES = {
    "tensor", "as_tensor", "zeros", "ones", "empty", "full", "arange", "linspace", "logspace", "eye", "rand", "randn",
    "randint", "randperm", "zeros_like", "scalar_tensor", "empty_strided", "tril_indices", "triu_indices", "range",
    "hann_window", "hamming_window", "bartlett_window", "blackman_window", "kaiser_window", "complex", "polar",
    "normal", "meshgrid", "broadcast_tensors", "einsum", "fftfreq", "rfftfreq", "from_numpy", "asarray", "full_like",
    "cartesian_prod", "empty_like", "ones_like", "rand_like", "randn_like", "randint_like", "new_tensor",
}  # fmt: skip
_FACTORIES |= {"unflatten", "new", "upsample", "upsample_bilinear", "upsample_nearest", "grouped_mm"}  # not overridable
_FACTS = {
    "size", "stride", "dim", "ndimension", "numel", "nelement", "element_size", "storage_offset", "get_device",
    "is_contiguous", "item", "tolist", "numpy", "is_floating_point", "is_complex", "is_nonzero", "is_set_to",
    "is_shared", "is_pinned", "is_same_size", "is_signed", "is_coalesced", "is_inference", "is_conj", "is_neg",
    "is_distributed", "is_storage", "is_tensor", "data_ptr", "storage", "untyped_storage", "storage_type", "backward",
    "register_hook", "register_post_accumulate_grad_hook", "retain_grad", "requires_grad_", "has_names", "names",
    "share_memory_", "pin_memory", "can_cast", "promote_types", "result_type", "is_grad_enabled", "has_torch_function",
    "is_distributed_tensor", "dim_order", "module_load", "reinforce", "as_subclass", "numel_", "get_default_dtype",
    "apply_", "map_", "map2_", "set_", "to_dlpack", "from_dlpack", "grad", "ndim", "equal", "allclose",
}  # fmt: skip


def main() -> None:
    """Write the three tables into the folder given (default: data/)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=TABLE_DIR, help="folder to write into")
    folder = parser.parse_args().out
    names = spell_operations()
    _write_csv(folder / "op_names.csv", ("spelling", "op"), sorted(names.items()))
    _write_csv(folder / "size_args.csv", ("op", "argument"), sorted(set(SIZE_ARGS)))
    text = json.dumps(describe_schemas(names), indent=0, sort_keys=True, allow_nan=False)
    (folder / "op_schemas.json").write_text(text.replace(",\n", ",").replace("[\n", "[").replace("\n]", "]") + "\n")


def spell_operations() -> dict[str, str]:
    """Return every public spelling with its canonical op name."""
    overridable = {id(func) for funcs in get_overridable_functions().values() for func in funcs}
    names: dict[str, str] = {}
    for prefix, namespace in NAMESPACES:
        for name in dir(namespace):
            value = getattr(namespace, name)
            if (
                not is_public_operation(name)
                or name in _NEVER | _FACTS
                or not callable(value)
                or inspect.isclass(value)
            ):
                continue
            if id(value) in overridable or name in _FACTORIES or (prefix in _ATEN_PREFIXES and _aten_signatures(name)):
                names[f"{prefix}.{name}"] = _canonical_name(prefix, name)
    names.update({f"torch.Tensor.{name}": name for name in TENSOR_PROPERTIES})
    names.update({f"operator.{name}": OPERATOR_NAMES.get(name, name) for name in OPERATORS})
    names["torch.Tensor.data.__set__"] = "data_"
    return names


def describe_schemas(names: dict[str, str]) -> dict[str, Any]:
    """Return signatures by op (aten or by hand), by spelling (Python functions), and each op's argument order."""
    ops = {op: signatures for op in sorted(set(names.values())) if (signatures := _op_signatures(op))}
    spellings: dict[str, Any] = {}
    for spelling, op in sorted(names.items()):
        if op.rstrip("_") not in HAND_SIGNATURES and (signature := _python_signature(spelling, op)):
            spellings[spelling] = [signature]
    order: dict[str, list[str]] = {}
    for spelling, op in sorted(names.items(), key=lambda pair: ("functional" not in pair[0], pair[0])):
        for signature in spellings.get(spelling, []) + ops.get(op, []):
            known = order.setdefault(op, [])
            known.extend(row[0].lstrip("*") for row in signature if row[0].lstrip("*") not in known)
    return {"torch": torch.__version__.partition("+")[0], "dropped": list(DROPPED), "ops": ops, "spellings": spellings,
            "order": order}  # fmt: skip


def _canonical_name(prefix: str, name: str) -> str:
    name = _PREFIXES.get(prefix, "") + name
    return ALIASES.get(name, name)


def _op_signatures(op: str) -> list[list[list[Any]]]:
    if op in HAND_SIGNATURES:
        return HAND_SIGNATURES[op]
    aten = next((old for old, new in ALIASES.items() if new == op and not _aten_signatures(op)), op)
    return _aten_signatures(aten)


def _aten_signatures(name: str) -> list[list[list[Any]]]:
    found: list[list[list[Any]]] = []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        types = [str(argument.real_type) for argument in schema.arguments]
        returns_tensor = any("Tensor" in str(value.type) for value in schema.returns)
        if any(argument.is_out for argument in schema.arguments) or schema.overload_name.startswith("prim_"):
            continue
        if not returns_tensor or any(kind.startswith(("Dimname", "Optional[List[str")) for kind in types):
            continue
        rows = [_aten_row(argument, kind) for argument, kind in zip(schema.arguments, types, strict=True)]
        if rows not in found and not any(row[1] == "?" for row in rows):
            found.append(rows)
    return found


def _aten_row(argument: Any, kind: str) -> list[Any]:
    name = ("*" if argument.kwarg_only else "") + str(ARGUMENT_ALIASES.get(argument.name, argument.name))
    row: list[Any] = [name, _type_code(kind, argument.N)]
    return [*row, _plain(argument.default_value)] if argument.has_default_value() else row


def _type_code(kind: str, size: int | None) -> str:
    if kind.startswith("Optional["):
        return _type_code(kind[9:-1], size) + "?"
    if kind.startswith("List[") and kind[5:-1] in ("int", "SymInt"):
        return f"i[{size or ''}]"
    codes = {"Tensor": "T", "int": "i", "SymInt": "i", "number": "n", "float": "f", "bool": "b", "str": "s",
             "ScalarType": "dt", "Device": "dev", "Layout": "lay", "MemoryFormat": "mf", "List[Tensor]": "T[]",
             "List[Optional[Tensor]]": "*", "List[float]": "f[]", "List[bool]": "*", "Generator": "*"}  # fmt: skip
    return codes.get(kind, "*")


def _python_signature(spelling: str, op: str) -> list[list[Any]] | None:
    namespace = dict(NAMESPACES).get(spelling.rpartition(".")[0])
    name = spelling.rpartition(".")[2]
    func = getattr(namespace, name, None)
    # boolean_dispatch hides the pooling functions' signature; the variant with indices has it whole.
    func = getattr(namespace, f"{name}_with_indices", func) if "functional" in spelling else func
    if not inspect.isfunction(func):
        return None
    aten_types = {row[0].lstrip("*"): row[1] for signature in _aten_signatures(op) for row in signature}
    rows: list[list[Any]] = []
    for parameter in inspect.signature(func).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD or (
            parameter.default is inspect.Parameter.empty and not rows and (parameter.kind is parameter.KEYWORD_ONLY)
        ):
            continue
        rows.append(_python_row(parameter, aten_types))
    return rows if "wrapped" not in spelling and rows and rows[0][1] != "*varargs" else None


def _python_row(parameter: inspect.Parameter, aten_types: dict[str, str]) -> list[Any]:
    name = ARGUMENT_ALIASES.get(parameter.name, parameter.name)
    if parameter.kind is parameter.VAR_POSITIONAL:
        return [name, "*varargs"]
    optional = parameter.default is None
    code: str = aten_types.get(name) or _annotation_code(parameter.annotation)
    code += "?" if optional and code != "*" and not code.endswith("?") else ""
    row: list[Any] = [("*" if parameter.kind is parameter.KEYWORD_ONLY else "") + name, code]
    return row if parameter.default is parameter.empty else [*row, _plain(parameter.default)]


def _annotation_code(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    codes = {"Tensor": "T", "int": "i", "float": "f", "bool": "b", "str": "s"}
    return codes.get(text.rpartition(".")[2], "*")


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, (list, tuple)):
        return [_plain(element) for element in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _write_csv(path: Path, header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
