"""`passnet mine`: run the flow on this machine, a Prefect server brought along; show what subgraphs stand."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.bounds import MAX_WORKERS
from flows.local_run import ending_in_order, local_prefect, stop_on_signals
from flows.mining_plan import DEFAULT_KINDS, FUSIBLE_TARGET, MAX_LENGTH, NUM_FOLDS
from flows.printing import print_table, shown_cell
from flows.progress import Reporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from flows.mine import MiningSummary


def mine(
    corpus: CorpusOption = DEFAULT_CORPUS,
    kinds: Annotated[
        str, typer.Option(help="classical, single_op, fusible (after `passnet curves`); several by commas.")
    ] = ",".join(DEFAULT_KINDS),
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn a new grammar from all graphs; else the last one reads them.")
    ] = False,
    folds: Annotated[int, typer.Option(help="Folds of a grammar that is learned.", min=1, max=100_000)] = NUM_FOLDS,
    max_length: Annotated[
        int, typer.Option(help="Longest pattern of one fold, in symbols.", min=2, max=MAX_LENGTH)
    ] = MAX_LENGTH,
    workers: Annotated[int | None, typer.Option(help="Processes; default one per CPU.", min=1, max=MAX_WORKERS)] = None,
    target: Annotated[str, typer.Option(help="Target whose kernel curves tell what is fusible.")] = FUSIBLE_TARGET,
) -> None:
    """Find the recurring parts of the stored graphs; run it again to search those that came since.

    Classical subgraphs come from Recursive Folding, fusible ones are plateaus of kernel curves, single ops are told
    apart by op, literals and operands.
    """
    reporter = reporter_for(Console(stderr=True))
    stop_on_signals()
    with ending_in_order(reporter):
        _check(corpus, kinds, target)
        summary = _run(
            reporter,
            corpus=str(corpus),
            kinds=kinds,
            learn=learn,
            num_folds=folds,
            max_length=max_length,
            workers=workers,
            target=target,
        )
    _show(summary)


def _check(corpus: Path, kinds: str, target: str) -> None:
    """Refuse what cannot work before anything is written or started."""
    import pyarrow.compute as pc

    from flows.curve_plan import check_targets
    from flows.mining_plan import check_kinds
    from mining.subgraph import FUSIBLE
    from storage.corpus import Corpus
    from storage.errors import UsageError

    wanted = check_kinds(kinds)
    if len(check_targets(target)) > 1:
        raise UsageError(f"--target {target!r} names several targets", "mine by the curves of one at a time")
    with Corpus.open(corpus, write=True) as opened:
        curved = set(opened.read("kernel_curves", ["target"], ~pc.field("is_exact")).column(0).to_pylist())
    if FUSIBLE in wanted and target not in curved:
        raise UsageError(
            f"{corpus} holds no kernel curve for {target}",
            f"make some: passnet curves --corpus {corpus} --target {target}",
        )


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> MiningSummary:
    with local_prefect(corpus, reporter):
        from flows.mine import mine as mine_flow

        return mine_flow(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _show(summary: MiningSummary) -> None:
    if summary.kinds:
        columns = list(summary.kinds[0])
        rows = [[shown_cell(name, row[name]) for name in columns] for row in summary.kinds]
        print_table(columns, rows, f"subgraphs in {summary.corpus}")
    if summary.grammar_id is not None:
        how = "learned now" if summary.has_learned else "learned before"
        typer.echo(f"grammar {summary.grammar_id[:12]} ({how}): {summary.num_patterns:,} patterns")
    typer.echo(f"{summary.num_graphs_now:,} graphs searched now in {summary.seconds:.1f} s")
    typer.echo(
        f"next: passnet sql --corpus {summary.corpus} "
        '"SELECT * FROM subgraph_support ORDER BY support DESC, subgraph_sha256 LIMIT 10"'
    )
