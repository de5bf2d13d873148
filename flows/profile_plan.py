"""What a run of timing is about: checked before anything is written or started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from extract.shape_configs import DTYPES
from flows.bounds import MAX_SECONDS, MAX_WORKERS
from flows.mining_plan import check_kinds
from flows.refresh_plan import read_model_list
from storage.errors import UsageError
from storage.profile_candidates import ProfileChoice

DEFAULT_BACKENDS = "eager,inductor"
MAX_BYTES = 1 << 28
"""Bytes that an instance may move at least to be timed by default: a CPU takes some 10 ms for them."""
REQUEST_SECONDS = 900.0
"""For one instance under all backends: a large program compiles in minutes on a CPU."""
_CACHES = ("cold", "warm")
_HASH_CHARS = 64
_MOST = (1 << 63) - 1


def check_names(option: str, text: str, known: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the names of a comma-separated option; raises UsageError for none, and for others than `known`."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError(f"{option} {text!r} names nothing", f"give names, as in {option} {DEFAULT_BACKENDS}")
    for name in names if known is not None else ():
        if name not in (known or ()):
            raise UsageError(f"{option}: unknown {name!r}", f"choose among {', '.join(known or ())}")
    return names


def check_profile(cache: str, threads: int, seconds: float) -> None:
    """Raise UsageError for a state of the operands that there is not, and for numbers under which nothing is timed."""
    if cache not in _CACHES:
        raise UsageError(f"--cache {cache!r} is no state of operands", f"choose among {', '.join(_CACHES)}")
    if not 1 <= threads <= MAX_WORKERS:
        raise UsageError(f"--threads {threads} is no number to run on", f"give 1 to {MAX_WORKERS}")
    if not 0 < seconds <= MAX_SECONDS:
        raise UsageError(f"--seconds {seconds} is no time to run in", f"give more than 0, {MAX_SECONDS:,.0f} at most")


def make_choice(
    kinds: str,
    dtypes: str,
    max_bytes: int | None,
    limit: int | None,
    seed: int,
    models_file: str | None = None,
    instances_file: str | None = None,
    again: bool = False,
) -> ProfileChoice:
    """Return which instances a run is about; raises UsageError for kinds, dtypes or files that are none, and for
    numbers beyond 64 bits."""
    for option, number in (("--limit", limit), ("--max-bytes", max_bytes), ("--seed", seed)):
        if number is not None and number > _MOST:
            raise UsageError(f"{option} {number} is too large", f"give at most {_MOST}")
    return ProfileChoice(
        check_kinds(kinds),
        check_names("--dtypes", dtypes, DTYPES),
        tuple(read_model_list(Path(models_file))) if models_file else None,
        read_instances(Path(instances_file)) if instances_file else None,
        max_bytes,
        limit,
        seed,
        again,
    )


def read_instances(path: Path) -> tuple[str, ...]:
    """Return the hashes in a file, one a line; raises UsageError where it cannot be read or a line is none."""
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({error})", "give a file of instance hashes, one a line") from error
    hashes = tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))
    for name in hashes:
        if len(name) != _HASH_CHARS or set(name) - set("0123456789abcdef"):
            raise UsageError(
                f"{path} has {name[:80]!r}, which is no hash of an instance", "give 64 hex characters a line"
            )
    if not hashes:
        raise UsageError(f"{path} names no instance", "give hashes, one a line")
    return hashes
