"""A graph to its kernel curve: which counts the curve needs, and the curve once they are known.

K(P) is summed from the differences of windows (`profiles.kernels.windows`). Counted in full instead, all ops before P:
positions that the rules flag, and where the layout decision flips. Sums are checked wherever windows are new to the
graph, by one count of all ops from before to after them, and in full where that disagrees until the wrong windows are
found (`profiles.kernels.repair`). Beside, one window in 50 is counted again with 64 ops before it: the share that
disagrees is the curve's error.
What is counted follows from the graph alone, so that who counts, and what was known before, changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from extract.cut import CutError
from extract.graph import Graph
from profiles.kernels.layout_decision import decide_by_flop, spares_images
from profiles.kernels.repair import Steps, new_stretches, next_position
from profiles.kernels.windows import (
    StoredValues,
    Strides,
    Window,
    WindowChooser,
    WindowConfig,
    WindowKeys,
    moved_values,
)

ALGORITHM = "passnet-kernel-curve/3"
_CHECKED = 50  # one window in so many is checked
_GAP = 64  # positions: new windows that are nearer to each other are checked together
_REPAIRED = 4  # repairs end when one position in so many was counted in full


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
        self._known_keys: dict[Window, str] = {}
        self._chosen: dict[tuple[int, bool], Window | None] = {}
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
            return wanted.missing or self._curve({}, full, {}, [], self._decisions)
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
        checks = self._count_checks(wanted, steps, flagged, decisions)
        if wanted.missing:
            return wanted.missing
        self._correct(wanted, steps, checks, full)
        if not wanted.missing:
            self._count_repairs(wanted, self._told(steps, decisions), full, decisions)
        return wanted.missing or self._curve(steps, full, checks, flagged, decisions)

    @property
    def _positions(self) -> range:
        return range(1, self._size + 1)

    def _ask(self, wanted: _Wanted, window: Window) -> Count | None:
        if not window.ops:
            return Count(0)
        try:
            key = self._key(window)
        except CutError as error:
            return Count(None, detail=error.detail)
        self.windows[key] = window
        return wanted.get(key)

    def _key(self, window: Window) -> str:
        if window not in self._known_keys:
            self._known_keys[window] = self.keys.key(window)
        return self._known_keys[window]

    def _window(self, position: int, layout_opt: bool) -> Window | None:
        if (position, layout_opt) not in self._chosen:
            self._chosen[position, layout_opt] = self._chooser.window(position, layout_opt)
        return self._chosen[position, layout_opt]

    def _count_windows(self, wanted: _Wanted, decisions: Sequence[bool]) -> dict[int, _Step]:
        steps: dict[int, _Step] = {}
        for position in self._positions:
            window = self._window(position, decisions[position])
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
        flips = self._flips(decisions)
        beside = flips | {position - 1 for position in flips}
        return [position for position in self._positions if position in beside or position not in steps]

    def _flips(self, decisions: Sequence[bool]) -> set[int]:
        """Return the positions that change the layout of what stands before them."""
        turns = (at for at in range(2, self._size + 1) if decisions[at] != decisions[at - 1])
        return {at for at in turns if self._chooser.num_convolutions(at - 1)}

    def _count_checks(
        self, wanted: _Wanted, steps: Mapping[int, _Step], flagged: Sequence[int], decisions: Sequence[bool]
    ) -> dict[int, tuple[Count | None, Count | None]]:
        checks: dict[int, tuple[Count | None, Count | None]] = {}
        for position, step in steps.items():
            is_chosen = int(self._key(step.window)[:8], 16) % _CHECKED == 0
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

    def _count_repairs(
        self, wanted: _Wanted, told: Steps, full: dict[int, Count | None], decisions: Sequence[bool]
    ) -> None:
        """Check the sums wherever windows are new, and count in full what tells which are wrong."""
        doubted: set[int] = set()
        for start, end in self._stretches(told):
            if decisions[start] != decisions[end]:
                doubted |= {start, end}
                continue
            spanned = self._chooser.span(start, end, decisions[end])
            before, after = (self._ask(wanted, window) for window in spanned)
            full |= {end: after} if spanned[1].is_prefix else {}
            if _difference(before, after) not in (None, sum(told.differences[start + 1 : end + 1])):
                doubted |= {start, end, self._size}
        for at in sorted(doubted - {0}) if not wanted.missing else ():
            full.setdefault(at, self._ask(wanted, self._chooser.prefix(at)))
        self._halve(wanted, told, full)

    def _halve(self, wanted: _Wanted, told: Steps, full: dict[int, Count | None]) -> None:
        """Count in full, one position after the other, until all sums between such counts are right."""
        bound = max(self._size // _REPAIRED, _GAP)
        while not wanted.missing and len(full) < bound:
            unplanned = [at for at, whole in full.items() if _kernels(whole) is None]
            position = next_position(told, _known(full), unplanned)
            if position is None:
                return
            full[position] = self._ask(wanted, self._chooser.prefix(position))

    def _stretches(self, told: Steps) -> list[tuple[int, int]]:
        """Return where the sums are checked; of a graph that was planned whole, from start to end."""
        return [(0, self._size)] if self._is_at_risk else new_stretches(told.keys, _GAP)

    def _told(self, steps: Mapping[int, _Step], decisions: Sequence[bool]) -> Steps:
        """Return what windows say; where the layout flips they say nothing, since earlier kernels change, too."""
        flips = self._flips(decisions)
        found = [None if position in flips else steps.get(position) for position in range(self._size + 1)]
        return Steps(
            [step.difference if step else 0 for step in found],
            [self._key(step.window) if step else None for step in found],
        )

    def _summed(self, told: Steps, full: Mapping[int, Count | None]) -> list[int | None]:
        """Return K by position: summed steps, put right by full counts and restarted at them."""
        known = _known(full)
        differences = told.corrected(known)
        kernels: list[int | None] = []
        current = 0
        for position in self._positions:
            current = known.get(position, current + differences[position])
            is_unplanned = position in full and position not in known
            kernels.append(None if is_unplanned else current)
        return kernels

    def _curve(
        self,
        steps: Mapping[int, _Step],
        full: Mapping[int, Count | None],
        checks: Mapping[int, tuple[Count | None, Count | None]],
        flagged: Sequence[int],
        decisions: Sequence[bool],
    ) -> Curve:
        kernels = self._summed(self._told(steps, decisions), full)
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


def _kernels(count: Count | None) -> int | None:
    return None if count is None else count.kernels


def _known(full: Mapping[int, Count | None]) -> dict[int, int]:
    """Return K where it was counted in full and could be planned, none before the first op."""
    counted = {at: kernels for at, whole in full.items() if (kernels := _kernels(whole)) is not None}
    return {0: 0, **counted}
