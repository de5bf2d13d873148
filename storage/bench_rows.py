"""What a build of PassBench found beside its tasks, as rows: selections, leaks, groups left out, its settings."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from passbench.choice import ChoiceConfig, ComparedSelection
from passbench.hmm import to_text
from passbench.leakage import Leak
from passbench.near_duplicates import NearDuplicate

ALGORITHM = "passnet-bench/1"
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BuildConfig:
    """What a build was given: how instances are grouped (sigma), how evaluation is chosen, whether training has all
    groups or one per kind, sequence and rule, and whether instances were run to find degenerate tasks."""

    choice: ChoiceConfig
    sigma: int
    every_group: bool = False
    checked: bool = True


def build_row(config: BuildConfig, base: str | None, num_base_tasks: int, num_groups: int) -> Row:
    """Return the row of `bench_builds`."""
    settings = json.dumps(asdict(config), sort_keys=True, separators=(",", ":"))
    counts = {"num_base_tasks": num_base_tasks, "num_groups": num_groups}
    return {"algorithm": ALGORITHM, "config": settings, "base": base, **counts}


def selection_rows(compared: Iterable[ComparedSelection]) -> list[Row]:
    """Return rows of `bench_selections`."""
    return [
        {
            "kind": selection.kind,
            "method": selection.method,
            "is_used": selection.is_used,
            **asdict(selection.coverage),
            "model": to_text(selection.model) if selection.model else None,
        }
        for selection in compared
    ]


def leakage_rows(leaks: Iterable[Leak], near: Iterable[NearDuplicate]) -> list[Row]:
    """Return rows of `bench_leakage`; a pair that leaks is no near duplicate."""
    found: dict[tuple[str, str, str, str], Row] = {}
    for pair in near:
        found[_pair(pair)] = {"relation": "near_duplicate", "jaccard": pair.jaccard, "is_dropped": False}
    for pair in leaks:
        found[_pair(pair)] = {"relation": str(pair.reason), "jaccard": None, "is_dropped": True}
    names = ("evaluation_kind", "evaluation_xxh3", "training_kind", "training_xxh3")
    return [dict(zip(names, key, strict=True)) | found[key] for key in sorted(found)]


def dropped_row(group: Mapping[str, Any], split: str, reason: str, detail: str | None) -> Row:
    """Return a row of `bench_dropped` for a group (`storage.bench_steps.groups_of`)."""
    return {**group, "split": split, "reason": reason, "detail": detail}


def _pair(pair: Leak | NearDuplicate) -> tuple[str, str, str, str]:
    return pair.evaluation_kind, pair.evaluation_xxh3, pair.training_kind, pair.training_xxh3
