"""A corpus: a folder of Parquet shards that numbered manifests make into tables.

    with Corpus.create(path) as corpus:
        staged = corpus.stage(tables, run_id)
        corpus.commit(staged, run_id, config)

Staged shards have their final names and are durable; they become rows of the corpus when a manifest names them, all
tables at once. Two writers may stage and commit at any time: the loser of a race drops the rows that the winner
already brought and tries again, so no key is ever doubled and none is lost. A process killed anywhere leaves the
corpus as it was at its last commit; the next writer removes what was left. Safe for threads that share the object.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from extract.failure import Reason
from storage import catalogue, compaction, fault
from storage.dedup import Key, KnownKeys, novel_rows, same_rows, superseded_keys, without_keys
from storage.errors import UsageError
from storage.filesystem import explained, make_folder, remove, unique_name
from storage.fingerprints import add_xxh3
from storage.lease import RUNS_FOLDER, Lease, committing, remove_orphans
from storage.manifest import (
    MANIFESTS_FOLDER,
    Manifest,
    Shard,
    create_manifest,
    empty_manifest,
    manifest_numbers,
    read_manifest,
)
from storage.schemas import SCHEMAS
from storage.shards import check_shards, read_shards, write_shard

_PARTS = frozenset({MANIFESTS_FOLDER, RUNS_FOLDER, catalogue.FILE_NAME, *SCHEMAS})


@dataclass(frozen=True, slots=True)
class Staged:
    """Shards that no manifest names yet, and the rows they hold, which the corpus of manifest `base` lacks; tables
    without new rows have no shard."""

    run_id: str
    tables: dict[str, pa.Table]
    shards: dict[str, Shard]
    base: int


class Corpus:
    """One corpus folder, opened by `Corpus.open` or `Corpus.create`; close it, or use it in a `with`."""

    def __init__(self, root: Path, *, write: bool) -> None:
        self.root = root
        self.write = write
        self._known = KnownKeys()
        self._leases: dict[str, Lease] = {}
        self._lock = threading.RLock()

    @classmethod
    def create(cls, path: Path | str) -> Corpus:
        """Open the corpus at `path` for writing, making one when there is none.

        Raises UsageError when `path` holds something else, cannot be written, or is a corpus that cannot be read.
        """
        root = Path(path).absolute()
        if not manifest_numbers(root):
            _refuse_foreign(root)
            with explained(root):
                make_folder(root / MANIFESTS_FOLDER)
                _create_first_manifest(root)
        return cls.open(root, write=True)

    @classmethod
    def open(cls, path: Path | str, *, write: bool = False) -> Corpus:
        """Open an existing corpus; checks the size of every shard against the manifest (one stat each).

        Raises UsageError when `path` is not a corpus, is of a newer schema, has a truncated or missing shard, or is
        read-only while `write` is asked for.
        """
        corpus = cls.open_unchecked(path, write=write)
        check_shards(corpus.root, _all_shards(corpus.manifest()))
        return corpus

    @classmethod
    def open_unchecked(cls, path: Path | str, *, write: bool = False) -> Corpus:
        """Open an existing corpus whatever the state of its shards, as `fsck` does."""
        root = Path(path).absolute()
        if not manifest_numbers(root):
            raise UsageError(
                f"{path} is not a corpus ({_why_not(root)})",
                "name one with --corpus, or make one with `passnet refresh`",
            )
        corpus = cls(root, write=write)
        corpus.manifest()
        if write:
            corpus._probe_write()
        return corpus

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the leases of the runs that wrote through this object; shards not committed are given up."""
        with self._lock:
            for lease in self._leases.values():
                lease.release()
            self._leases.clear()

    def manifest(self, number: int | None = None) -> Manifest:
        """Read the newest manifest, or that of an older commit; raises UsageError when there is no such one."""
        numbers = manifest_numbers(self.root)
        wanted = numbers[-1] if number is None else number
        if wanted not in numbers:
            raise UsageError(f"{self.root} has no manifest {wanted}", f"choose one of {numbers[0]} to {numbers[-1]}")
        return read_manifest(self.root, wanted)

    def read(self, table: str, columns: Sequence[str] | None = None, filters: Any = None) -> pa.Table:
        """Return the rows of a table as of the newest manifest, unordered between shards; absent columns are null."""
        return read_shards(self.root, table, self.manifest().shards(table), columns, filters)

    def traced_models(self) -> set[str]:
        """Return the models that have a graph."""
        shards = self.manifest().shards("graph_sources")
        return set(read_shards(self.root, "graph_sources", shards, ["model_id"]).column("model_id").to_pylist())

    def done_models(self, step_version: int) -> set[str]:
        """Return the models that need no tracing: traced, or failed for good at this version of the step."""
        manifest = self.manifest()
        lasting = [reason.value for reason in Reason if not reason.is_transient]
        chosen = pc.field("reason").isin(lasting) & (pc.field("step_version") == step_version)
        failed = read_shards(self.root, "failures", manifest.shards("failures"), ["subject"], chosen)
        return self.traced_models() | set(failed.column("subject").to_pylist())

    def stage(self, tables: dict[str, pa.Table], run_id: str) -> Staged:
        """Write the rows that the corpus lacks as durable shards for `commit`; the first row of a key wins.

        Raises WriteError when the disk is full, UsageError when the folder cannot be written.
        """
        with self._lock:
            self._hold_lease(run_id)
            manifest = self.manifest()
            self._known.update(self.root, manifest)
            novel = novel_rows({name: _completed(name, rows, run_id) for name, rows in tables.items()}, self._known)
            novel = {name: rows for name, rows in novel.items() if rows.num_rows}
        return Staged(run_id, novel, self._write_all(novel, run_id), manifest.number)

    def commit(self, staged: Staged, run_id: str, config: dict[str, Any] | None = None) -> Manifest:
        """Make staged rows part of the corpus and return its new manifest, or the present one when none is new."""
        with self._lock, explained(self.root), committing(self.root):
            while True:
                manifest = self.manifest()
                self._known.update(self.root, manifest)
                staged, replaced = self._rebase(staged, manifest)
                if not staged.shards:
                    return manifest
                tables = _with_shards(manifest, staged.shards, replaced)
                following = manifest.next(run_id, "commit", tables, config or {})
                fault.reach("commit:before_manifest")
                try:
                    create_manifest(self.root, following)
                except FileExistsError:
                    continue
                return following

    def replace(self, tables: dict[str, pa.Table], run_id: str, config: dict[str, Any] | None = None) -> Manifest:
        """Make these rows the whole of their tables, all at once, and return the manifest; older ones keep what was.

        The present manifest where that is what they hold already. Raises as `stage` does.
        """
        with self._lock, explained(self.root):
            self._hold_lease(run_id)
            if all(same_rows(name, self.read(name), rows) for name, rows in tables.items()):
                return self.manifest()
            shards = self._write_all({name: rows for name, rows in tables.items() if rows.num_rows}, run_id)
            whole = {name: (shards[name],) if name in shards else () for name in tables}
            self._known = KnownKeys()
            with committing(self.root):
                while True:
                    manifest = self.manifest()
                    following = manifest.next(run_id, "replace", {**manifest.tables, **whole}, config or {})
                    fault.reach("commit:before_manifest")
                    try:
                        create_manifest(self.root, following)
                    except FileExistsError:
                        continue
                    return following

    def discard(self, staged: Staged) -> None:
        """Remove staged shards that will not be committed."""
        for shard in staged.shards.values():
            remove(self.root / shard.path)

    def connect(self, tables: Iterable[str] | None = None) -> duckdb.DuckDBPyConnection:
        """Return an in-memory DuckDB with a view per table (or of `tables`) as of the newest manifest, and views over
        them such as `current_failures`; it can read the corpus and nothing else, and writes no file."""
        return catalogue.connect(self.root, self.manifest(), tables)

    def write_catalogue(self) -> Path:
        """Rewrite `corpus.duckdb`, whose views follow the folder when it moves, and return its path."""
        with explained(self.root / catalogue.FILE_NAME):
            return catalogue.write(self.root, self.manifest())

    def compact(self, run_id: str | None = None, *, expire: bool = False) -> Manifest:
        """Merge each table's shards, see `storage.compaction.compact`; `expire` drops older manifests' files too."""
        name = run_id or compaction.new_run_id()
        with self._lock, explained(self.root):
            self._hold_lease(name)
            with committing(self.root):
                manifest = compaction.compact(self.root, name)
            if (self.root / catalogue.FILE_NAME).exists():
                self.write_catalogue()
            if expire:
                with committing(self.root, alone=True):
                    compaction.expire(self.root)
            return manifest

    def is_fragmented(self) -> bool:
        """Tell whether `compact` would speed up reading: a table of many shards."""
        return compaction.is_fragmented(self.manifest())

    def _hold_lease(self, run_id: str) -> None:
        if not self.write:
            raise UsageError(f"{self.root} was opened for reading", "open it with write=True")
        if run_id not in self._leases:
            with explained(self.root):
                self._leases[run_id] = Lease(self.root, run_id)
                remove_orphans(self.root)

    def _probe_write(self) -> None:
        """Write and remove a file, since permissions alone do not tell (root, read-only mounts)."""
        probe = self.root / RUNS_FOLDER / unique_name(".probe", "")
        with explained(self.root):
            make_folder(probe.parent)
            probe.touch()
            probe.unlink()

    def _write_all(self, tables: dict[str, pa.Table], run_id: str) -> dict[str, Shard]:
        shards: dict[str, Shard] = {}
        try:
            for name, rows in tables.items():
                shards[name] = write_shard(self.root, name, rows, run_id)
        except BaseException:
            for shard in shards.values():
                remove(self.root / shard.path)
            raise
        return shards

    def _rebase(self, staged: Staged, manifest: Manifest) -> tuple[Staged, dict[str, Shard | None]]:
        """Drop the staged rows that `manifest` holds; also say what takes the place of shards of superseded rows."""
        is_moved = manifest.number != staged.base
        novel = novel_rows(staged.tables, self._known) if is_moved else staged.tables
        shards = dict(staged.shards)
        for name, rows in novel.items():
            if rows.num_rows != staged.tables[name].num_rows:
                remove(self.root / shards.pop(name).path)
                if rows.num_rows:
                    shards[name] = write_shard(self.root, name, rows, staged.run_id)
        novel = {name: rows for name, rows in novel.items() if rows.num_rows}
        replaced: dict[str, Shard | None] = {}
        for name, keys in superseded_keys(novel, self._known).items():
            replaced |= self._without(manifest, name, keys, staged.run_id)
        return Staged(staged.run_id, novel, shards, manifest.number), replaced

    def _without(self, manifest: Manifest, table: str, keys: set[Key], run_id: str) -> dict[str, Shard | None]:
        replaced: dict[str, Shard | None] = {}
        for shard in manifest.shards(table) if keys else ():
            rows = read_shards(self.root, table, [shard])
            kept = without_keys(table, rows, keys)
            if kept.num_rows < rows.num_rows:
                replaced[shard.path] = write_shard(self.root, table, kept, run_id) if kept.num_rows else None
        return replaced


def _completed(table: str, rows: pa.Table, run_id: str) -> pa.Table:
    """Fill the columns that a child cannot know: fingerprints that need xxhash, and the run that brings a graph."""
    if table == "graph_sources":
        position = rows.column_names.index("run_id")
        rows = rows.set_column(position, rows.schema.field(position), pc.fill_null(rows.column(position), run_id))
    return add_xxh3(rows)


def _with_shards(
    manifest: Manifest, added: dict[str, Shard], replaced: dict[str, Shard | None]
) -> dict[str, tuple[Shard, ...]]:
    tables: dict[str, tuple[Shard, ...]] = {}
    for name in {**manifest.tables, **added}:
        kept = [replaced.get(shard.path, shard) for shard in manifest.shards(name)]
        new = [added[name]] if name in added else []
        tables[name] = tuple(shard for shard in [*kept, *new] if shard is not None)
    return tables


def _all_shards(manifest: Manifest) -> Iterable[Shard]:
    return (shard for shards in manifest.tables.values() for shard in shards)


def _create_first_manifest(root: Path) -> None:
    try:
        create_manifest(root, empty_manifest("create"))
    except FileExistsError:
        return  # another writer made the corpus meanwhile


def _refuse_foreign(root: Path) -> None:
    if not root.exists():
        return
    if not root.is_dir():
        raise UsageError(f"{root} is not a folder", "name a folder with --corpus")
    foreign = sorted(path.name for path in root.iterdir() if path.name not in _PARTS and not path.name.startswith("."))
    if foreign:
        raise UsageError(
            f"{root} is not a corpus and not empty (it holds {foreign[0]})", "name another folder with --corpus"
        )


def _why_not(root: Path) -> str:
    if not root.exists():
        return "there is no such folder"
    return f"it holds no {MANIFESTS_FOLDER}/000001.json" if root.is_dir() else "it is a file"
