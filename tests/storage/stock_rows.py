"""The rows of a corpus for the plain loops of `stock_answers`, and what these look up in them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from storage.corpus import Corpus

Row = dict[str, Any]


class Rows:
    """The rows of a corpus, by table, and what most answers look up in them."""

    def __init__(self, corpus: Corpus) -> None:
        tables = ("models", "graphs", "graph_sources", "nodes", "failures", "constraints")
        self.tables: dict[str, list[Row]] = {name: corpus.read(name).to_pylist() for name in tables}
        self.graphs: dict[str, Row] = {row["signature_sha256"]: row for row in self.tables["graphs"]}

    @cached_property
    def nodes(self) -> dict[str, list[Row]]:
        """The ops of each graph, in order."""
        found: dict[str, list[Row]] = defaultdict(list)
        for row in sorted(self.tables["nodes"], key=lambda row: row["index"]):
            found[row["signature_sha256"]].append(row)
        return found

    @cached_property
    def families(self) -> dict[str, set[str]]:
        """The families of each graph's models."""
        known = {row["model_id"]: row["family"] for row in self.tables["models"]}
        found: dict[str, set[str]] = defaultdict(set)
        for row in self.tables["graph_sources"]:
            found[row["signature_sha256"]].add(known[row["model_id"]] or "unknown")
        return found

    @cached_property
    def models(self) -> dict[str, set[str]]:
        """The models of each graph."""
        found: dict[str, set[str]] = defaultdict(set)
        for row in self.tables["graph_sources"]:
            found[row["signature_sha256"]].add(row["model_id"])
        return found

    def domain(self, signature: str) -> str:
        return self.graphs[signature]["domain"] or "unknown"

    def operands(self, node: Row) -> Iterator[tuple[str, list[int] | None, str | None, Any]]:
        """Yield of each operand what made it, its shape, its dtype and a key, in argument order."""
        signature = node["signature_sha256"]
        call = json.loads(node["literals"])
        for kind, position in references([*call["args"], *call["kwargs"].values()]):
            if kind == "tensor":
                tensor = self.graphs[signature]["tensors"][position]
                yield tensor["kind"], tensor["shape"], tensor["dtype"], ("tensor", position)
            else:
                index, *path = position
                producer = self.nodes[signature][index]
                value = next((output for output in producer["outputs"] if output["path"] == path), None)
                shape, dtype = (value["shape"], value["dtype"]) if value else (None, None)
                yield producer["op"], shape, dtype, ("op", *position)

    def all_nodes(self) -> Iterator[Row]:
        for nodes in self.nodes.values():
            yield from nodes


def references(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the operands in one argument of `nodes.literals`, as (op or tensor, position)."""
    if isinstance(value, list):
        for element in value:
            yield from references(element)
    elif isinstance(value, dict):
        ((kind, content),) = value.items()
        if kind in ("op", "tensor"):
            yield kind, content
        elif kind in ("tuple", "slice"):
            yield from references(content)
