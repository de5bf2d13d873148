"""Shards of work, done side by side, to commits in order: what a run leaves does not depend on which ends first."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from prefect.futures import PrefectFuture

Report = TypeVar("Report")


def commit_in_order(
    submitted: Iterable[PrefectFuture[Report]], commit: Callable[[int, Report], object], num_ahead: int
) -> None:
    """Commit the reports of an iterator that submits each shard when it is asked, `num_ahead` and one at a time.

    `commit` gets a report and its number. A shard that fails ends the run, those before it are committed.
    """
    pending: deque[PrefectFuture[Report]] = deque()
    num_committed = 0

    def commit_next() -> None:
        nonlocal num_committed
        commit(num_committed, pending.popleft().result())
        num_committed += 1

    for future in submitted:
        pending.append(future)
        if len(pending) > num_ahead:
            commit_next()
    while pending:
        commit_next()
