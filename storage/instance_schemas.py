"""The tables of generalization: variants of models, subgraphs generalized, their instances, and what is missing."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from extract.shape_configs import AXES
from storage.columns import INT_LIST, column

SIZES_TYPE: Final = pa.struct([pa.field(axis, pa.int32()) for axis in AXES])
OPERAND_TYPE: Final = pa.struct(
    [
        pa.field("kind", pa.string()),
        pa.field("shape", INT_LIST),
        pa.field("stride", INT_LIST),
        pa.field("dtype", pa.string()),
    ]
)
EXPRESSION_TYPE: Final = pa.struct([pa.field("place", pa.string()), pa.field("expression", pa.string())])

_SHAPE_CONFIG = "Row of data/shape_configs.csv for the model's modality; 0: the model's own sizes."
_DTYPE = "Type of the model's weights and floating inputs: float32, float16 or bfloat16."
_MODEL = "Model whose variants they are."


def _subgraph() -> pa.Field:
    return column("subgraph_sha256", pa.string(), "Subgraph: graph_sha256 of the base's cut.", null=False)


VARIANTS = pa.schema(
    [
        column("model_id", pa.string(), _MODEL, null=False),
        column("shape_config", pa.int32(), f"{_SHAPE_CONFIG} 10 and 11 are held out.", null=False),
        column("dtype", pa.string(), _DTYPE, null=False),
        column(
            "num_ops",
            pa.int32(),
            "Ops that were traced, the first of the program, or asked for where there is no variant; null: all.",
        ),
        column(
            "signature_sha256",
            pa.string(),
            "Identity of these ops as a graph that returns what the others use of them, no row of graphs; null: none.",
        ),
        column("sizes", SIZES_TYPE, "Sizes of the axes of the inputs; null where the inputs have no such axis."),
        column("shape_table", pa.string(), "Whose row it is: the modality's, or batch_only where that is refused."),
        column("is_rebuilt", pa.bool_(), "Whether the module was made for these sizes."),
        column("has_same_ops", pa.bool_(), "Whether the op names are those of the model's own sizes in float32."),
        column("reason", pa.string(), "Why there is no variant; null where there is one."),
        column("detail", pa.string(), "Particulars, one line."),
    ]
)

GENERALIZATIONS = pa.schema(
    [
        _subgraph(),
        column("model_id", pa.string(), _MODEL, null=False),
        column("signature_sha256", pa.string(), "Graph that the base is cut out of.", null=False),
        column("start", pa.int32(), "First op of the base there, an index of nodes.", null=False),
        column("end", pa.int32(), "Op after the last.", null=False),
        column("depends_on_input", pa.bool_(), "Whether an output depends on a data input of the model.", null=False),
        column("num_instances", pa.int32(), "Rows of instances.", null=False),
        column("num_missing", pa.int32(), "Rows of missing_instances.", null=False),
        column("axes", pa.list_(pa.string()), "Axes of the model's inputs that its instances differ by.", null=False),
        column(
            "expressions",
            pa.list_(EXPRESSION_TYPE),
            "Each varying dimension (shape.<operand>.<dim>), stride and literal (literal.<op>.<path>) by the axes; "
            "null where there are none.",
        ),
        column("constraints", pa.list_(pa.string()), "What must hold for sizes at which expressions are relied on."),
        column("num_samples", pa.int32(), "Sizes that the expressions were found on."),
        column("num_held_out", pa.int32(), "Further sizes that they were checked on."),
        column("num_predicted", pa.int32(), "Expressions found without the held-out sizes that gave these too."),
        column(
            "symbolic_reason",
            pa.string(),
            "Why there are no expressions: nothing_varies, too_few_sizes, no_expression, different_operands, "
            "different_literals; null where there are.",
        ),
        column("symbolic_detail", pa.string(), "Particulars, one line."),
    ]
)

INSTANCES = pa.schema(
    [
        _subgraph(),
        column("shape_config", pa.int32(), _SHAPE_CONFIG, null=False),
        column("dtype", pa.string(), _DTYPE, null=False),
        column("instance_sha256", pa.string(), "Identity of the subgraph at these operands.", null=False),
        column("structure_sha256", pa.string(), "The cut with its size arguments masked.", null=False),
        column("model_id", pa.string(), _MODEL, null=False),
        column("signature_sha256", pa.string(), "Variant's graph, as in variants.", null=False),
        column("start", pa.int32(), "First op in the variant.", null=False),
        column("end", pa.int32(), "Op after the last.", null=False),
        column(
            "operands",
            pa.list_(OPERAND_TYPE),
            "Operands by first use; stride (elements) is null where it is row by row.",
            null=False,
        ),
        column(
            "overrides",
            pa.string(),
            "Literals other than the base's, JSON: [[op, path, value], ...].",
            null=False,
        ),
        column("num_bytes", pa.int64(), "Bytes moved at least: operands read and results written once; null: unknown."),
        column("num_flop", pa.float64(), "Floating-point operations, a multiply-add as two; null: unknown."),
    ]
)

MISSING_INSTANCES = pa.schema(
    [
        _subgraph(),
        column("shape_config", pa.int32(), _SHAPE_CONFIG, null=False),
        column("dtype", pa.string(), _DTYPE, null=False),
        column(
            "reason",
            pa.string(),
            "shape_refused, dtype_unsupported, duplicate_config, dtype_invariant, ops_changed, edges_changed, "
            "shape_invariant, over_max_bytes, or why the variant's range is no cut.",
            null=False,
        ),
        column("detail", pa.string(), "Particulars, one line.", null=False),
    ]
)
