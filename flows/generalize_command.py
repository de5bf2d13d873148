"""`passnet generalize`: run the flow on this machine, a Prefect server brought along; show what instances stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from flows.bounds import MAX_WORKERS
from flows.generalize_plan import MAX_BYTES, MODEL_SECONDS
from flows.local_run import ending_in_order, local_prefect, stop_on_signals
from flows.printing import print_table, shown_cell
from flows.progress import Reporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption
from mining.subgraph import KINDS

if TYPE_CHECKING:
    from flows.generalize import GeneralizeSummary


def generalize(
    corpus: CorpusOption = DEFAULT_CORPUS,
    models: Annotated[
        Path | None, typer.Option(help="File of model ids, one a line: only their graphs.", metavar="FILE")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Graphs at most.", min=1)] = None,
    workers: Annotated[int | None, typer.Option(help="Children; default one per CPU.", min=1, max=MAX_WORKERS)] = None,
    max_bytes: Annotated[
        int,
        typer.Option(
            help="Leave out, for good, instances that move more bytes (operands read, results written): a later run "
            "does not make them."
        ),
    ] = MAX_BYTES,
    max_params: Annotated[int | None, typer.Option(help="Leave out larger models (elements).", min=1)] = None,
    model_seconds: Annotated[
        float, typer.Option(help="A model whose variants take longer fails, and the next that has its graph is tried.")
    ] = MODEL_SECONDS,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try again models that failed.")] = False,
    kinds: Annotated[str, typer.Option(help="Kinds of subgraphs, separated by commas.")] = ",".join(KINDS),
) -> None:
    """Make every mined subgraph in 10 shapes and 3 dtypes, by tracing its model again at each.

    Run it again to go on where it stopped. Models have no weights here and nothing is computed, but for those whose
    programs depend on values: they run, with random weights.
    """
    reporter = reporter_for(Console(stderr=True))
    stop_on_signals()
    with ending_in_order(reporter):
        _check(corpus, models, max_bytes, max_params, model_seconds, kinds)
        summary = _run(
            reporter,
            corpus=str(corpus),
            models_file=str(models) if models else None,
            limit=limit,
            workers=workers,
            max_bytes=max_bytes,
            max_params=max_params,
            model_seconds=model_seconds,
            retry_failed=retry_failed,
            kinds=kinds,
        )
    _show(summary)


def _check(
    corpus: Path, models: Path | None, max_bytes: int, max_params: int | None, model_seconds: float, kinds: str
) -> None:
    """Refuse what cannot work before anything is written or started."""
    from flows.generalize_plan import check_bounds
    from flows.mining_plan import check_kinds
    from flows.refresh_plan import check_listed
    from storage.corpus import Corpus
    from storage.errors import UsageError

    check_bounds(max_bytes, max_params, model_seconds)
    wanted = check_kinds(kinds)
    with Corpus.open(corpus, write=True) as opened:
        if models is not None:
            check_listed(opened, models)
        if not opened.manifest().shards("subgraphs"):
            raise UsageError(f"{corpus} has no subgraphs", f"mine them first: passnet mine --corpus {corpus}")
        mined = set(opened.read("subgraphs", ["kind"]).column("kind").unique().to_pylist())
        if not mined & set(wanted):
            remedy = f"mine some: passnet mine --kinds {kinds} --corpus {corpus} (fusible: passnet curves before it)"
            raise UsageError(f"{corpus} has no subgraphs of --kinds {kinds}", remedy)


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> GeneralizeSummary:
    with local_prefect(corpus, reporter):
        from flows.generalize import generalize as generalize_flow

        return generalize_flow(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _show(summary: GeneralizeSummary) -> None:
    title = f"subgraphs generalized in {summary.corpus}, by domain of the models (shares: of the data-dependent ones)"
    _print(summary.domains, title)
    _print(summary.reasons, "instances that are missing, and why")
    failed, left = (
        f", {count:,} graph{'s' if count > 1 else ''} {what}" if count else ""
        for count, what in ((summary.num_failed, "failed"), (summary.num_left, "left"))
    )
    made = f"{summary.num_instances:,} instances of {summary.num_subgraphs:,} subgraphs"
    typer.echo(f"{made} made now in {summary.seconds:.1f} s{failed}{left}")
    if summary.num_without and not summary.num_left:
        typer.echo(f"{summary.num_without:,} subgraphs have none: {_why_none(summary)}")
    example = "SELECT instance_sha256, subgraph_sha256 FROM instances LIMIT 10"
    typer.echo(f'next: passnet sql --corpus {summary.corpus} "{example}", and passnet show of one of these')


def _why_none(summary: GeneralizeSummary) -> str:
    if not summary.num_failed_graphs:
        return "they are of other kinds, or of other models, than this run was asked for"
    why = (
        f"--corpus {summary.corpus} \"SELECT subject, reason, detail FROM current_failures WHERE step = 'generalize'\""
    )
    graphs = f"{summary.num_failed_graphs:,} graph{'s' if summary.num_failed_graphs > 1 else ''}"
    return f"{graphs} failed (passnet sql {why}); try again with --retry-failed, perhaps with other bounds"


def _print(rows: tuple[dict[str, Any], ...], title: str) -> None:
    if rows:
        columns = list(rows[0])
        print_table(columns, [[shown_cell(name, row[name]) for name in columns] for row in rows], title)
