"""Numbered manifests: which shards are the corpus at each commit (definitions.md section 7).

`manifests/000123.json` is created exclusively and never changed; the highest number is the corpus. Readers list
shards from it, never from the folders. Paths are relative to the corpus, so that a moved folder stays one.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from storage.errors import UsageError
from storage.filesystem import TEMPORARY_PREFIX, publish_exclusively, unique_name
from storage.schemas import SCHEMA_VERSION, SCHEMAS

MANIFESTS_FOLDER = "manifests"
_NAME = re.compile(r"(\d{6,})\.json")


@dataclass(frozen=True, slots=True)
class Shard:
    """One Parquet file of one table: where it is, what it holds, and how to tell that it is whole.

    `min_key` and `max_key` bound the first key column; `prefix` is the hash prefix that all its rows share, or `all`.
    """

    path: str
    rows: int
    bytes: int
    sha256: str
    min_key: str
    max_key: str
    prefix: str
    schema_version: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The corpus at one commit. `config` is what the run that committed it was given; `created_at` is UTC."""

    number: int
    created_at: datetime
    run_id: str
    action: str
    schema_version: int
    tables: dict[str, tuple[Shard, ...]]
    config: dict[str, Any] = field(default_factory=dict)

    def shards(self, table: str) -> tuple[Shard, ...]:
        """Return the shards of a table, oldest first; none when it has no rows."""
        return self.tables.get(table, ())

    def rows(self, table: str) -> int:
        """Return the number of rows of a table."""
        return sum(shard.rows for shard in self.shards(table))

    def paths(self) -> set[str]:
        """Return the path of every shard, relative to the corpus."""
        return {shard.path for shards in self.tables.values() for shard in shards}

    def next(self, run_id: str, action: str, tables: dict[str, tuple[Shard, ...]], config: dict[str, Any]) -> Manifest:
        """Return the manifest that follows this one, made now."""
        return Manifest(self.number + 1, datetime.now(UTC), run_id, action, SCHEMA_VERSION, tables, config)


def empty_manifest(run_id: str) -> Manifest:
    """Return the manifest of a corpus without rows, number 1."""
    return Manifest(1, datetime.now(UTC), run_id, "create", SCHEMA_VERSION, {name: () for name in SCHEMAS})


def manifest_numbers(root: Path) -> list[int]:
    """Return the numbers of the manifests under a corpus, ascending; none when it is not a corpus."""
    folder = root / MANIFESTS_FOLDER
    if not folder.is_dir():
        return []
    return sorted(int(match[1]) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name)))


def manifest_path(root: Path, number: int) -> Path:
    """Return where the manifest of that number lies."""
    return root / MANIFESTS_FOLDER / f"{number:06d}.json"


def read_manifest(root: Path, number: int) -> Manifest:
    """Read one manifest; raises UsageError when it is damaged or of a newer schema."""
    path = manifest_path(root, number)
    try:
        fields = orjson.loads(path.read_bytes())
        version = fields["schema_version"]
        if version > SCHEMA_VERSION:
            raise UsageError(
                f"{root} has schema version {version}, this passnet reads versions up to {SCHEMA_VERSION}",
                "update passnet or name another --corpus",
            )
        manifest = _from_fields(fields)
        if manifest.number != number:
            raise ValueError(f"it says number {manifest.number!r}")
        return manifest
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, IsADirectoryError) as error:
        raise UsageError(
            f"manifest {path} is damaged ({error})", "restore it, or remove it to go back one commit"
        ) from error


def create_manifest(root: Path, manifest: Manifest) -> None:
    """Publish a manifest durably; raises FileExistsError when its number is taken (the writer lost a race)."""
    path = manifest_path(root, manifest.number)
    temporary = path.with_name(TEMPORARY_PREFIX + unique_name(manifest.run_id, ".json"))
    content = orjson.dumps(dataclasses.asdict(manifest), option=orjson.OPT_INDENT_2)
    publish_exclusively(content, temporary, path)


def _from_fields(fields: dict[str, Any]) -> Manifest:
    names = [field.name for field in dataclasses.fields(Shard)]
    tables = {
        table: tuple(Shard(**{name: shard[name] for name in names}) for shard in shards)
        for table, shards in fields["tables"].items()
    }
    return Manifest(
        number=fields["number"],
        created_at=datetime.fromisoformat(fields["created_at"]),
        run_id=fields["run_id"],
        action=fields["action"],
        schema_version=fields["schema_version"],
        tables=tables,
        config=fields["config"],
    )
