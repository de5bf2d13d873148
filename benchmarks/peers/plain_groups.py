"""PassBench's groups by plain loops over rows, to hold the SQL steps against: definitions.md, section 6."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import xxhash

Row = dict[str, Any]
KINDS = ("fusible", "classical", "single_op")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of instances of one rule; `sequence` is the xxh3 of their op sequence."""

    kind: str
    rule: str
    sequence: str
    members: tuple[str, ...]

    @property
    def task_id(self) -> str:
        """SHA-256 of the rule and the sorted members, one a line."""
        return hashlib.sha256("\n".join([self.rule, *sorted(self.members)]).encode()).hexdigest()


def bucket(row: Row) -> tuple[Any, Any]:
    """The shape bucket and the types of an instance; a hexadecimal digit is four bits."""
    shapes = tuple(tuple(len(f"{max(size, 1):x}") - 1 for size in operand["shape"]) for operand in row["operands"])
    return shapes, tuple(operand["dtype"] for operand in row["operands"])


def under_kinds(instances: Iterable[Row], subgraphs: Iterable[Row]) -> list[Row]:
    """Each instance once per kind of its subgraph, with the sequence."""
    kinds = defaultdict(list)
    for subgraph in subgraphs:
        kinds[subgraph["subgraph_sha256"]].append((subgraph["kind"], subgraph["op_sequence_xxh3"]))
    return [
        row | {"kind": kind, "sequence": sequence}
        for row in instances
        for kind, sequence in kinds[row["subgraph_sha256"]]
    ]


def groups(rows: list[Row], sigma: int) -> list[Group]:
    """All groups of all rules, each id once, by id."""
    found = [*singles_and_triples(rows, sigma), *cross_shape(rows), *cross_dtype(rows)]
    found.sort(key=lambda group: (group.task_id, KINDS.index(group.kind)))
    return [group for before, group in zip([None, *found], found, strict=False) if not _same(before, group)]


def singles_and_triples(rows: list[Row], sigma: int) -> list[Group]:
    """The groups of the rules `single` and `triple`."""
    buckets: dict[Any, set[str]] = defaultdict(set)
    for row in rows:
        buckets[row["kind"], row["sequence"], bucket(row)].add(row["instance_sha256"])
    found = []
    for (kind, sequence, _), members in buckets.items():
        drawn = {member for member in members if xxhash.xxh3_64_intdigest(member.encode()) % sigma == 0}
        found += [Group(kind, "single", sequence, (member,)) for member in drawn]
        left = sorted(members - drawn)
        while left:
            if len(left) >= 3:
                found.append(Group(kind, "triple", sequence, tuple(left[:3])))
            left = left[15:]
    return found


def cross_shape(rows: list[Row]) -> list[Group]:
    """The smallest hash of each shape bucket, per kind and op sequence."""
    lowest: dict[Any, dict[Any, str]] = defaultdict(dict)
    for row in sorted(rows, key=lambda row: row["instance_sha256"]):
        lowest[row["kind"], row["sequence"]].setdefault(bucket(row)[0], row["instance_sha256"])
    return [
        Group(kind, "cross_shape", sequence, tuple(sorted(of_shape.values())))
        for (kind, sequence), of_shape in lowest.items()
    ]


def cross_dtype(rows: list[Row]) -> list[Group]:
    """Per kind, op sequence and shape bucket the subgraph and shape with the most dtypes."""
    recipes: dict[Any, dict[Any, set[str]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        shapes = recipes[row["kind"], row["sequence"], bucket(row)[0]]
        shapes[row["subgraph_sha256"], row["shape_config"]].add(row["instance_sha256"])
    found = []
    for (kind, sequence, _), of_recipe in recipes.items():
        best = min(of_recipe.values(), key=lambda members: (-len(members), min(members), sorted(members)))
        found.append(Group(kind, "cross_dtype", sequence, tuple(sorted(best))))
    return found


def _same(before: Group | None, group: Group) -> bool:
    return before is not None and before.task_id == group.task_id
