"""`passnet refresh`: run the flow on this machine with a Prefect server brought along, and show what came of it."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.progress import REPORTER, Reporter, reporter_for

if TYPE_CHECKING:
    from flows.refresh_report import RefreshSummary

INTERRUPTED_CODE = 130
TERMINATED_CODE = 143


def refresh(
    corpus: Annotated[Path, typer.Option(help="Folder of the corpus; made when missing.")] = Path("data/corpus"),
    source: Annotated[
        str,
        typer.Option(help="Where models come from: starter (a short list), timm, transformers, by comma; or hub."),
    ] = "starter",
    heads: Annotated[
        str,
        typer.Option(help="Task heads of transformers models, by comma: base, causal-lm, masked-lm, ...; or all."),
    ] = "base",
    models: Annotated[Path | None, typer.Option(help="Text file of model ids, one a line, # for comments.")] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N models.", min=1)] = None,
    workers: Annotated[int | None, typer.Option(help="Tracing children; default one per CPU.", min=1)] = None,
    max_params: Annotated[int | None, typer.Option(help="Drop models of more parameters.", min=0)] = None,
    max_failed_frac: Annotated[
        float, typer.Option(help="Exit 1 when a larger share of the models failed.", min=0.0, max=1.0)
    ] = 0.2,
    import_modules: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="MODULE", help="Import first in each child (repeatable): registers models."),
    ] = None,
    model_seconds: Annotated[float, typer.Option(help="Wall time that one model may take.", min=1.0)] = 120.0,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Try again what failed before.")] = False,
    tracer: Annotated[
        str, typer.Option(help="function (fast, one graph a model), or dynamo (on real weights, a graph a part).")
    ] = "function",
    level: Annotated[
        str,
        typer.Option(
            help="Level of the verdicts: static, fake, or real, which also runs the graphs on real tensors and beside "
            "their models once all are traced."
        ),
    ] = "fake",
    real_limit: Annotated[
        int | None, typer.Option(help="At level real: run only N graphs, the smallest.", min=1)
    ] = None,
    real_seconds: Annotated[
        float, typer.Option(help="At level real: begin no further graph after this wall time.", min=1.0)
    ] = 600.0,
    repo_list: Annotated[
        Path | None, typer.Option(help="Source hub: text file of repository ids (owner/name), one a line.")
    ] = None,
    query: Annotated[str | None, typer.Option(help="Source hub: the repositories whose names hold this text.")] = None,
    sort: Annotated[
        str | None,
        typer.Option(help="With --query: downloads, likes, created_at, last_modified or trending_score."),
    ] = None,
    call_seconds: Annotated[
        float, typer.Option(help="Source hub: wall time of one call, body included.", min=0.1)
    ] = 20.0,
    mine: Annotated[
        bool, typer.Option("--mine", help="Then mine subgraphs, as `passnet mine` does by default.")
    ] = False,
) -> None:
    """Trace models into the corpus; run it again to go on where it stopped.

    Example: passnet refresh --source timm --limit 100 --corpus data/corpus
    Example: passnet refresh --source transformers --heads base,causal-lm --workers 2

    Example: passnet refresh --source hub --query bert --sort downloads --limit 500

    Source hub reads config.json alone, never weights, and traces each distinct config once; HF_TOKEN and HF_ENDPOINT
    count. With verdicts on real tensors for at most five minutes: passnet refresh --level real --real-seconds 300
    """
    reporter = reporter_for(Console(stderr=True))
    stop_on_signals()
    with ending_in_order(reporter):
        _check(corpus, source, models, limit, heads, tracer, level, repo_list, query, sort)
        summary = _run(
            reporter,
            corpus=str(corpus),
            source=source,
            models_file=str(models) if models else None,
            limit=limit,
            workers=workers,
            max_params=max_params,
            max_failed_frac=max_failed_frac,
            import_modules=import_modules or [],
            model_seconds=model_seconds,
            retry_failed=retry_failed,
            heads=heads,
            tracer=tracer,
            level=level,
            real_limit=real_limit,
            real_seconds=real_seconds,
            repo_list=str(repo_list) if repo_list else None,
            query=query,
            sort=sort,
            call_seconds=call_seconds,
            mine=mine,
        )
    _show(summary)


def _check(
    corpus: Path,
    source: str,
    models: Path | None,
    limit: int | None,
    heads: str,
    tracer: str,
    level: str,
    repo_list: Path | None,
    query: str | None,
    sort: str | None,
) -> None:
    """Refuse what cannot work before anything is written or started."""
    from flows.hub_plan import choose_repos
    from flows.refresh_plan import check_tracer, choose_models
    from storage.corpus import Corpus
    from tasks.levels import check_level

    check_tracer(tracer)
    if choose_repos(source, repo_list, query, sort, limit) is None:
        choose_models(source, models, limit, heads)
    check_level(level)
    Corpus.create(corpus).close()


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> RefreshSummary:
    from flows.server import prefect_server

    reporter.stage("starting Prefect")
    logging.disable(logging.WARNING)
    with prefect_server(Path(corpus).absolute() / ".prefect"):
        from flows.refresh import TooManyFailures
        from flows.refresh import refresh as refresh_flow

        token = REPORTER.set(reporter)
        try:
            return refresh_flow(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]
        except TooManyFailures as failures:
            reporter.close()
            _show(failures.summary)
            raise
        finally:
            REPORTER.reset(token)


def _show(summary: RefreshSummary) -> None:
    from flows.refresh_report import next_steps, summary_table

    console = Console()
    console.print(summary_table(summary))
    for step in next_steps(summary):
        console.print(f"next: {step}", highlight=False, soft_wrap=True)


@contextmanager
def ending_in_order(reporter: Reporter) -> Iterator[None]:
    """Close the reporter however a run ends; a stop becomes one line and the exit code of its signal."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        reporter.close()
        Console(stderr=True).print("passnet: stopped; run the same command again to go on", highlight=False)
        raise typer.Exit(TERMINATED_CODE if interrupt.args else INTERRUPTED_CODE) from None
    finally:
        reporter.close()


def stop_on_signals() -> None:
    """Make Ctrl-C and SIGTERM end the run in order; a second one ends it at once (its children die with it)."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, stop_at_once)
        signal.signal(signal.SIGTERM, stop_at_once)
        raise KeyboardInterrupt(*([number] if number == signal.SIGTERM else []))

    def stop_at_once(number: int, frame: FrameType | None) -> None:
        sys.stderr.write("passnet: stopped at once; run the same command again to go on\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED_CODE)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
