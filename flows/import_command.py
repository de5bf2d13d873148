"""`passnet import`: read sample directories, ours and those of others, into a corpus; show what came of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.bounds import MAX_SECONDS, MAX_WORKERS
from flows.local_run import ending_in_order, stop_on_signals
from flows.printing import print_table
from flows.progress import reporter_for
from flows.reading import DEFAULT_CORPUS, CorpusOption

if TYPE_CHECKING:
    from storage.sample_folders import SampleFolder
    from tasks.import_samples import ImportSummary


def import_(
    paths: Annotated[list[Path], typer.Argument(help="Samples, or folders above samples.", metavar="PATH...")],
    corpus: CorpusOption = DEFAULT_CORPUS,
    workers: Annotated[
        int | None, typer.Option(help="Reading children; default one per CPU.", min=1, max=MAX_WORKERS)
    ] = None,
    sample_seconds: Annotated[
        float, typer.Option(help="Wall time that one sample may take.", min=1.0, max=MAX_SECONDS)
    ] = 60.0,
    max_failed_frac: Annotated[
        float, typer.Option(help="Exit 1 when a larger share of the samples failed.", min=0.0, max=1.0)
    ] = 0.2,
) -> None:
    """Read samples into the corpus, made when missing; what was imported before from the same place is left alone.

    Files are parsed, never executed, and each sample is read in a killable child: a bad one costs a row of failures.
    Verdicts come from `passnet validate`.
    """
    from storage.corpus import Corpus
    from storage.sample_folders import find_samples
    from tasks.import_samples import ImportRun, import_samples

    reporter = reporter_for(Console(stderr=True))
    stop_on_signals()
    with ending_in_order(reporter):
        reporter.stage("looking for samples")
        folders = _distinct([folder for path in paths for folder in find_samples(path)])
        _check_found(folders, paths)
        with Corpus.create(corpus) as opened:
            reporter.begin(len(folders), "importing", "imported", "samples")
            run = ImportRun(workers or os.cpu_count() or 1, sample_seconds)
            summary = import_samples(opened, folders, run, reporter.advance)
            opened.write_catalogue()
    _show(summary, corpus)
    if summary.failed_frac > max_failed_frac:
        typer.echo(
            f"passnet: {summary.failed_frac:.1%} of the samples failed, more than --max-failed-frac "
            f"{max_failed_frac:g}; see the table failures",
            err=True,
        )
        raise typer.Exit(1)


def _distinct(folders: list[SampleFolder]) -> list[SampleFolder]:
    return list({folder.path: folder for folder in folders}.values())


def _check_found(folders: list[SampleFolder], paths: list[Path]) -> None:
    from storage.errors import UsageError

    if not folders:
        named = ", ".join(map(str, paths[:3]))
        raise UsageError(f"there is no sample in {named}", "name folders that hold model.py, or folders above them")


def _show(summary: ImportSummary, corpus: Path) -> None:
    rows = [
        ("samples found", f"{summary.num_samples:,}"),
        ("  imported before", f"{summary.num_before:,}"),
        ("  imported now", f"{summary.num_imported:,}"),
        *((f"  failed now: {reason}", f"{count:,}") for reason, count in summary.reasons),
        ("failed share", f"{summary.failed_frac:.1%}"),
        ("graphs that were new", f"{summary.num_new_graphs:,}"),
        ("samples with unknown shapes", f"{summary.num_unknown_shapes:,}"),
        ("seconds", f"{summary.seconds:.1f}"),
    ]
    print_table(("what", "how many"), rows, f"import into {corpus}")
    typer.echo(f"next: passnet validate --level fake --corpus {corpus}")
    if summary.num_failed:
        typer.echo(f"next: passnet sql --corpus {corpus} \"FROM current_failures WHERE step = 'import'\"")
