"""What windows say of a graph, held against longer counts: where to check, and where to count in full until sums agree.

Checks stand where windows are new within the graph, so that layers that repeat are checked once, and graphs that differ
in depth alone share their checks by key. A stretch whose sum is wrong is halved by counts in full until the position is
found whose window is wrong; what it should have said then holds for all positions with that window.
Pure: takes differences and counts, says which position to count next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise


@dataclass(frozen=True, slots=True)
class Steps:
    """What windows say by position: K(P) - K(P-1), and the window's key; 0 and None where there is none.

    Both have an entry for position 0, which says nothing.
    """

    differences: Sequence[int]
    keys: Sequence[str | None]

    def corrected(self, full: Mapping[int, int]) -> list[int]:
        """Return the differences with those put right that counts in full (K by position) prove wrong, and all others
        that come from the same window."""
        right: dict[str, int] = {}
        for at in sorted(full):
            key = self.keys[at]
            if key is not None and at - 1 in full and full[at] - full[at - 1] != self.differences[at]:
                right.setdefault(key, full[at] - full[at - 1])
        if not right:
            return list(self.differences)
        told = zip(self.differences, self.keys, strict=True)
        return [difference if key is None else right.get(key, difference) for difference, key in told]


def next_position(steps: Steps, full: Mapping[int, int], unplanned: Sequence[int]) -> int | None:
    """Return the position to count in full next, None where all sums agree with the counts in full (K by position, 0
    among them). Sums with a step of which no window tells are not known. `unplanned` are positions that have no count.
    """
    sums = list(accumulate(steps.corrected(full)))
    untold = list(accumulate(int(key is None) for key in steps.keys))
    for start, end in pairwise(sorted(full)):
        is_known = untold[end] == untold[start]
        if is_known and sums[end] - sums[start] != full[end] - full[start]:
            among = [at for at in range(start + 1, end) if at not in unplanned]
            if among:
                return min(among, key=lambda at, middle=(start + end) // 2: abs(at - middle))
    return None


def new_stretches(keys: Sequence[str | None], gap: int) -> list[tuple[int, int]]:
    """Return (start, end) pairs, ascending: windows of positions start + 1 to end occur there first.

    Stretches less than `gap` positions apart are one. `keys` has an entry for position 0.
    """
    seen: set[str] = set()
    stretches: list[tuple[int, int]] = []
    for at, key in enumerate(keys[1:], 1):
        if key is None or key in seen:
            continue
        seen.add(key)
        if stretches and at - stretches[-1][1] <= gap:
            stretches[-1] = (stretches[-1][0], at)
        else:
            stretches.append((at - 1, at))
    return stretches
