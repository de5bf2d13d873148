"""Merge the many small shards that commits leave into few, and repartition tables that have grown.

A table up to 64 MiB becomes one shard; a larger one is partitioned by 1, and above 16 times that by 2, hex characters
of its hash key. Keys stay distinct, rows stay the same. The merged shards are committed as a manifest like any other
(whoever commits meanwhile is kept); older manifests, and the shards that only they name, stay until `expire`.
"""

from __future__ import annotations

import logging
import secrets
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from storage.dedup import distinct_rows
from storage.filesystem import remove
from storage.manifest import Manifest, Shard, create_manifest, manifest_numbers, manifest_path, read_manifest
from storage.schemas import KEYS
from storage.shards import ALL, read_shards, write_shard

_PARTITION_BYTES: Final = 64 << 20  # Parquet bytes: one partition in memory is a few times that
_FRAGMENTED_SHARDS: Final = 8
_HEX: Final = "0123456789abcdef"
_LOGGER = logging.getLogger(__name__)


def new_run_id() -> str:
    """Return an id for a run that has none of its own."""
    return f"compact-{secrets.token_hex(6)}"


def is_fragmented(manifest: Manifest) -> bool:
    """Tell whether a table has more shards than its partitions warrant."""
    return any(
        len(shards) > max(_FRAGMENTED_SHARDS, 2 * len(prefixes_for(table, shards)))
        for table, shards in manifest.tables.items()
    )


def compact(root: Path, run_id: str) -> Manifest:
    """Merge shards and commit; returns the new manifest, or the present one when there is nothing to merge.

    The caller holds the lease of `run_id` and `storage.lease.committing`. Raises WriteError when the disk is full;
    the corpus is then unchanged.
    """
    base = read_manifest(root, manifest_numbers(root)[-1])
    merged = {
        table: _merge(root, table, shards, run_id) for table, shards in base.tables.items() if _is_worth(table, shards)
    }
    if not merged:
        return base
    while True:
        current = read_manifest(root, manifest_numbers(root)[-1])
        if any(not set(base.shards(table)) <= set(current.shards(table)) for table in merged):
            _LOGGER.info("another writer merged %s meanwhile; leaving it as it is", root)
            _remove_all(root, merged)
            return current
        tables = {table: _replaced(table, base, current, merged) for table in current.tables}
        following = current.next(run_id, "compact", tables, {})
        try:
            create_manifest(root, following)
        except FileExistsError:
            continue
        return following


def expire(root: Path) -> int:
    """Remove all manifests but the newest and the shards that only they name; returns the number of shards.

    A reader that still uses an older manifest then meets a missing shard and has to open the corpus again.
    """
    numbers = manifest_numbers(root)
    kept = read_manifest(root, numbers[-1]).paths()
    older = [read_manifest(root, number) for number in numbers[:-1]]
    stale = {path for manifest in older for path in manifest.paths()} - kept
    for number in numbers[:-1]:
        remove(manifest_path(root, number))
    for path in sorted(stale):
        remove(root / path)
    return len(stale)


def prefixes_for(table: str, shards: tuple[Shard, ...]) -> tuple[str, ...]:
    """Return the hash prefixes that a table of these shards is partitioned by; `all` when it is small or not hashed."""
    size = sum(shard.bytes for shard in shards)
    if not KEYS[table][0].endswith("_sha256") or size <= _PARTITION_BYTES:
        return (ALL,)
    if size <= _PARTITION_BYTES * len(_HEX):
        return tuple(_HEX)
    return tuple(first + second for first in _HEX for second in _HEX)


def _is_worth(table: str, shards: tuple[Shard, ...]) -> bool:
    return len(shards) > 1 and sorted(shard.prefix for shard in shards) != sorted(prefixes_for(table, shards))


def _merge(root: Path, table: str, shards: tuple[Shard, ...], run_id: str) -> tuple[Shard, ...]:
    merged: list[Shard] = []
    for prefix in prefixes_for(table, shards):
        rows = distinct_rows(table, _read_prefix(root, table, shards, prefix))
        if rows.num_rows:
            merged.append(write_shard(root, table, rows, run_id, prefix))
    return tuple(merged)


def _read_prefix(root: Path, table: str, shards: tuple[Shard, ...], prefix: str) -> pa.Table:
    if prefix == ALL:
        return read_shards(root, table, shards)
    touching = [shard for shard in shards if shard.min_key[: len(prefix)] <= prefix <= shard.max_key[: len(prefix)]]
    key = pc.field(KEYS[table][0])
    return read_shards(root, table, touching, filters=(key >= prefix) & (key < prefix + "g"))


def _replaced(table: str, base: Manifest, current: Manifest, merged: dict[str, tuple[Shard, ...]]) -> tuple[Shard, ...]:
    if table not in merged:
        return current.shards(table)
    old = set(base.shards(table))
    return (*merged[table], *(shard for shard in current.shards(table) if shard not in old))


def _remove_all(root: Path, merged: dict[str, tuple[Shard, ...]]) -> None:
    for shards in merged.values():
        for shard in shards:
            remove(root / shard.path)
