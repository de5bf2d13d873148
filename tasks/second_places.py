"""Subgraphs that a model gives fewer instances of than another one may: their rows wait until another graph was asked.

A model refuses a dtype, or runs other ops at other sizes, for reasons of its own; a subgraph of it that other graphs
hold too is asked of the next one, once, and the rows of the graph that gives more instances are written. What waits is
in memory alone: a run that is killed asks both graphs again. Safe for threads.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from storage.schemas import SCHEMAS

OF_THE_MODEL = ("dtype_unsupported", "ops_changed", "edges_changed", "shape_refused")
_TABLES = ("generalizations", "instances", "missing_instances")
_KEY, _COUNT = "subgraph_sha256", "num_instances"

Tables = dict[str, pa.Table]


class SecondPlaces:
    """The rows that wait, by subgraph, and where they come from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Tables] = {}
        self._passed_over: set[tuple[str, str]] = set()

    @property
    def passed_over(self) -> list[str]:
        """Subgraphs and the graphs that they are not to be cut out of again, as `subgraph signature`."""
        with self._lock:
            return sorted(f"{subgraph} {signature}" for subgraph, signature in self._passed_over)

    def sift(self, signature: str, tables: Mapping[str, pa.Table], num_graphs: Mapping[str, int]) -> Tables:
        """Return the rows to write of those that a graph gave: what falls short for its model's sake waits where more
        than one graph holds it, and what waited goes with the better of its two."""
        if "generalizations" not in tables:
            return dict(tables)
        made = dict(zip(*(tables["generalizations"].column(name).to_pylist() for name in (_KEY, _COUNT)), strict=True))
        of_model = tables["missing_instances"].filter(pc.field("reason").isin(OF_THE_MODEL))
        short = Counter(of_model.column(_KEY).to_pylist())
        with self._lock:
            taken: list[Tables] = []
            left_out: set[str] = set()
            for subgraph, num_instances in made.items():
                former = self._waiting.pop(subgraph, None)
                if former is not None and former["generalizations"].column(_COUNT)[0].as_py() >= num_instances:
                    taken.append(former)
                    left_out.add(subgraph)
                elif former is None and short[subgraph] and num_graphs.get(subgraph, 1) > 1:
                    self._waiting[subgraph] = _rows_about(tables, {subgraph})
                    self._passed_over.add((subgraph, signature))
                    left_out.add(subgraph)
        own = _rows_about(tables, made.keys() - left_out)
        return dict(tables) | {name: pa.concat_tables([own[name], *[one[name] for one in taken]]) for name in _TABLES}

    def rest(self) -> Tables:
        """Return the rows that still wait, for no other graph gave any, and wait for them no longer."""
        with self._lock:
            parts = [self._waiting[subgraph] for subgraph in sorted(self._waiting)]
            self._waiting.clear()
        return {name: pa.concat_tables([part[name] for part in parts] or [_none(name)]) for name in _TABLES}


def _rows_about(tables: Mapping[str, pa.Table], subgraphs: Collection[str]) -> Tables:
    about = pc.field(_KEY).isin(pa.array(sorted(subgraphs), pa.string()))
    return {name: tables[name].filter(about) for name in _TABLES}


def _none(table: str) -> pa.Table:
    return SCHEMAS[table].empty_table()
