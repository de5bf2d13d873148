"""`passnet validate`: run the flow on this machine, a Prefect server brought along; show what verdicts stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from extract.budget import RealBudget
from flows.bounds import MAX_SECONDS, MAX_WORKERS
from flows.local_run import ending_in_order, local_prefect, stop_on_signals
from flows.printing import print_table
from flows.progress import Reporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from flows.validate import ValidationSummary


def validate(
    corpus: CorpusOption = DEFAULT_CORPUS,
    level: Annotated[
        str, typer.Option(help="static (text alone), fake (shapes and dtypes) or real (seeded values, bit for bit).")
    ] = "fake",
    fidelity: Annotated[
        bool | None,
        typer.Option(
            "--fidelity/--no-fidelity", help="Also build a model of each graph and compare; default at level real."
        ),
    ] = None,
    models: Annotated[Path | None, typer.Option(help="Only graphs of these models: ids, one a line.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only N graphs, the smallest that lack verdicts.", min=1)] = None,
    workers: Annotated[int | None, typer.Option(help="Children; default one per CPU.", min=1, max=MAX_WORKERS)] = None,
    max_bytes: Annotated[
        int, typer.Option(help="Leave out graphs whose run is estimated to take more memory (level real).", min=1)
    ] = RealBudget().max_bytes,
    max_flop: Annotated[
        float, typer.Option(help="Leave out graphs whose run is estimated to take more FLOP (level real).", min=1.0)
    ] = RealBudget().max_flop,
    max_params: Annotated[
        int | None, typer.Option(help="Build no model of more parameters for --fidelity.", min=0)
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(help="Begin no further graph after this wall time.", min=1.0, max=MAX_SECONDS)
    ] = None,
    graph_seconds: Annotated[
        float, typer.Option(help="Wall time that one graph may take.", min=1.0, max=MAX_SECONDS)
    ] = 120.0,
    import_modules: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="MODULE", help="Import first in each child (repeatable): registers ops."),
    ] = None,
) -> None:
    """Check the stored graphs and store the verdicts; run it again to go on where it stopped.

    The smallest graphs come first. A graph that has its verdicts at the level is left alone, except that one left out
    for its cost is taken up by a run with larger bounds, and one with an op that was not registered by a run with
    --import.
    """
    reporter = reporter_for(Console(stderr=True))
    stop_on_signals()
    with ending_in_order(reporter):
        _check(corpus, level, models, import_modules or [])
        summary = _run(
            reporter,
            corpus=str(corpus),
            level=level,
            fidelity=fidelity,
            models_file=str(models) if models else None,
            limit=limit,
            workers=workers,
            max_bytes=max_bytes,
            max_flop=max_flop,
            max_params=max_params,
            max_seconds=max_seconds,
            graph_seconds=graph_seconds,
            import_modules=import_modules or [],
        )
    _show(summary)


def _check(corpus: Path, level: str, models: Path | None, import_modules: list[str]) -> None:
    """Refuse what cannot work before anything is written or started."""
    from flows.refresh_plan import read_model_list
    from storage.corpus import Corpus
    from storage.errors import UsageError
    from tasks.levels import check_level
    from tasks.sandbox_pool import check_start

    check_level(level)
    names = () if models is None else read_model_list(models)
    with Corpus.open(corpus, write=True) as opened:
        traced = opened.traced_models() if names else set()
    lacking = [name for name in names if name not in traced]
    if names and len(lacking) == len(names):
        raise UsageError(
            f"{corpus} has a graph of no model that {models} lists, such as {lacking[0]}",
            'list ids as `passnet sql "SELECT model_id FROM graph_sources"` gives them, or trace these first',
        )
    if lacking:
        typer.echo(f"{len(lacking)} of {len(names)} listed models have no graph, such as {lacking[0]}", err=True)
    check_start(import_modules)


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> ValidationSummary:
    with local_prefect(corpus, reporter):
        from flows.validate import validate as validate_flow

        return validate_flow(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _show(summary: ValidationSummary) -> None:
    columns = ("constraint", "level", "passed", "failed", "not_applicable", "passed_frac", "reasons")
    rows = [[_shown(row[column]) for column in columns] for row in summary.verdicts]
    print_table(columns, rows, f"verdicts in {summary.corpus}")
    left = f", {summary.num_left:,} still lack some" if summary.num_left else ""
    typer.echo(f"{summary.num_now:,} graphs checked now in {summary.seconds:.1f} s{left}")
    if any(row["failed"] for row in summary.verdicts):
        query = "SELECT * FROM current_constraints WHERE outcome = 'failed'"
        typer.echo(f'next: passnet sql --corpus {summary.corpus} "{query}"')


def _shown(value: object) -> object:
    return "" if value is None else f"{value:.1%}" if isinstance(value, float) else value
