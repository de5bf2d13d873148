"""A small corpus of instances made by hand for PassBench: what shares sequences, buckets, hashes and kinds."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import xxhash

from storage.corpus import Corpus
from storage.records import rows_to_table

Row = dict[str, Any]
DTYPES = ("float32", "float16", "bfloat16")


@dataclass(frozen=True, slots=True)
class Made:
    """A subgraph, and the sizes and types that it has instances at: `shapes` has its operands' shapes per config."""

    name: str
    kinds: tuple[str, ...]
    ops: tuple[str, ...]
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    dtypes: tuple[str, ...] = DTYPES
    family: str | None = "vit"
    program: str | None = None
    """Programs of one name are the same at the same sizes: their instances share hashes."""

    @property
    def sequence(self) -> str:
        return xxhash.xxh3_128_hexdigest("\n".join(self.ops).encode())


def sizes(*widths: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    return tuple(((2, width), (width,), ()) for width in widths)


_TEN = sizes(16, 24, 32, 48, 64, 96, 128, 256, 300, 4096)

SUBGRAPHS = (
    # twelve programs of one sequence: 84 instances in the bucket of widths 16 to 255 and one type
    *(Made(f"mlp{n}", ("fusible",), ("linear", "gelu"), _TEN, family=f"family{n % 3}") for n in range(12)),
    # another kind has some of these instances too, and one of its own
    Made("mlp_motif", ("classical",), ("linear", "gelu"), _TEN, program="mlp0"),
    Made("mlp_own", ("classical",), ("linear", "gelu"), sizes(20), ("float32",), family=None),
    # one program under both kinds
    Made(
        "both", ("classical", "fusible"), ("conv2d", "add", "relu", "add"), sizes(8, 15, 16, 255, 256), family="resnet"
    ),
    # two subgraphs that meet at the sizes that both have
    Made("meet_a", ("fusible",), ("view", "add"), sizes(3, 5), family="swin", program="meet"),
    Made("meet_b", ("fusible",), ("view", "add"), sizes(5, 7), family="bert", program="meet"),
    # a single instance; a single op; sizes of zero, operands of several types, a type that is missing
    Made("alone", ("fusible",), ("mul", "sum"), (((4, 4),),), ("float32",), family=None),
    Made("relu", ("single_op",), ("relu",), (((1, 3, 17),), ((2, 3, 17),)), ("float16", "float32")),
    Made(
        "empty", ("classical",), ("cat", "mul", "add", "add"), (((0, 1), (15, 16)), ((1, 1), (16, 15))), ("bfloat16",)
    ),
)


def instance_rows(subgraphs: Sequence[Made] = SUBGRAPHS) -> list[Row]:
    return [
        _instance(made, config, dtype, shapes)
        for made in subgraphs
        for config, shapes in enumerate(made.shapes)
        for dtype in made.dtypes
    ]


def subgraph_rows(subgraphs: Sequence[Made] = SUBGRAPHS) -> list[Row]:
    return [_subgraph(made, kind) for made in subgraphs for kind in made.kinds]


def write_instances(path: Path, subgraphs: Sequence[Made] = SUBGRAPHS, *, reverse: bool = False) -> Corpus:
    """Return a corpus with the instances, in one commit or, backwards, in two; adds to one that is there."""
    rows = instance_rows(subgraphs)
    first = {
        "subgraphs": rows_to_table("subgraphs", subgraph_rows(subgraphs)),
        "models": rows_to_table(
            "models", [_model(family) for family in sorted({str(made.family) for made in subgraphs})]
        ),
    }
    batches = [rows[len(rows) // 2 :], rows[: len(rows) // 2]] if reverse else [rows]
    with Corpus.create(path) as corpus:
        corpus.commit(corpus.stage(first, "mine"), "mine")
        for number, batch in enumerate(batches):
            run = f"generalize-{number}"
            corpus.commit(corpus.stage({"instances": rows_to_table("instances", batch)}, run), run)
    return Corpus.open(path)


def _model(family: str) -> Row:
    known = None if family == "None" else family
    return {"model_id": f"timm/{family}", "source": "timm", "framework": "torch", "family": known, "domain": "cv"}


def _instance(made: Made, config: int, dtype: str, shapes: tuple[tuple[int, ...], ...]) -> Row:
    types = [dtype, dtype, "int64"][: len(shapes)]
    identity = repr((made.program or made.name, made.ops, shapes, types))
    return {
        "subgraph_sha256": hashlib.sha256(made.name.encode()).hexdigest(),
        "shape_config": config,
        "dtype": dtype,
        "instance_sha256": hashlib.sha256(identity.encode()).hexdigest(),
        "structure_sha256": hashlib.sha256((made.program or made.name).encode()).hexdigest(),
        "model_id": f"timm/{made.family}",
        "signature_sha256": "signature",
        "start": 0,
        "end": len(made.ops),
        "operands": [
            {"kind": "input", "shape": list(shape), "stride": None, "dtype": kind}
            for shape, kind in zip(shapes, types, strict=True)
        ],
        "overrides": "[]",
    }


def _subgraph(made: Made, kind: str) -> Row:
    return {
        "subgraph_sha256": hashlib.sha256(made.name.encode()).hexdigest(),
        "kind": kind,
        "op_sequence": list(made.ops),
        "op_sequence_xxh3": made.sequence,
        "num_ops": len(made.ops),
        "num_inputs": len(made.shapes[0]),
        "connected": True,
    }
