"""Real `passnet refresh` processes for the acceptance runs: start, kill, wait, and compare what they left."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.model_list import read_names
from storage.comparison import comparable_tables, differences
from storage.corpus import Corpus
from storage.fsck import fsck
from storage.schemas import KEYS

ROOT = Path(__file__).resolve().parents[1]
STARTER = ROOT / "data" / "models" / "starter.txt"
NUM_MODELS = 100
RUN_SECONDS_MAX = 1800.0


def write_model_list(path: Path, num_models: int, seed: int) -> list[str]:
    """Write a list of `num_models` models: the starter list, then others drawn by seed; return the names."""
    from extract.timm_source import list_models

    names = read_names(STARTER)[:num_models]
    others = [model.model_id for model in list_models()]
    tiny = [model_id for model_id in others if model_id.startswith("timm/test_")]
    rng = random.Random(seed)
    for name in [*tiny, *rng.sample(others, len(others))]:
        if len(names) < num_models and name not in names:
            names.append(name)
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return names


def start_refresh(
    corpus: Path, models: Path, arguments: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Start `passnet refresh` in a process group of its own; its messages go to `<corpus>.log`."""
    command = [sys.executable, "-c", "from flows.cli import main; main()", "refresh"]
    command += ["--corpus", str(corpus), "--models", str(models), *arguments]
    with open(f"{corpus}.log", "a", encoding="utf-8") as log:
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            text=True,
            start_new_session=True,
        )


def run_to_end(corpus: Path, models: Path, arguments: Sequence[str] = ()) -> float:
    """Refresh without interruption and return seconds; raises RuntimeError, with its last lines, when it fails."""
    start = time.monotonic()
    code = start_refresh(corpus, models, arguments).wait(RUN_SECONDS_MAX)
    if code != 0:
        lines = Path(f"{corpus}.log").read_text(encoding="utf-8").splitlines()[-5:]
        raise RuntimeError(f"refresh into {corpus} ended with code {code}: {' / '.join(lines)}")
    return time.monotonic() - start


def kill_group(run: subprocess.Popen[str]) -> None:
    """SIGKILL the whole process group of a run, and reap it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGKILL)
    run.wait()


def problems(path: Path) -> list[str]:
    """Return what `fsck --deep` finds in a corpus, one line each."""
    with Corpus.open(path) as corpus:
        return [str(finding) for finding in fsck(corpus, deep=True)]


def compare_corpora(left: Path, right: Path) -> list[str]:
    """Return what differs between the tables of two corpora without volatile columns, one line each."""
    with Corpus.open(left) as ours, Corpus.open(right) as theirs:
        return differences(ours, theirs)


def compare_keys(left: Path, right: Path) -> list[str]:
    """Return the tables whose keys differ, or occur twice; who was first to see a graph is left open."""
    with Corpus.open(left) as ours, Corpus.open(right) as theirs:
        tables, others = comparable_tables(ours), comparable_tables(theirs)
    lines = [f"{name}: only one corpus has it" for name in sorted(tables.keys() ^ others.keys())]
    for name in sorted(tables.keys() & others.keys()):
        columns = [key for key in KEYS[name] if key in tables[name].column_names]
        here, there = (
            list(zip(*(table.column(column).to_pylist() for column in columns), strict=True))
            for table in (tables[name], others[name])
        )
        if sorted(here, key=repr) != sorted(there, key=repr):
            lines.append(f"{name}: {len(here)} keys ({len(set(here))} distinct) here, {len(there)} there")
        elif len(set(here)) != len(here) and name != "failures":
            lines.append(f"{name}: {len(here) - len(set(here))} keys occur twice")
    return lines
