"""The stock queries: SQL files of `storage/sql/queries`, what each answers, its parameters, and their page of the docs.

A file opens with a comment: its title, then what it answers and what for, then a line per parameter,
`-- :name = default | meaning`. The text runs as it stands; `SET VARIABLE name = value` before it changes a parameter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from storage.errors import UsageError

STOCK_QUERIES: Final = (
    "op_histogram_by_domain",
    "graphs_with_op_sequence",
    "producers_and_consumers",
    "redundancy_by_family",
    "models_per_graph",
    "conv2d_literals",
    "dtype_mix",
    "longest_elementwise_chains",
    "failures_by_reason",
    "growth_per_run",
    "op_bigrams",
    "gemm_shapes",
    "memory_traffic_by_op",
    "largest_intermediates",
    "critical_path",
    "attention_kinds",
    "normalisations_by_family",
    "in_place_share",
    "view_share",
    "tied_weights",
    "literal_variety",
    "op_coverage",
    "ops_of_one_family",
    "size_variants",
    "failed_verdicts_by_op",
)
"""Their names, in the order of the docs."""

_FOLDER: Final = Path(__file__).with_name("sql") / "queries"
_PARAMETER: Final = re.compile(r":(\w+) = (.*?) \| (.*)")
_PAGE_HEAD: Final = """\
# Stock queries

SQL that runs as it stands over any corpus, by name

    passnet sql --stock list
    passnet sql --stock producers_and_consumers --set op=gelu

or by hand: each text is a file of `storage/sql/queries/`, for `passnet sql "..."` or `duckdb corpus.duckdb`, where
`SET VARIABLE op = 'gelu';` changes a parameter. Counts are over the rows of `graphs` (distinct signatures) unless a
query says programs (`graph_sha256`) or models. A graph of models of several families counts in each; the domain is that
of the model first seen. `nodes.operand_ops`, `operand_shapes`, `operand_bytes`, `output_bytes` and `depth` are null in
shards older than schema version 3, and queries that read them leave those graphs out: trace them anew.

Some call the macro `is_view(op, operand_ops)` (`storage/sql/is_view.sql`); `passnet sql` and `corpus.duckdb` have it, a
`corpus.duckdb` older than the macro has it once a command has written to the corpus.

`python -m benchmarks.query` times all of them over 20,000 graphs and 10 M nodes. This page is generated:
`python -m benchmarks.query --page docs/queries.md`.
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A variable that a stock query reads, its default as the SQL has it, and what it means."""

    name: str
    default: str
    meaning: str


@dataclass(frozen=True, slots=True)
class StockQuery:
    """One stock query; `sql` is its text without the opening comment and the final semicolon."""

    name: str
    title: str
    answers: str
    parameters: tuple[Parameter, ...]
    sql: str


def stock_query(name: str) -> StockQuery:
    """Return a stock query; raises UsageError when there is none of that name."""
    if name not in STOCK_QUERIES:
        raise UsageError(f"there is no stock query {name!r}", "see `passnet sql --stock list`")
    lines = (_FOLDER / f"{name}.sql").read_text(encoding="utf-8").rstrip().rstrip(";").splitlines()
    length = next(number for number, line in enumerate(lines) if not line.startswith("--"))
    title, *comment = (line.removeprefix("-- ") for line in lines[:length])
    parameters = tuple(Parameter(*match.groups()) for line in comment if (match := _PARAMETER.fullmatch(line)))
    answers = " ".join(line for line in comment if not line.startswith(":"))
    return StockQuery(name, title, answers, parameters, "\n".join(lines[length:]))


def parameter_values(query: StockQuery, assignments: list[str]) -> dict[str, str | int]:
    """Read `name=value` texts into variables of a stock query; raises UsageError for names that it has not.

    A parameter whose default is a number takes a number.
    """
    known = {parameter.name: parameter for parameter in query.parameters}
    values: dict[str, str | int] = {}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        if not equals or name not in known:
            has = f"has {', '.join(known)}" if known else "has no parameters"
            raise UsageError(f"--set {assignment!r} is not a parameter of {query.name}", f"it {has}; give name=value")
        if known[name].default.isdecimal() and not value.isdecimal():
            raise UsageError(f"--set {assignment!r} is not a number", f"give {name}=N")
        values[name] = int(value) if known[name].default.isdecimal() else value
    return values


def render_page() -> str:
    """Return the text of docs/queries.md."""
    return "\n".join([_PAGE_HEAD, *(_section(stock_query(name)) for name in STOCK_QUERIES)])


def _section(query: StockQuery) -> str:
    lines = [f"## {query.title}", "", f"`{query.name}`. {query.answers}", ""]
    lines += [
        f"- `{parameter.name}` (default `{parameter.default}`): {parameter.meaning}." for parameter in query.parameters
    ]
    lines += [""] if query.parameters else []
    return "\n".join([*lines, "```sql", query.sql, "```", ""])
