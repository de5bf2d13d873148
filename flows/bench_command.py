"""The commands `passnet bench`: build the tasks of PassBench from a corpus, and say what they are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from flows.bench_export import export, show
from flows.bounds import MAX_WORKERS
from flows.local_run import ending_in_order, local_prefect, stop_on_signals
from flows.printing import print_json, print_report
from flows.progress import Reporter, reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption, JsonOption

if TYPE_CHECKING:
    from flows.bench_build import BuildSummary

_HEADINGS = {
    "num_tasks": "tasks",
    "num_sequences": "sequences",
    "num_subgraphs": "subgraphs",
    "median_size": "median",
    "mean_size": "mean",
    "num_dropped": "groups",
    "dropped_frac": "of all",
    "num_groups": "groups",
    "num_base_tasks": "of base",
    "is_used": "used",
    "num_selected": "selected",
    "transition_frac": "op pairs",
    "transition_weighted_frac": "weighted",
    "op_frac": "ops",
    "op_weighted_frac": "weighted",
    "num_families": "families",
    "family_frac": "of all",
    "num_pairs": "pairs",
    "num_training_sequences": "training sequences",
    "num_on_both_sides": "on both sides",
    "tasks_of_shared_families_frac": "tasks of those",
    "num_checked": "run",
    **{f"{null}_ever": null for null in ("zeros", "ones", "mean", "identity")},
    **{f"{null}_smallest_t": "min t" for null in ("zeros", "ones", "mean", "identity")},
    "environment_sha256": "environment",
    "long_tail_frac": "long tail",
    "median_speedup": "speedup",
    "roofline_used_frac": "of roof",
}

bench = typer.Typer(help="PassBench: tasks for compiler passes, built from a corpus.", no_args_is_help=True)


bench.command(epilog="Example: passnet bench export --split eval --kind fusible --out tasks")(export)
bench.command(epilog="Example: passnet bench show 3fa9")(show)


@bench.command(epilog="Example: passnet bench build --corpus data/corpus")
def build(
    corpus: CorpusOption = DEFAULT_CORPUS,
    sigma: Annotated[int, typer.Option(help="One instance in so many is a task of its own.")] = 16,
    num_selected: Annotated[
        int, typer.Option(help="Evaluation sequences of each kind; of a small corpus at most half of them.")
    ] = 200,
    method: Annotated[str, typer.Option(help="How they are selected: hmm, markov or random.")] = "hmm",
    seed: Annotated[int, typer.Option(help="Of the choice among families and of --method random.")] = 0,
    split_by_family: Annotated[
        bool, typer.Option("--split-by-family", help="No model family on both sides; a fifth of them for evaluation.")
    ] = False,
    every_group: Annotated[
        bool, typer.Option("--all", help="All groups for training, not one per sequence and rule.")
    ] = False,
    base: Annotated[
        str | None,
        typer.Option(
            help="A former build, whose tasks all stay: a corpus's folder, or a manifest's number.", metavar="BASE"
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check/--no-check", help="Run instances, and leave out tasks that nothing need compute.")
    ] = True,
    workers: Annotated[
        int | None, typer.Option(help="Children that run instances; default one per CPU.", min=1, max=MAX_WORKERS)
    ] = None,
    check_seconds: Annotated[float, typer.Option(help="For one instance that is run.")] = 300.0,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again instances that ran out of time or memory.")
    ] = False,
) -> None:
    """Group instances into tasks, choose those for evaluation and those for training, without leaks between them.

    The same corpus gives the same tasks. A build takes the place of the one before, which its manifest keeps; run
    again after it was stopped, it does not run again the instances that it ran.
    """
    chosen: dict[str, Any] = {"sigma": sigma, "num_selected": num_selected, "method": method, "seed": seed}
    chosen |= {"split_by_family": split_by_family, "every_group": every_group}
    reporter = reporter_for(Console(stderr=True))
    stop_on_signals()
    with ending_in_order(reporter):
        _check(corpus, chosen, base, check_seconds)
        runs: dict[str, Any] = {"base": base, "check": check, "workers": workers, "check_seconds": check_seconds}
        runs |= {"retry_failed": retry_failed}
        summary = _run(reporter, corpus=str(corpus), **chosen, **runs)
    _show(summary)


@bench.command(epilog="Example: passnet bench stats --plot tasks.png")
def stats(
    corpus: CorpusOption = DEFAULT_CORPUS,
    plot: Annotated[Path | None, typer.Option("--plot", help="Also draw it.", metavar="FILE.png")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what the tasks of a corpus are, beside the figures of the paper's section 3.4."""
    from flows.bench_stats import NULLS, read_stats, splits_beside_paper
    from storage.corpus import Corpus

    parts = read_stats(Corpus.open(corpus))
    if plot is not None:
        from flows.bench_plot import plot_tasks

        plot_tasks(parts, plot)
    if as_json:
        print_json(list(parts), [list(parts.values())])
        return
    _print("tasks; in brackets the paper's", splits_beside_paper(parts))
    _print("settings", parts["builds"])
    _print("selection of evaluation sequences, beside other ways", parts["selections"])
    _print("pairs across the split", parts["pairs"])
    _print("model families", parts["families"])
    _print("groups that are no task", parts["losses"])
    _print(f"tasks that {NULLS} pass, by the smallest t", parts["floors"])
    _print("the long tail, of tasks that were timed", parts["long_tail"])
    if plot is not None:
        typer.echo(f"drawn in {plot}")


def _check(corpus: Path, chosen: dict[str, Any], base: str | None, check_seconds: float) -> None:
    """Refuse what cannot work before anything is written or started."""
    from flows.bench_plan import check_bound, plan_build
    from storage.bench_base import load_base
    from storage.corpus import Corpus
    from storage.errors import UsageError

    plan_build(**chosen)
    check_bound(check_seconds)
    with Corpus.open(corpus, write=True) as opened:
        if not opened.manifest().shards("instances"):
            raise UsageError(f"{corpus} has no instances", f"make some: passnet generalize --corpus {corpus}")
        if base is not None:
            load_base(opened, base)


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> BuildSummary:
    with local_prefect(corpus, reporter):
        from flows.bench_build import bench_build

        return bench_build(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _show(summary: BuildSummary) -> None:
    _print(f"tasks in {summary.corpus}", [_sizes(row) for row in summary.splits])
    _print("groups that are no task", summary.losses)
    for warning in summary.warnings:
        typer.echo(f"warning: {warning}")
    typer.echo(f"built in {summary.seconds:.1f} s, manifest {summary.manifest}")
    named = f"--corpus {summary.corpus}"
    typer.echo(f"next: passnet bench stats {named}; passnet bench export {named} --split eval --out tasks")


def _sizes(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in ("of_one_frac", "num_rules")}


def _print(title: str, rows: Any) -> None:
    if rows:
        names: list[str] = list(rows[0])
        columns = [_HEADINGS.get(name, name.replace("_", " ")) for name in names]
        print_report(columns, [[_shown(name, value) for name, value in row.items()] for row in rows], title)


def _shown(name: str, value: object) -> object:
    if isinstance(value, float):
        return f"{value:.1%}" if name.endswith("_frac") else f"{value:,.2f}"
    return value
