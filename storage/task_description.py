"""A task to `task.json`: what its directory holds, what submissions are held to, and what is known of its members.

Shapes and dtypes are those of the programs beside it; of outputs they are null where torch could not tell them. Times
are the newest of each backend on each device (the view `profile_latest`), empty where an instance was not timed.
`null_floor` is the smallest t at which outputs that nobody computed pass, null where that was not tried; it was found
on the cheapest instance of the member's structure and dtype (`checked_instance`), at its sizes alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from extract.graph import OutputMeta, TensorMeta
from passbench.bench_task import SCORING_CONFIG, BenchTask, TaskMember
from profiles.tolerances import LEVELS, TOLERANCES, tolerance_of
from storage.corpus import Corpus
from storage.query import run_query

FORMAT: Final = "passnet-task/1"
"""What `task.json` and the folder beside it look like, with its version."""

_OTHERS: Final = "others"


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured of instances, by hash: the rows of `task_timings.sql` and `task_checks.sql`."""

    timings: Mapping[str, Sequence[Mapping[str, Any]]]
    checks: Mapping[str, Mapping[str, Any]]


def read_measured(corpus: Corpus, instances: Sequence[str]) -> Measured:
    """Return what the corpus has measured of some instances."""
    wanted: dict[str, object] = {"instances": list(instances)}
    timings: dict[str, list[Mapping[str, Any]]] = {}
    for row in run_query(corpus, "task_timings", wanted):
        timings.setdefault(row.pop("instance_sha256"), []).append(row)
    checks = {row.pop("instance_sha256"): row for row in run_query(corpus, "task_checks", wanted)}
    return Measured(timings, checks)


def describe_task(task: BenchTask, measured: Measured) -> dict[str, Any]:
    """Return what `task.json` holds, as JSON values; outputs are known where the members' graphs record them."""
    return {
        "format": FORMAT,
        "task_id": task.task_id,
        "kind": task.kind,
        "split": task.split,
        "rule": task.rule,
        "algorithm": task.algorithm,
        "op_sequence": list(task.op_sequence),
        "op_sequence_xxh3": task.op_sequence_xxh3,
        "num_members": len(task.members),
        "num_shapes": task.num_shapes,
        "dtypes": list(task.dtypes),
        "families": list(task.families),
        "scoring_config": SCORING_CONFIG,
        "tolerances": tolerance_table(),
        "members": [_describe_member(member, measured) for member in task.members],
    }


def description_text(description: Mapping[str, Any]) -> str:
    """Return a description as JSON with an entry a line, a member and a dtype a line."""
    return _entries(description, 1) + "\n"


def tolerance_table() -> dict[str, Any]:
    """Return `levels`, and per dtype (`others` last) atol and rtol at each of them."""
    rows = {
        dtype: {"atol": [pair[0] for pair in pairs], "rtol": [pair[1] for pair in pairs]}
        for dtype in (*TOLERANCES, _OTHERS)
        for pairs in [[tolerance_of(dtype, level) for level in LEVELS]]
    }
    return {"levels": list(LEVELS), **rows}


def member_folder(position: int) -> str:
    """Return where a task's directory has the sample of a member."""
    return f"graphs/{position}"


def _describe_member(member: TaskMember, measured: Measured) -> dict[str, Any]:
    return {
        "position": member.position,
        "folder": member_folder(member.position),
        "instance_sha256": member.instance_sha256,
        "subgraph_sha256": member.subgraph_sha256,
        "model_id": member.model_id,
        "shape_config": member.shape_config,
        "dtype": member.dtype,
        "num_bytes": member.num_bytes,
        "num_flop": member.num_flop,
        "operands": [{"name": meta.name, "kind": meta.kind, **_form(meta)} for meta in member.graph.tensors],
        "outputs": [None if meta is None else _form(meta) for meta in member.outputs],
        "baselines": list(measured.timings.get(member.instance_sha256, ())),
        "null_floor": measured.checks.get(member.instance_sha256),
    }


def _form(meta: TensorMeta | OutputMeta) -> dict[str, Any]:
    return {"shape": list(meta.shape), "stride": list(meta.stride), "dtype": meta.dtype}


def _entries(value: Any, depth: int) -> str:
    """Return JSON whose objects and lists of objects are broken into lines, down to the members' own lines."""
    pad = " " * depth
    if isinstance(value, Mapping) and depth <= 2:
        lines = [f"{pad}{json.dumps(key)}: {_entries(entry, depth + 1)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{pad[1:]}}}"
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        return "[\n" + ",\n".join(f"{pad}{_entries(entry, 3)}" for entry in value) + f"\n{pad[1:]}]"
    return json.dumps(value, allow_nan=False)
