"""What a build of PassBench is asked for: checked before anything is written or started."""

from __future__ import annotations

from flows.bounds import MAX_SECONDS
from passbench.choice import EVALUATED_KINDS, METHODS, ChoiceConfig, Method
from passbench.selection import NUM_SELECTED
from storage.bench_rows import BuildConfig
from storage.bench_steps import SIGMA
from storage.errors import UsageError

CHECK_SECONDS = 300.0
"""For one instance that is run to see whether it makes a task: half-precision convolutions take minutes."""
_MOST = 1_000_000


def plan_build(
    sigma: int = SIGMA,
    num_selected: int = NUM_SELECTED,
    method: str = "hmm",
    seed: int = 0,
    split_by_family: bool = False,
    every_group: bool = False,
    checked: bool = True,
) -> BuildConfig:
    """Return the settings of a build; raises UsageError for those under which none can be made."""
    known: dict[str, Method] = {name: name for name in METHODS}
    found = known.get(method)
    if found is None:
        raise UsageError(f"unknown selection {method!r}", f"choose among {', '.join(METHODS)}")
    for option, number in (("--sigma", sigma), ("--num-selected", num_selected)):
        if not 1 <= number <= _MOST:
            raise UsageError(f"{option} {number} is out of range", f"give 1 to {_MOST:,}")
    if not 0 <= seed < 1 << 31:
        raise UsageError(f"--seed {seed} is out of range", f"give 0 to {(1 << 31) - 1}")
    choice = ChoiceConfig(EVALUATED_KINDS, num_selected, method=found, seed=seed, split_by_family=split_by_family)
    return BuildConfig(choice, sigma, every_group, checked)


def check_bound(check_seconds: float) -> None:
    """Raise UsageError for a time in which nothing can be run."""
    if not 0 < check_seconds <= MAX_SECONDS:
        raise UsageError(
            f"--check-seconds {check_seconds} is no time to run in", f"give more than 0, {MAX_SECONDS:,.0f} at most"
        )
