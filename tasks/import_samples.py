"""Samples on disk to a corpus: read in sandboxes, named, committed in batches.

Whatever is wrong with a sample costs one row of `failures`; the others are imported. Files that were imported from
the same place before are not read again, so a run that was stopped goes on where it stopped.
"""

from __future__ import annotations

import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import pyarrow as pa

from extract.failure import Reason, SubjectError
from extract.sandbox import ChildFailed, Limits, StartFailed
from storage.corpus import Corpus
from storage.errors import CorpusError
from storage.model_ids import free_id, known_signatures, model_id_of
from storage.records import Failure, failure_table, tables_from_bytes
from storage.sample_folders import SampleFolder, files_digest, read_files
from storage.sample_records import SOURCE, renamed
from tasks.sandbox_pool import SandboxPool

STEP = "import"
STEP_VERSION = 1
# A commit is also made when it holds this many bytes of tables, or the last one is this old.
_BATCH_BYTES = 256 << 20
_BATCH_SECONDS = 30.0
# Models asked for ahead of the one that is stored next, for each worker.
_AHEAD = 4
_LIMITS = Limits(seconds=60.0, num_requests=5000)


def _new_run_id() -> str:
    return f"import-{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class ImportRun:
    """How samples are imported: children, wall time of each sample, samples in a commit, and the run's id."""

    workers: int = 1
    sample_seconds: float = 60.0
    batch_samples: int = 500
    run_id: str = field(default_factory=_new_run_id)


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What became of the samples: imported now, there before, failed by reason; and what the corpus gained.

    `num_unknown_shapes` counts samples of which some shapes could not be inferred.
    """

    num_samples: int
    num_imported: int
    num_before: int
    reasons: tuple[tuple[str, int], ...]
    num_new_graphs: int
    num_unknown_shapes: int
    seconds: float

    @property
    def num_failed(self) -> int:
        """Samples that cost a row of failures."""
        return sum(count for _, count in self.reasons)

    @property
    def failed_frac(self) -> float:
        """Share of all samples that failed."""
        return self.num_failed / self.num_samples if self.num_samples else 0.0


@dataclass(frozen=True, slots=True)
class _Read:
    """One sample as a child read it, or why it could not be."""

    folder: SampleFolder
    model_name: str | None = None
    signature: str | None = None
    tables: dict[str, pa.Table] | None = None
    num_bytes: int = 0
    failure: tuple[Reason, str] | None = None
    seconds: float | None = None
    is_known: bool = False


@dataclass
class _Batch:
    """Rows since the last commit."""

    max_samples: int
    tables: dict[str, list[pa.Table]] = field(default_factory=dict[str, list[pa.Table]])
    num_samples: int = 0
    num_bytes: int = 0
    started: float = field(default_factory=time.monotonic)

    def add(self, tables: dict[str, pa.Table], num_bytes: int) -> None:
        for name, rows in tables.items():
            self.tables.setdefault(name, []).append(rows)
        self.num_samples += 1
        self.num_bytes += num_bytes

    @property
    def is_due(self) -> bool:
        old = self.num_samples and time.monotonic() - self.started > _BATCH_SECONDS
        return bool(self.num_samples >= self.max_samples or self.num_bytes >= _BATCH_BYTES or old)


def import_samples(
    corpus: Corpus, folders: Sequence[SampleFolder], run: ImportRun, on_sample: Callable[[str, bool], None]
) -> ImportSummary:
    """Read samples and commit their rows; `on_sample(place, failed)` is told about each, in order.

    Raises CorpusError where no child starts, WriteError. A commit holds whole models; a run that stops keeps them.
    """
    started = time.monotonic()
    importer = _Importer(corpus, run)
    graphs_before = corpus.manifest().rows("graphs")
    pool = SandboxPool(run.workers, limits=_limits(run), worker="tasks.import_worker")
    try:
        for reads in _read_models(pool, folders, importer.known_files, run.workers):
            importer.add(reads)
            for read in reads:
                on_sample(read.folder.imported_from, read.failure is not None)
        importer.flush()
    except StartFailed as error:
        raise CorpusError(f"no sample could be read: {error}", "see that `python -c 'import torch'` works") from error
    finally:
        pool.close()
    return ImportSummary(
        num_samples=len(folders),
        num_imported=importer.num_imported,
        num_before=importer.num_known,
        reasons=tuple((str(reason), count) for reason, count in sorted(importer.reasons.items())),
        num_new_graphs=corpus.manifest().rows("graphs") - graphs_before,
        num_unknown_shapes=importer.num_unknown_shapes,
        seconds=time.monotonic() - started,
    )


class _Importer:
    """Names the models of a run, and stages and commits their rows."""

    def __init__(self, corpus: Corpus, run: ImportRun) -> None:
        self.known_files = _known_files(corpus)
        self.num_imported = self.num_known = self.num_unknown_shapes = 0
        self.reasons: Counter[Reason] = Counter()
        self._corpus = corpus
        self._run = run
        self._signatures = known_signatures(corpus)
        self._batch = _Batch(run.batch_samples)

    def add(self, reads: Sequence[_Read]) -> None:
        """Take in all samples of one model."""
        good = [read for read in reads if read.tables is not None and read.signature is not None]
        if good:
            named = next((read.model_name for read in good if read.model_name), None)
            parts = {read.folder.part: str(read.signature) for read in good}
            wanted = model_id_of(SOURCE, named or good[0].folder.model)
            model_id = free_id(self._signatures, wanted, parts)
            self._signatures.setdefault(model_id, {}).update(parts)
            for read in good:
                tables = renamed(read.tables or {}, model_id, read.folder.part)
                self.num_unknown_shapes += "constraints" in tables
                self._batch.add(tables, read.num_bytes)
        self.num_imported += len(good)
        self.num_known += sum(read.is_known for read in reads)
        for read in reads:
            if read.failure is not None:
                self.reasons[read.failure[0]] += 1
                self._batch.add({"failures": failure_table([self._failure(read, *read.failure)])}, 0)
        if self._batch.is_due:
            self.flush()

    def flush(self) -> None:
        """Commit what is there."""
        batch, self._batch = self._batch, _Batch(self._run.batch_samples)
        if batch.tables:
            tables = {name: pa.concat_tables(parts) for name, parts in batch.tables.items()}
            staged = self._corpus.stage(tables, self._run.run_id)
            self._corpus.commit(staged, self._run.run_id, {"step": STEP, "step_version": STEP_VERSION})

    def _failure(self, read: _Read, reason: Reason, detail: str) -> Failure:
        subject = f"{SOURCE}/{read.folder.imported_from}"
        return Failure(subject, STEP, reason, detail, self._run.run_id, read.seconds, datetime.now(UTC), STEP_VERSION)


def _read_models(
    pool: SandboxPool, folders: Iterable[SampleFolder], known: set[tuple[str, str]], workers: int
) -> Iterator[list[_Read]]:
    """Yield the samples of each model as they were read, in order, a few models ahead."""
    models = [list(group) for _, group in groupby(folders, key=lambda folder: (folder.path.parent, folder.model))]
    waiting: deque[Future[list[_Read]]] = deque()
    with ThreadPoolExecutor(workers) as threads:
        try:
            for model in models:
                waiting.append(threads.submit(_read_model, pool, model, known))
                if len(waiting) > _AHEAD * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            pool.stop()
            for future in waiting:
                future.cancel()
            raise


def _read_model(pool: SandboxPool, folders: Sequence[SampleFolder], known: set[tuple[str, str]]) -> list[_Read]:
    pool.check()
    return [_read_sample(pool, folder, known) for folder in folders]


def _read_sample(pool: SandboxPool, folder: SampleFolder, known: set[tuple[str, str]]) -> _Read:
    try:
        files = read_files(folder.path)
    except SubjectError as error:
        return _Read(folder, failure=(error.reason, error.detail))
    digest = files_digest(files)
    if (folder.imported_from, digest) in known:
        return _Read(folder, is_known=True)
    sizes = [[name, len(content)] for name, content in files.items()]
    request: dict[str, Any] = {"do": "import", "imported_from": folder.imported_from, "digest": digest, "files": sizes}
    try:
        with pool.lease() as sandbox:
            reply, payload = pool.ask(sandbox, request, b"".join(files.values()))
        if failure := reply.get("failure"):
            return _Read(folder, failure=(Reason(failure["reason"]), failure["detail"]), seconds=reply.get("seconds"))
        return _Read(folder, reply["model_name"], reply["signature_sha256"], tables_from_bytes(payload), len(payload))
    except ChildFailed as error:
        return _Read(folder, failure=(error.reason, error.detail))
    except (ValueError, TypeError, KeyError, pa.ArrowException) as error:
        return _Read(folder, failure=(Reason.BAD_REPLY, f"not the rows of a sample: {error}"))


def _limits(run: ImportRun) -> Limits:
    return Limits(seconds=run.sample_seconds, num_requests=_LIMITS.num_requests)


def _known_files(corpus: Corpus) -> set[tuple[str, str]]:
    rows = corpus.read("samples", ["imported_from", "files_sha256"])
    return set(zip(rows.column("imported_from").to_pylist(), rows.column("files_sha256").to_pylist(), strict=True))
