"""Grammars to and from the tables `grammars` and `patterns`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from mining.grammar import Grammar, Pattern, Symbol
from storage.corpus import Corpus
from storage.records import rows_to_table


@dataclass(frozen=True, slots=True)
class StoredGrammar:
    """A grammar under its id."""

    grammar_id: str
    grammar: Grammar


def grammar_tables(
    stored: StoredGrammar, num_graphs: int, num_folds: int, max_length: int, families: Sequence[Sequence[str]]
) -> dict[str, pa.Table]:
    """Return the rows of a grammar that was learned now; `families` holds those of each pattern."""
    grammar = stored.grammar
    head = {"num_graphs": num_graphs, "num_folds": num_folds, "max_length": max_length, "at": datetime.now(UTC)}
    patterns = [
        {
            "grammar_id": stored.grammar_id,
            "symbol": symbol,
            "body": list(map(spelled, pattern.body)),
            "expansion": list(grammar.expansions[symbol]),
            "length": grammar.length(symbol),
            "depth": grammar.depths[symbol],
            "count": pattern.count,
            "families": list(families[symbol]),
        }
        for symbol, pattern in enumerate(grammar.patterns)
    ]
    heads = [{"grammar_id": stored.grammar_id, **head}]
    return {"grammars": rows_to_table("grammars", heads), "patterns": rows_to_table("patterns", patterns)}


def latest_grammar(corpus: Corpus) -> StoredGrammar | None:
    """Return the grammar that was learned last, None where there is none."""
    rows = corpus.read("grammars").sort_by([("at", "descending"), ("grammar_id", "ascending")]).to_pylist()
    if not rows:
        return None
    id_ = rows[0]["grammar_id"]
    patterns = corpus.read("patterns", filters=pc.field("grammar_id") == id_).sort_by("symbol").to_pylist()
    bodies = [tuple(map(_symbol, row["body"])) for row in patterns]
    return StoredGrammar(id_, Grammar(tuple(map(Pattern, bodies, [row["count"] for row in patterns]))))


def spelled(symbol: Symbol) -> str:
    """Return how a symbol is written in tables: an op's name, `#n` for a pattern."""
    return symbol if isinstance(symbol, str) else f"#{symbol}"


def _symbol(text: str) -> Symbol:
    return int(text[1:]) if text.startswith("#") else text
