"""Generalized subgraphs to rows, and rows of instances back to recipes; needs pyarrow alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extract.graph import contiguous_stride
from extract.shape_configs import AXES, Sizes
from mining.expression import Constraint, Expression
from mining.expression_text import parse, parse_constraint
from mining.generalization import NOTHING_VARIES, Generalization, Made, Missing
from mining.instance import Instance, OperandShape
from mining.instance_json import overrides_from_json, overrides_json
from mining.symbolic import NotSymbolic, Place, SymbolicSubgraph

Row = dict[str, Any]
_DETAIL_CHARS = 300


def sizes_row(sizes: Sizes) -> Row:
    """Return sizes as the struct that columns hold."""
    return {axis: sizes.get(axis) for axis in AXES}


def sizes_from_row(row: Mapping[str, Any] | None) -> Sizes:
    """Undo `sizes_row`; nothing is known of the sizes where there is no row."""
    return {axis: row[axis] for axis in AXES if row[axis] is not None} if row else {}


def instance_row(made: Made, num_bytes: int | None, num_flop: float | None) -> Row:
    """Return the row of an instance with its cost."""
    instance = made.instance
    return {
        **place_row(instance.subgraph_sha256, instance.shape_config, instance.dtype),
        "instance_sha256": instance.instance_sha256,
        "structure_sha256": instance.structure_sha256,
        "model_id": instance.model_id,
        "signature_sha256": instance.signature_sha256,
        "start": instance.start,
        "end": instance.end,
        "operands": [_operand_row(operand) for operand in instance.operands],
        "overrides": overrides_json(instance.overrides),
        "num_bytes": num_bytes,
        "num_flop": num_flop,
    }


def instance_from_row(row: Mapping[str, Any], base_start: int, sizes: Sizes) -> Instance:
    """Undo `instance_row`; `base_start` is that of the subgraph's row in `generalizations`, `sizes` the variant's."""
    return Instance(
        row["subgraph_sha256"],
        row["instance_sha256"],
        row["structure_sha256"],
        row["model_id"],
        row["signature_sha256"],
        base_start,
        row["start"],
        row["end"],
        row["shape_config"],
        row["dtype"],
        dict(sizes),
        tuple([_operand(operand) for operand in row["operands"]]),
        overrides_from_json(row["overrides"]),
    )


def missing_row(subgraph_sha256: str, missing: Missing) -> Row:
    """Return the row of an instance that is not there."""
    place = place_row(subgraph_sha256, missing.shape_config, missing.dtype)
    return {**place, "reason": missing.reason, "detail": _line(missing.detail)}


def place_row(subgraph_sha256: str, shape_config: int, dtype: str) -> Row:
    """Return the key of an instance, there or missing."""
    return {"subgraph_sha256": subgraph_sha256, "shape_config": shape_config, "dtype": dtype}


def generalization_row(
    found: Generalization, model_id: str, signature_sha256: str, num_instances: int, num_missing: int
) -> Row:
    """Return the row of a subgraph; its numbers are those of the rows that were made."""
    return {
        "subgraph_sha256": found.subgraph_sha256,
        "model_id": model_id,
        "signature_sha256": signature_sha256,
        "start": found.start,
        "end": found.end,
        "depends_on_input": found.depends_on_input,
        "num_instances": num_instances,
        "num_missing": num_missing,
        "axes": list(found.axes),
        **_symbolic_columns(found.symbolic),
    }


def _symbolic_columns(symbolic: SymbolicSubgraph | NotSymbolic | None) -> Row:
    if symbolic is None:
        return {"symbolic_reason": NOTHING_VARIES, "symbolic_detail": ""}
    if isinstance(symbolic, NotSymbolic):
        return {"symbolic_reason": symbolic.reason, "symbolic_detail": _line(symbolic.detail)}
    expressions = [
        {"place": place_text(place), "expression": expression.text}
        for place, expression in symbolic.expressions.items()
    ]
    return {
        "expressions": expressions,
        "constraints": [constraint.text for constraint in symbolic.constraints],
        "num_samples": symbolic.num_samples,
        "num_held_out": symbolic.num_held_out,
        "num_predicted": symbolic.num_predicted,
    }


def place_text(place: Place) -> str:
    """Return where an integer stands, such as `shape.0.2` or `literal.3.size.1`."""
    return ".".join([place.kind, str(place.owner), *map(str, place.path)])


def place_from_text(text: str) -> Place:
    """Undo `place_text`; raises ValueError for a text that is none."""
    kind, owner, *path = text.split(".")
    if kind not in ("shape", "stride", "literal") or not path:
        raise ValueError(f"{text!r} is no place of an integer")
    return Place(kind, int(owner), tuple([int(step) if step.isdecimal() else step for step in path]))


def symbolic_from_row(row: Mapping[str, Any]) -> tuple[dict[Place, Expression], tuple[Constraint, ...]]:
    """Return the expressions and constraints of a row of `generalizations` that has some."""
    expressions = {place_from_text(entry["place"]): parse(entry["expression"]) for entry in row["expressions"]}
    return expressions, tuple([parse_constraint(text) for text in row["constraints"]])


def _operand_row(operand: OperandShape) -> Row:
    is_plain = operand.stride == contiguous_stride(operand.shape)
    return {
        "kind": operand.kind,
        "shape": operand.shape,
        "stride": None if is_plain else operand.stride,
        "dtype": operand.dtype,
    }


def _operand(row: Mapping[str, Any]) -> OperandShape:
    shape = tuple(row["shape"])
    stride = contiguous_stride(shape) if row["stride"] is None else tuple(row["stride"])
    return OperandShape(row["kind"], shape, stride, row["dtype"])


def _line(detail: str) -> str:
    return " ".join(detail.split())[:_DETAIL_CHARS]
