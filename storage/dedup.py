"""Which rows of a batch are new to a corpus: the first row of a key wins (definitions.md section 7).

Graphs, their texts and their nodes come and go together, by signature_sha256; a graph whose source is already known
under the same (model_id, part) is dropped with it. In `models` a row that knows `num_parameters` supersedes one that
does not: a model is named first and built later.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from storage.manifest import Manifest, Shard
from storage.schemas import APPEND_ONLY, KEYS
from storage.shards import read_shards

_FOLLOWERS = ("graph_texts", "nodes")
_COMPLETING_COLUMN = "num_parameters"

Key = tuple[Any, ...]


@dataclass(slots=True)
class KnownKeys:
    """Keys that a corpus holds, per table, grown from the manifest's new shards; `bare_models` lack parameters."""

    keys: dict[str, set[Key]] = field(default_factory=dict)
    bare_models: set[Key] = field(default_factory=set)
    loaded: set[str] = field(default_factory=set)

    def update(self, root: Path, manifest: Manifest) -> None:
        """Read the keys of shards not read yet; texts, nodes and append-only tables need none."""
        for table in manifest.tables:
            if table in KEYS and table not in APPEND_ONLY and table not in _FOLLOWERS:
                self._load(root, table, [shard for shard in manifest.shards(table) if shard.path not in self.loaded])

    def of(self, table: str) -> set[Key]:
        """Return the keys known of a table."""
        return self.keys.setdefault(table, set())

    def _load(self, root: Path, table: str, shards: list[Shard]) -> None:
        if not shards:
            return
        if table == "models":
            rows = read_shards(root, table, shards, [*KEYS[table], _COMPLETING_COLUMN])
            bare = set(_keys(table, rows.filter(pc.field(_COMPLETING_COLUMN).is_null())))
            complete = set(_keys(table, rows)) - bare
            self.bare_models = (self.bare_models | bare) - complete
        else:
            rows = read_shards(root, table, shards, KEYS[table])
        self.of(table).update(_keys(table, rows))
        self.loaded.update(shard.path for shard in shards)


def novel_rows(tables: dict[str, pa.Table], known: KnownKeys) -> dict[str, pa.Table]:
    """Return the rows of a batch that the corpus lacks, in their order; every table given is in the answer.

    Raises ValueError for texts or nodes without the graphs that they belong to.
    """
    novel = dict(tables)
    for table in ("graph_sources", "custom_ops"):
        if table in tables:
            novel[table] = _first_unknown(table, tables[table], known.of(table))
    if "models" in tables:
        novel["models"] = _novel_models(tables["models"], known)
    if "graphs" in tables:
        novel["graphs"] = _novel_graphs(novel, known)
    _follow_graphs(novel)
    if "constraints" in tables:
        novel["constraints"] = _novel_constraints(novel, known)
    return novel


def superseded_models(models: pa.Table, known: KnownKeys) -> set[str]:
    """Return the ids among novel rows of `models` that replace a row of the corpus."""
    return {str(key[0]) for key in _keys("models", models) if key in known.of("models")}


def distinct_rows(table: str, rows: pa.Table) -> pa.Table:
    """Return the first row of each key, in their order; of `models` the first that knows its parameters."""
    if table in APPEND_ONLY:
        return rows
    if table == "models":
        complete = [count is not None for count in rows.column(_COMPLETING_COLUMN).to_pylist()]
        rows = pa.concat_tables([_masked(rows, complete), _masked(rows, (not known for known in complete))])
    return _first_unknown(table, rows, set())


def _novel_models(models: pa.Table, known: KnownKeys) -> pa.Table:
    """Keep unknown models, and known ones whose parameters are known only now."""
    distinct = distinct_rows("models", models)
    completes = [count is not None for count in distinct.column(_COMPLETING_COLUMN).to_pylist()]
    seen = known.of("models")
    mask = [
        key not in seen or (key in known.bare_models and complete)
        for key, complete in zip(_keys("models", distinct), completes, strict=True)
    ]
    return _masked(distinct, mask)


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
            novel[table] = _first_unknown(table, rows, set())


def _novel_constraints(novel: dict[str, pa.Table], known: KnownKeys) -> pa.Table:
    constraints = _first_unknown("constraints", novel["constraints"], known.of("constraints"))
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


def _with_signatures(rows: pa.Table, signatures: pa.ChunkedArray) -> pa.Table:
    wanted = set(signatures.to_pylist())
    return _masked(rows, (signature in wanted for signature in rows.column("signature_sha256").to_pylist()))


def _masked(rows: pa.Table, mask: Iterable[bool]) -> pa.Table:
    """Keep the rows of a true mask, in order (Arrow does not promise an order when it filters by an expression)."""
    return rows.filter(pa.array(mask, pa.bool_()))


def _keys(table: str, rows: pa.Table) -> Iterable[Key]:
    return zip(*(rows.column(name).to_pylist() for name in KEYS[table]), strict=True)
