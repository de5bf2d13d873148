"""The calls of timed trials: operands drawn for each, and what torch compiled in each.

Compilations are told apart by reading torch's counter whenever a call is prepared, which is not timed: what was added
since is the last call's. A program that is compiled again at each call stops that after some calls: torch has a limit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch._dynamo.config
from torch._dynamo.utils import counters

from profiles.backends import Runner
from profiles.operand_pool import OperandPool
from profiles.timer import Subject


@dataclass(slots=True)
class _Calls:
    num_prepared: int = 0
    compiled_in: list[int] = field(default_factory=list[int])  # a call's number for each compilation


class TrialCalls:
    """Calls of several runners that take their operands from one pool, which leaves the caches before each block."""

    def __init__(self, pool: OperandPool) -> None:
        self._pool = pool
        self._calls: dict[str, _Calls] = {}
        self._last: _Calls | None = None
        self._num_graphs = _num_graphs()

    def subject(self, name: str, runner: Runner) -> Subject:
        """Return what the timer times: a runner by its name."""
        calls = self._calls[name] = _Calls()

        def prepare() -> Callable[[], object]:
            self._settle()
            calls.num_prepared += 1
            self._last = calls
            return partial(runner, *self._pool.take())

        return Subject(name, prepare, self._pool.max_calls, self._pool.evict)

    def num_compiled(self, name: str) -> int:
        """Return how often torch compiled in the calls of a runner."""
        self._settle()
        return len(self._calls[name].compiled_in)

    def is_recompiled(self, name: str, num_untimed: int) -> bool:
        """Tell whether torch compiled in a call after the first `num_untimed`, or before them up to its limit."""
        self._settle()
        compiled_in = self._calls[name].compiled_in
        limit = torch._dynamo.config.recompile_limit - 1  # what was compiled before the first call counts there
        return len(compiled_in) >= limit or any(number > num_untimed for number in compiled_in)

    def _settle(self) -> None:
        """Put down to the last call what was compiled since it was prepared."""
        num_graphs = _num_graphs()
        if self._last is not None:
            self._last.compiled_in += [self._last.num_prepared] * max(num_graphs - self._num_graphs, 0)
        self._num_graphs = num_graphs


def _num_graphs() -> int:
    return counters["stats"]["unique_graphs"]
