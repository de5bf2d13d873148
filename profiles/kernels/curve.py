"""A graph to its kernel curve: which counts the curve needs, and the curve once they are known.

K(P) is summed from the differences of windows (`profiles.kernels.windows`). Counted in full instead, all ops before P:
positions that the rules flag, and where the layout decision flips. One window in 50 is counted again with 64 ops before
it: the share that disagrees is the curve's error, and where one does, both positions are counted in full. Of graphs
that were planned whole, and of one in 10 of the others, the last position is, too; where the sum misses it, every
64th, and each position of a stretch whose sum is wrong.
Which are chosen follows from keys alone, so that who counts, and what was known before, changes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from extract.cut import CutError
from extract.graph import Graph
from profiles.kernels.layout_decision import decide_by_flop, spares_images
from profiles.kernels.windows import (
    StoredValues,
    Strides,
    Window,
    WindowChooser,
    WindowConfig,
    WindowKeys,
    moved_values,
)

ALGORITHM = "passnet-kernel-curve/2"
_CHECKED = 50  # one window in so many is checked
_ANCHOR = 64  # ops
_WHOLE = 10  # one graph in so many is checked at its end


@dataclass(frozen=True, slots=True)
class Count:
    """What planning a program gave: kernels, calls of a CPU wrapper, nodes after lowering to aten less its operands,
    the layout decision, and why the last op's kernel is one of its own (`other_op`: the op that it could not join, by
    place in the program). `kernels` is None where the program cannot be planned; `detail` says why."""

    kernels: int | None
    called: int | None = None
    num_aten: int = 0
    layout_opt: bool = False
    reason: str | None = None
    detail: str | None = None
    other_op: int | None = None


Counts = Mapping[str, Count]


@dataclass(frozen=True, slots=True)
class Boundary:
    """A step of the curve up: `position`, how many kernels more, and why op `position - 1` joined none before it."""

    position: int
    op: str
    step: int
    reason: str
    detail: str
    other_op: int | None


@dataclass(frozen=True, slots=True)
class Curve:
    """K by position, from 1; None where the prefix cannot be planned. `called` is known where counted in full."""

    kernels: tuple[int | None, ...]
    called: tuple[int | None, ...]
    boundaries: tuple[Boundary, ...]
    num_full: int
    num_flagged: int
    num_checked: int
    num_wrong: int


@dataclass(frozen=True, slots=True)
class CurveConfig:
    """How a curve is made: `is_exact` counts every prefix in full; `windows` says how far back windows reach."""

    is_exact: bool = False
    windows: WindowConfig = field(default_factory=WindowConfig)


class CurveMaker:
    """Makes the curve of one graph for one target; asks for counts by key until it has all that it needs."""

    def __init__(
        self,
        graph: Graph,
        target: str,
        context: str,
        optimised: Strides,
        config: CurveConfig,
        stored: StoredValues | None = None,
    ) -> None:
        strides = {**optimised, **stored.strides} if stored else optimised
        self.keys = WindowKeys(graph, context, strides)
        self.windows: dict[str, Window] = {}
        self._graph = graph
        self._size = len(graph.nodes)
        self._config = config
        self._chooser = WindowChooser(graph, target, config.windows, stored, moved_values(graph, strides))
        self._is_at_risk = stored is not None
        self._decisions = decide_by_flop(graph, target)
        self._spares = spares_images(target)

    def advance(self, counts: Counts) -> tuple[str, ...] | Curve:
        """Return the keys that are still needed, or the curve."""
        wanted = _Wanted(counts)
        if self._config.is_exact:
            full = {position: self._ask(wanted, self._chooser.prefix(position)) for position in self._positions}
            return wanted.missing or self._curve({}, full, {}, [])
        steps = self._count_windows(wanted, self._decisions)
        if wanted.missing:
            return wanted.missing
        decisions = self._decisions_by_size(steps)
        if decisions != self._decisions:
            steps = self._count_windows(wanted, decisions)
            if wanted.missing:
                return wanted.missing
        flagged = self._flagged(steps, decisions)
        full = {position: self._ask(wanted, self._chooser.prefix(position)) for position in flagged}
        if self._is_checked_at_end(steps):
            full[self._size] = self._ask(wanted, self._chooser.prefix(self._size))
        checks = self._count_checks(wanted, steps, flagged, decisions)
        if wanted.missing:
            return wanted.missing
        self._correct(wanted, steps, checks, full)
        if not wanted.missing:
            self._count_stretches(wanted, steps, full)
        return wanted.missing or self._curve(steps, full, checks, flagged)

    @property
    def _positions(self) -> range:
        return range(1, self._size + 1)

    def _ask(self, wanted: _Wanted, window: Window) -> Count | None:
        if not window.ops:
            return Count(0)
        try:
            key = self.keys.key(window)
        except CutError as error:
            return Count(None, detail=error.detail)
        self.windows[key] = window
        return wanted.get(key)

    def _count_windows(self, wanted: _Wanted, decisions: Sequence[bool]) -> dict[int, _Step]:
        steps: dict[int, _Step] = {}
        for position in self._positions:
            window = self._chooser.window(position, decisions[position])
            if window is not None:
                before, after = self._ask(wanted, window.without_last()), self._ask(wanted, window)
                if before is not None and after is not None and None not in (before.kernels, after.kernels):
                    steps[position] = _Step(before, after, window)
        return steps

    def _decisions_by_size(self, steps: Mapping[int, _Step]) -> list[bool]:
        """Return the decisions once those by FLOP are overruled where few convolutions stand among many aten nodes."""
        decisions, nodes, seen = [False], 0, 0
        for position in self._positions:
            step = steps.get(position)
            nodes += step.after.num_aten - step.before.num_aten if step else 1
            seen += self._chooser.num_operands_added(position)
            spared = self._spares(nodes + seen, self._chooser.num_convolutions(position))
            decisions.append(self._decisions[position] and not spared)
        return decisions

    def _flagged(self, steps: Mapping[int, _Step], decisions: Sequence[bool]) -> list[int]:
        flips = {
            at
            for at in range(2, self._size + 1)
            if decisions[at] != decisions[at - 1] and self._chooser.num_convolutions(at - 1)
        }
        beside = flips | {position - 1 for position in flips}
        return [position for position in self._positions if position in beside or position not in steps]

    def _is_checked_at_end(self, steps: Mapping[int, _Step]) -> bool:
        """Choose by the set of the windows, which graphs that differ in depth alone share; and all that are at risk."""
        if self._is_at_risk:
            return True
        keys = sorted({self.keys.key(step.window) for step in steps.values()})
        return int(hashlib.blake2b("".join(keys).encode(), digest_size=4).hexdigest(), 16) % _WHOLE == 0

    def _count_checks(
        self, wanted: _Wanted, steps: Mapping[int, _Step], flagged: Sequence[int], decisions: Sequence[bool]
    ) -> dict[int, tuple[Count | None, Count | None]]:
        checks: dict[int, tuple[Count | None, Count | None]] = {}
        for position, step in steps.items():
            is_chosen = int(self.keys.key(step.window)[:8], 16) % _CHECKED == 0
            if is_chosen and position not in flagged and len(step.window.ops) < position:
                wide = self._chooser.wide_window(position, decisions[position])
                checks[position] = self._ask(wanted, wide.without_last()), self._ask(wanted, wide)
        return checks

    def _correct(
        self,
        wanted: _Wanted,
        steps: Mapping[int, _Step],
        checks: Mapping[int, tuple[Count | None, Count | None]],
        full: dict[int, Count | None],
    ) -> None:
        """Count in full, before and after, where a check disagrees."""
        for position, (before, after) in checks.items():
            if _difference(before, after) not in (None, steps[position].difference):
                for at in (position - 1, position):
                    if at:
                        full[at] = self._ask(wanted, self._chooser.prefix(at))

    def _count_stretches(self, wanted: _Wanted, steps: Mapping[int, _Step], full: dict[int, Count | None]) -> None:
        """Where the summed curve misses a full count, count anchors, then the stretches between that miss theirs."""
        if not _misses(self._summed(steps, full, resets=False), full):
            return
        for anchor in range(_ANCHOR, self._size, _ANCHOR):
            full.setdefault(anchor, self._ask(wanted, self._chooser.prefix(anchor)))
        if wanted.missing:
            return
        fixed = sorted(full)
        for start, end in zip([0, *fixed], fixed, strict=False):
            gained = _difference(full.get(start, Count(0)), full[end])
            summed = sum(steps[at].difference for at in range(start + 1, end + 1) if at in steps)
            if end in steps and gained not in (None, summed):
                for position in range(start + 1, end):
                    full[position] = self._ask(wanted, self._chooser.prefix(position))

    def _summed(
        self, steps: Mapping[int, _Step], full: Mapping[int, Count | None], resets: bool = True
    ) -> list[int | None]:
        """Return K by position: summed steps, restarted at full counts (without `resets`: where there is no step)."""
        kernels: list[int | None] = []
        current = 0
        for position in self._positions:
            whole = full.get(position)
            if whole is not None and (resets or position not in steps):
                kernels.append(whole.kernels)
                current = whole.kernels if whole.kernels is not None else current
            else:
                current += steps[position].difference
                kernels.append(current)
        return kernels

    def _curve(
        self,
        steps: Mapping[int, _Step],
        full: Mapping[int, Count | None],
        checks: Mapping[int, tuple[Count | None, Count | None]],
        flagged: Sequence[int],
    ) -> Curve:
        kernels = self._summed(steps, full)
        called = [whole.called if (whole := full.get(position)) is not None else None for position in self._positions]
        wrong = sum(_difference(*check) not in (None, steps[position].difference) for position, check in checks.items())
        boundaries = tuple(self._boundaries(kernels, steps, full))
        return Curve(tuple(kernels), tuple(called), boundaries, len(full), len(flagged), len(checks), wrong)

    def _boundaries(
        self, kernels: Sequence[int | None], steps: Mapping[int, _Step], full: Mapping[int, Count | None]
    ) -> list[Boundary]:
        found: list[Boundary] = []
        for position, (before, after) in enumerate(zip([0, *kernels], kernels, strict=False), 1):
            if before is None or after is None or after <= before:
                continue
            whole, step = full.get(position), steps.get(position)
            count, ops = (
                (whole, range(position)) if whole is not None or step is None else (step.after, step.window.ops)
            )
            if count is None:
                continue
            other = ops[count.other_op] if count.other_op is not None else None
            op = self._graph.nodes[position - 1].op
            found.append(Boundary(position, op, after - before, count.reason or "unknown", count.detail or "", other))
        return found


@dataclass(frozen=True, slots=True)
class _Step:
    before: Count
    after: Count
    window: Window

    @property
    def difference(self) -> int:
        return (self.after.kernels or 0) - (self.before.kernels or 0)


class _Wanted:
    """Looks counts up, and remembers which were missing."""

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._missing: dict[str, None] = {}

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(self._missing)

    def get(self, key: str) -> Count | None:
        count = self._counts.get(key)
        if count is None:
            self._missing[key] = None
        return count


def _difference(before: Count | None, after: Count | None) -> int | None:
    if before is None or after is None or before.kernels is None or after.kernels is None:
        return None
    return after.kernels - before.kernels


def _misses(summed: Sequence[int | None], full: Mapping[int, Count | None]) -> bool:
    """Tell whether a full count is not the summed one."""
    known = ((at, whole.kernels) for at, whole in full.items() if whole is not None and whole.kernels is not None)
    return any(summed[at - 1] != kernels for at, kernels in known)
