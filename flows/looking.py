"""Commands that show what a corpus holds: `show` one graph, subgraph, instance or pattern, `stats` over all of them."""

from __future__ import annotations

import string
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.printing import print_json, print_report, print_table, short_ops
from flows.reading import DEFAULT_CORPUS, CorpusOption, JsonOption

if TYPE_CHECKING:
    from storage.corpus import Corpus

_HEX = frozenset(string.hexdigits.lower())
_COMMENT_COLUMN = 88
_MATCHES_NAMED = 8


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="Prefix of any hash of a graph, of a subgraph's or an instance's, a model id, or '#n' for a pattern.",
            metavar="HASH",
        ),
    ],
    corpus: CorpusOption = DEFAULT_CORPUS,
    at: Annotated[
        str | None,
        typer.Option(help="A generalized subgraph at other sizes of its model's inputs.", metavar="AXIS=SIZE,..."),
    ] = None,
) -> None:
    """Print one graph (its text with shapes beside each line, sources, verdicts), subgraph, instance or pattern.

    Of an instance what its calls return is not stored: beside a line stand the operands that it is the first to take.
    Any sizes that a subgraph's constraints allow: passnet show SUBGRAPH --at batch=3,height=160,width=160
    """
    from flows.generalized import show_at, show_generalization, show_instance
    from flows.mined import show_pattern, show_subgraph
    from storage.corpus import Corpus
    from storage.query import run_query

    opened = Corpus.open(corpus)
    if at is not None:
        show_at(opened, name.strip().lower(), at)
        return
    if name.startswith("#"):
        show_pattern(opened, name)
        return
    wanted = name.strip().lower()
    is_graph = not is_hex(wanted) or bool(run_query(opened, "show_by_hash", {"prefix": wanted}))
    if not is_graph and (show_subgraph(opened, wanted) or show_instance(opened, wanted)):
        return
    key: dict[str, object] = {"signature_sha256": find_signature(opened, name, "graph, subgraph, instance or model")}
    (graph,) = run_query(opened, "show_text", key)
    for column in ("signature_sha256", "graph_sha256", "structure_sha256"):
        typer.echo(f"{column:16}  {graph[column]}")
    typer.echo(
        f"{graph['num_ops']} ops, {graph['num_inputs']} inputs, {graph['num_weights']} weights, {graph['dtype']}, "
        f"domain {_known(graph['domain'])}, traced by {_known(graph['tracer'])} on {_known(graph['tensor_mode'])} "
        f"tensors, {_known(graph['num_value_reads'])} value reads"
    )
    _print_rows("sources", run_query(opened, "show_sources", key))
    _print_rows("verdicts", run_query(opened, "show_verdicts", key))
    inputs = [tensor for tensor in graph["tensors"] if tensor["kind"] == "input"]
    columns = ("name", "original_name", "shape", "stride", "dtype", "mean", "std", "stats_source")
    _print_rows("inputs", [{column: tensor[column] for column in columns} for tensor in inputs])
    for line in annotated_text(graph["model_py"], [row["outputs"] for row in run_query(opened, "show_nodes", key)]):
        typer.echo(line)
    show_generalization(opened, graph["graph_sha256"])


def stats(
    corpus: CorpusOption = DEFAULT_CORPUS,
    ops: Annotated[int, typer.Option("--ops", min=1, help="How many of the commonest ops to list.")] = 20,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw it.", metavar="FILE.png")] = None,
    as_json: JsonOption = False,
) -> None:
    """Characterise a corpus as section 3.3 of the paper does: domains, redundancy, node counts, ops."""
    from storage.corpus import Corpus
    from storage.query import run_query

    opened = Corpus.open(corpus)
    parts = {
        name: run_query(opened, f"stats_{name}", {"limit": ops} if name in ("ops", "motifs") else None)
        for name in ("totals", "domains", "redundancy", "node_bins", "ops", "verdicts", "subgraphs", "motifs")
    }
    if plot is not None:
        from flows.plotting import plot_stats

        plot_stats(parts, plot)
    if as_json:
        print_json(list(parts), [list(parts.values())])
        return
    totals = parts["totals"][0]
    print_table(["figure", "value"], [(name.replace("_", " "), _rounded(value)) for name, value in totals.items()])
    titles = {
        "domains": "graphs per domain",
        "redundancy": "redundancy per source",
        "node_bins": "ops per distinct graph, in log2 bins",
        "ops": f"{ops} commonest ops over distinct graphs",
        "verdicts": "verdicts per signature",
        "subgraphs": "subgraphs per kind",
        "motifs": "families by the ops that their motifs cover (--json has the motifs whole)",
    }
    parts["motifs"] = [{**row, "top_motif": short_ops(row["top_motif"].split())} for row in parts["motifs"]]
    for name, title in titles.items():
        if parts[name] or name not in ("subgraphs", "motifs"):
            _print_rows(title, parts[name])
    if plot is not None:
        typer.echo(f"drawn in {plot}")


def annotated_text(model_py: str, outputs: list[list[dict[str, Any]]]) -> list[str]:
    """Return the lines of a graph's text, each statement with what it returns; `outputs` holds one entry per op."""
    shapes = [", ".join(f"{output['dtype']}{output['shape']}" for output in returned) for returned in outputs]
    return commented_text(model_py, shapes)


def commented_text(model_py: str, comments: Sequence[str]) -> list[str]:
    """Return the lines of a graph's text, each statement with its comment, if any; `comments` holds one per op.

    Statements are the lines that follow `def forward`, one per op.
    """
    lines = model_py.splitlines()
    first = next(number for number, line in enumerate(lines) if line.lstrip().startswith("def forward(")) + 1
    for position, comment in enumerate(comments):
        if comment:
            lines[first + position] = f"{lines[first + position]:<{_COMMENT_COLUMN}}  # {comment}"
    return lines


def find_signature(corpus: Corpus, name: str, kinds: str = "graph or model") -> str:
    """Resolve a prefix of any hash or a model id to one signature; raises UsageError for none and for several.

    `kinds` says what was looked for under that name.
    """
    from storage.errors import UsageError
    from storage.query import run_query

    wanted = name.strip()
    matches = run_query(corpus, "show_by_hash", {"prefix": wanted.lower()}) if is_hex(wanted) else []
    matches = matches or run_query(corpus, "show_by_model", {"model_id": wanted})
    if not wanted or not matches:
        failures = run_query(corpus, "show_failures", {"model_id": wanted}) if wanted else []
        if failures:
            first = failures[0]
            raise UsageError(
                f"{first['subject']} has no graph: {first['step']} failed, {first['reason']} ({first['detail']})",
                f"see `passnet sql --corpus {corpus.root} 'FROM current_failures'`",
            )
        what = f"no {kinds} of {corpus.root} is called {name!r}"
        raise UsageError(what, f"see `passnet sql --corpus {corpus.root} 'FROM graph_sources'`")
    signatures = {match["signature_sha256"] for match in matches}
    if len(signatures) > 1:
        named = name_matches([f"{match['signature_sha256'][:16]} ({match['model_id']})" for match in matches])
        raise UsageError(f"{name!r} means {len(signatures)} graphs: {named}", "give one of these hashes")
    return signatures.pop()


def name_matches(matches: Sequence[str]) -> str:
    """Return the first matches of an ambiguous name, and how many more there are."""
    more = f" and {len(matches) - _MATCHES_NAMED} more" if len(matches) > _MATCHES_NAMED else ""
    return ", ".join(matches[:_MATCHES_NAMED]) + more


def is_hex(name: str) -> bool:
    """Tell whether a name may be the prefix of a hash."""
    return bool(name) and set(name.lower()) <= _HEX


def _print_rows(title: str, rows: list[dict[str, Any]]) -> None:
    if rows:
        print_report(list(rows[0]), [[_rounded(value) for value in row.values()] for row in rows], title)
    else:
        typer.echo(f"\n{title}: none\n")


def _known(value: Any) -> Any:
    return "unknown" if value is None else value


def _rounded(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return float(f"{value:.4g}") if isinstance(value, float) else value
