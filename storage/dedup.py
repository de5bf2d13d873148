"""Which rows of a batch are new to a corpus: the first row of a key wins (definitions.md section 7).

Graphs, their texts and their nodes come and go together, by signature_sha256; a graph whose source is already known
under the same (model_id, part) is dropped with it. What a subgraph was generalized to goes with its row in
`generalizations`: two runs may have cut it out of different graphs. Rows that leave something open give way to later
ones that do not: in `models` one without `num_parameters` (a model is named first and built later), in `constraints`
one that was not reached, for its cost, an op that was not registered or the machine's sake, in `variants` one that is
missing (there was no time for it, say, and a later run's instances are cut out of it), in `bench_checks` one that ran
out of time or memory. A kernel curve gives way to one
of another algorithm or torch, and takes its rows of `fusion_boundaries` with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from extract.failure import Reason
from storage.manifest import Manifest, Shard
from storage.schemas import APPEND_ONLY, KEYS, stable_columns
from storage.shards import read_shards

_FOLLOWERS = ("graph_texts", "nodes")
_GENERALIZED = ("instances", "missing_instances")
_CURVES, _BOUNDARIES = "kernel_curves", "fusion_boundaries"
_CURVE_VERSION = ("torch_version", "algorithm")
_SUPERSEDABLE = ("models", "constraints", "variants", "bench_checks")
_SPECIAL = {*APPEND_ONLY, *_FOLLOWERS, *_SUPERSEDABLE, "graphs", _CURVES, _BOUNDARIES}
_PLAIN = tuple(table for table in KEYS if table not in _SPECIAL)
_KEYLESS = {*APPEND_ONLY, *_FOLLOWERS, _BOUNDARIES}
_OPENING_COLUMN = {"models": "num_parameters", "constraints": "reason", "variants": "reason", "bench_checks": "reason"}
OPEN_REASONS = frozenset({"over_budget", "op_not_allowed", *(reason.value for reason in Reason if reason.is_transient)})
"""Reasons of a verdict that say nothing about the graph: a larger budget, modules that register its ops or another day
may reach one."""
OPEN_CHECKS = frozenset({"timeout", "out_of_memory"})
"""Reasons of a check that may not hold on a machine with more time or memory."""

Key = tuple[Any, ...]


@dataclass(slots=True)
class KnownKeys:
    """Keys that a corpus holds, per table, grown from the manifest's new shards; `open` are those that may change,
    `curve_versions` says what made each kernel curve."""

    keys: dict[str, set[Key]] = field(default_factory=dict)
    open: dict[str, set[Key]] = field(default_factory=dict)
    curve_versions: dict[Key, Key] = field(default_factory=dict)
    loaded: set[str] = field(default_factory=set)

    def update(self, root: Path, manifest: Manifest) -> None:
        """Read the keys of shards not read yet; tables whose rows follow others', and append-only ones, need none."""
        for table in manifest.tables:
            if table in KEYS and table not in _KEYLESS:
                self._load(root, table, [shard for shard in manifest.shards(table) if shard.path not in self.loaded])

    def of(self, table: str) -> set[Key]:
        """Return the keys known of a table."""
        return self.keys.setdefault(table, set())

    def _load(self, root: Path, table: str, shards: list[Shard]) -> None:
        if not shards:
            return
        extra = [_OPENING_COLUMN[table]] if table in _SUPERSEDABLE else _CURVE_VERSION if table == _CURVES else ()
        rows = read_shards(root, table, shards, [*KEYS[table], *extra])
        if table in _SUPERSEDABLE:
            is_open = _are_open(table, rows)
            found = set(_keys(table, _masked(rows, is_open)))
            settled = set(_keys(table, _masked(rows, (not state for state in is_open))))
            self.open[table] = (self.open.get(table, set()) | found) - settled
        if table == _CURVES:
            self.curve_versions.update(zip(_keys(table, rows), _curve_versions(rows), strict=True))
        self.of(table).update(_keys(table, rows))
        self.loaded.update(shard.path for shard in shards)


def novel_rows(tables: dict[str, pa.Table], known: KnownKeys) -> dict[str, pa.Table]:
    """Return the rows of a batch that the corpus lacks, in their order; every table given is in the answer.

    Raises ValueError for texts, nodes or boundaries without the graphs or curves that they belong to.
    """
    novel = dict(tables)
    for table in _PLAIN:
        if table in tables:
            novel[table] = _first_unknown(table, tables[table], known.of(table))
    if "generalizations" in tables:
        _follow_generalizations(novel)
    for table in ("models", "variants", "bench_checks"):
        if table in tables:
            novel[table] = _novel_or_settling(table, tables[table], known)
    if "graphs" in tables:
        novel["graphs"] = _novel_graphs(novel, known)
    _follow_graphs(novel)
    if _CURVES in tables:
        novel[_CURVES] = _novel_curves(novel[_CURVES], known)
    _follow_curves(novel)
    if "constraints" in tables:
        novel["constraints"] = _novel_constraints(novel, known)
    return novel


def superseded_keys(novel: dict[str, pa.Table], known: KnownKeys) -> dict[str, set[Key]]:
    """Return, per table, the keys whose rows in the corpus give way to novel ones; boundaries have their curve's."""
    replacing = {table: novel[table] for table in (*_SUPERSEDABLE, _CURVES) if table in novel}
    superseded = {
        table: {key for key in _keys(table, rows) if key in known.of(table)} for table, rows in replacing.items()
    }
    if superseded.get(_CURVES):
        superseded[_BOUNDARIES] = superseded[_CURVES]
    return superseded


def without_keys(table: str, rows: pa.Table, keys: set[Key]) -> pa.Table:
    """Return the rows of other keys than the superseded ones, in their order."""
    owner = _CURVES if table == _BOUNDARIES else table
    return _masked(rows, (key not in keys for key in _keys(owner, rows)))


def same_rows(table: str, ours: pa.Table, theirs: pa.Table) -> bool:
    """Tell whether two tables hold the same rows, in any order; volatile columns may differ."""
    order = [(key, "ascending") for key in KEYS[table]]
    columns = stable_columns(table)
    left, right = (rows.select(columns).combine_chunks().sort_by(order) for rows in (ours, theirs))
    return left.equals(right)


def distinct_rows(table: str, rows: pa.Table) -> pa.Table:
    """Return the first row of each key, in their order; the first that leaves nothing open where there is one."""
    if table in APPEND_ONLY:
        return rows
    if table in _SUPERSEDABLE:
        is_open = _are_open(table, rows)
        rows = pa.concat_tables([_masked(rows, (not state for state in is_open)), _masked(rows, is_open)])
    return _first_of_each_key(table, rows)


def _novel_or_settling(table: str, rows: pa.Table, known: KnownKeys) -> pa.Table:
    """Keep rows of unknown keys, and those that settle what a known row leaves open."""
    distinct = distinct_rows(table, rows)
    seen, still_open = known.of(table), known.open.get(table, set())
    mask = [
        key not in seen or (key in still_open and not is_open)
        for key, is_open in zip(_keys(table, distinct), _are_open(table, distinct), strict=True)
    ]
    return _masked(distinct, mask)


def _are_open(table: str, rows: pa.Table) -> list[bool]:
    values = rows.column(_OPENING_COLUMN[table]).to_pylist()
    if table == "constraints":
        return [value in OPEN_REASONS for value in values]
    if table == "bench_checks":
        return [value in OPEN_CHECKS for value in values]
    return [(value is None) == (table == "models") for value in values]


def _novel_graphs(novel: dict[str, pa.Table], known: KnownKeys) -> pa.Table:
    graphs = _first_unknown("graphs", novel["graphs"], known.of("graphs"))
    if "graph_sources" in novel:
        graphs = _with_signatures(graphs, novel["graph_sources"].column("signature_sha256"))
    return graphs


def _follow_graphs(novel: dict[str, pa.Table]) -> None:
    for table in _FOLLOWERS:
        if table in novel:
            if "graphs" not in novel:
                raise ValueError(f"rows of {table} are staged with their graphs only")
            rows = _with_signatures(novel[table], novel["graphs"].column("signature_sha256"))
            novel[table] = _first_of_each_key(table, rows)


def _follow_generalizations(novel: dict[str, pa.Table]) -> None:
    kept = set(novel["generalizations"].column("subgraph_sha256").to_pylist())
    for table in _GENERALIZED:
        if table in novel:
            owners = novel[table].column("subgraph_sha256").to_pylist()
            novel[table] = _masked(novel[table], (owner in kept for owner in owners))


def _novel_curves(curves: pa.Table, known: KnownKeys) -> pa.Table:
    """Keep curves of graphs without one, and those made by another algorithm or torch than the corpus's."""
    distinct = _first_of_each_key(_CURVES, curves)
    made_by = zip(_keys(_CURVES, distinct), _curve_versions(distinct), strict=True)
    return _masked(distinct, (known.curve_versions.get(key) != version for key, version in made_by))


def _follow_curves(novel: dict[str, pa.Table]) -> None:
    if _BOUNDARIES in novel:
        if _CURVES not in novel:
            raise ValueError(f"rows of {_BOUNDARIES} are staged with their curves only")
        kept = set(_keys(_CURVES, novel[_CURVES]))
        rows = _masked(novel[_BOUNDARIES], (key in kept for key in _keys(_CURVES, novel[_BOUNDARIES])))
        novel[_BOUNDARIES] = _first_of_each_key(_BOUNDARIES, rows)


def _curve_versions(curves: pa.Table) -> Iterable[Key]:
    return zip(*(curves.column(name).to_pylist() for name in _CURVE_VERSION), strict=True)


def _novel_constraints(novel: dict[str, pa.Table], known: KnownKeys) -> pa.Table:
    constraints = _novel_or_settling("constraints", novel["constraints"], known)
    signatures = {signature for (signature,) in known.of("graphs")}
    if "graphs" in novel:
        signatures.update(novel["graphs"].column("signature_sha256").to_pylist())
    owners = constraints.column("signature_sha256").to_pylist()
    return _masked(constraints, (signature in signatures for signature in owners))


def _first_unknown(table: str, rows: pa.Table, known: set[Key]) -> pa.Table:
    taken: set[Key] = set()
    mask: list[bool] = []
    for key in _keys(table, rows):
        mask.append(key not in known and key not in taken)
        taken.add(key)
    return _masked(rows, mask)


def _first_of_each_key(table: str, rows: pa.Table) -> pa.Table:
    """Keep the first row of each key, in order; nodes are many, so Arrow finds it."""
    keys = rows.select(list(KEYS[table])).append_column(_PLACE, pa.array(range(rows.num_rows), pa.int64()))
    first = keys.group_by(list(KEYS[table])).aggregate([(_PLACE, "min")]).column(f"{_PLACE}_min")
    if len(first) == rows.num_rows:
        return rows
    return rows.filter(pc.is_in(keys.column(_PLACE), value_set=first.combine_chunks()))  # pyright: ignore[reportAttributeAccessIssue]  no stubs


_PLACE = "place of the row"


def _with_signatures(rows: pa.Table, signatures: pa.ChunkedArray) -> pa.Table:
    is_wanted = pc.is_in(rows.column("signature_sha256"), value_set=signatures.unique())  # pyright: ignore[reportAttributeAccessIssue]  no stubs
    is_all = pc.all(is_wanted, min_count=0).as_py()  # pyright: ignore[reportAttributeAccessIssue]  no stubs
    return rows if is_all else rows.filter(is_wanted)


def _masked(rows: pa.Table, mask: Iterable[bool]) -> pa.Table:
    """Keep the rows of a true mask, in order (Arrow does not promise an order when it filters by an expression)."""
    chosen = list(mask)
    return rows if all(chosen) else rows.filter(pa.array(chosen, pa.bool_()))


def _keys(table: str, rows: pa.Table) -> Iterable[Key]:
    return zip(*(rows.column(name).to_pylist() for name in KEYS[table]), strict=True)
