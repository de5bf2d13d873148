"""`passnet curves`: run the flow on this machine, a Prefect server brought along; show what curves stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.bounds import MAX_WORKERS
from flows.curve_plan import DEFAULT_TARGETS
from flows.local_run import ending_in_order, local_prefect, stop_on_signals
from flows.printing import print_table, shown_cell
from flows.progress import Reporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from flows.curves import CurveSummary


def curves(
    corpus: CorpusOption = DEFAULT_CORPUS,
    target: Annotated[
        str, typer.Option(help="cpu, cuda:a30, cuda:a100, cuda:h100, cuda:h200; several comma-separated.")
    ] = DEFAULT_TARGETS,
    exact: Annotated[bool, typer.Option("--exact", help="Count every prefix in full (minutes a graph).")] = False,
    models: Annotated[
        Path | None, typer.Option(help="File of model ids, one a line: only their graphs.", metavar="FILE")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Graphs of each target at most, the smallest first.", min=1)] = None,
    workers: Annotated[int | None, typer.Option(help="Children; default one per CPU.", min=1, max=MAX_WORKERS)] = None,
    max_seconds: Annotated[float | None, typer.Option(help="Begin no graph after so long.", min=0)] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try again graphs whose curve failed.")] = False,
) -> None:
    """Count the kernels of the first P ops of each stored graph, for every P, as Inductor plans them.

    No GPU is needed: cuda targets are planned from a description. Run it again to go on where it stopped.
    """
    reporter = reporter_for(Console(stderr=True))
    stop_on_signals()
    with ending_in_order(reporter):
        _check(corpus, target, models, max_seconds)
        summary = _run(
            reporter,
            corpus=str(corpus),
            targets=target,
            exact=exact,
            models_file=str(models) if models else None,
            limit=limit,
            workers=workers,
            max_seconds=max_seconds,
            retry_failed=retry_failed,
        )
    _show(summary, target.split(",")[0].strip())


def _check(corpus: Path, target: str, models: Path | None, max_seconds: float | None) -> None:
    """Refuse what cannot work before anything is written or started."""
    from flows.curve_plan import check_bound, check_targets
    from flows.refresh_plan import check_listed
    from storage.corpus import Corpus

    check_targets(target)
    check_bound(max_seconds)
    with Corpus.open(corpus, write=True) as opened:
        if models is not None:
            check_listed(opened, models)


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> CurveSummary:
    with local_prefect(corpus, reporter):
        from flows.curves import curves as curves_flow

        return curves_flow(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _show(summary: CurveSummary, target: str) -> None:
    if summary.targets:
        columns = list(summary.targets[0])
        rows = [[shown_cell(name, row[name]) for name in columns] for row in summary.targets]
        print_table(columns, rows, f"kernel curves in {summary.corpus}")
    failed = f", {summary.num_failed:,} graphs failed" if summary.num_failed else ""
    left = f", {summary.num_left:,} still lack one" if summary.num_left else ""
    known = "" if summary.num_made or left or failed else ": every graph had its own"
    typer.echo(f"{summary.num_made:,} curves made now in {summary.seconds:.1f} s{failed}{left}{known}")
    if summary.num_failed_before:
        why = f"--corpus {summary.corpus} \"SELECT subject, reason, detail FROM failures WHERE step = 'curve'\""
        typer.echo(f"{summary.num_failed_before:,} graphs failed before (`passnet sql {why}`): see --retry-failed")
    options = f"--corpus {summary.corpus} --target {target}"
    typer.echo(f"next: passnet mine {options} --kinds fusible; passnet plot curve {options} GRAPH")
