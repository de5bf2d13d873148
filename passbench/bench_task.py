"""A task of PassBench: instances of one op sequence, for which a submission writes one set of compiler passes.

What a build chose (the row of `bench_tasks`) with the rendered program of each member. Standard library alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from extract.graph import Graph, OutputMeta, Ref, TensorMeta, TensorRef

SCORING_CONFIG: Final = "passnet-scoring/1"
"""How submissions to a task are scored, with its version."""

SPLITS: Final = ("train", "eval")


@dataclass(frozen=True, slots=True)
class TaskMember:
    """One instance of a task, by the first of its rows by key: what it takes, and what its calls return where `graph`
    records that. `num_bytes` are moved at least; None: unknown, of `num_flop` too."""

    position: int
    instance_sha256: str
    subgraph_sha256: str
    model_id: str
    shape_config: int
    dtype: str
    graph: Graph
    num_bytes: int | None = None
    num_flop: float | None = None

    @property
    def outputs(self) -> tuple[TensorMeta | OutputMeta | None, ...]:
        """What the program returns, in order; None where it does not record what the call returned."""
        return tuple([_described(self.graph, ref) for ref in self.graph.outputs])


@dataclass(frozen=True, slots=True)
class BenchTask:
    """A task with its members by position; `task_id` is the SHA-256 of rule and members (definitions.md section 6)."""

    task_id: str
    kind: str
    split: str
    rule: str
    op_sequence: tuple[str, ...]
    op_sequence_xxh3: str
    num_shapes: int
    dtypes: tuple[str, ...]
    families: tuple[str, ...]
    algorithm: str
    members: tuple[TaskMember, ...]


def _described(graph: Graph, ref: Ref) -> TensorMeta | OutputMeta | None:
    if isinstance(ref, TensorRef):
        return graph.tensors[ref.index]
    return next((output for output in graph.nodes[ref.index].outputs if output.path == ref.path), None)
