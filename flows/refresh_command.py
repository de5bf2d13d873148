"""`passnet refresh`: run the flow on this machine with a Prefect server brought along, and show what came of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from flows.bounds import MAX_SECONDS, MAX_WORKERS
from flows.local_run import ending_in_order, local_prefect, stop_on_signals
from flows.progress import Reporter, reporter_for

if TYPE_CHECKING:
    from flows.refresh_report import RefreshSummary


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
    workers: Annotated[
        int | None, typer.Option(help="Tracing children; default one per CPU.", min=1, max=MAX_WORKERS)
    ] = None,
    max_params: Annotated[int | None, typer.Option(help="Drop models of more parameters.", min=0)] = None,
    max_failed_frac: Annotated[
        float, typer.Option(help="Exit 1 when a larger share of the models failed.", min=0.0, max=1.0)
    ] = 0.2,
    import_modules: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="MODULE", help="Import first in each child (repeatable): registers models."),
    ] = None,
    model_seconds: Annotated[
        float, typer.Option(help="Wall time that one model may take.", min=1.0, max=MAX_SECONDS)
    ] = 120.0,
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
        float,
        typer.Option(help="At level real: begin no further graph after this wall time.", min=1.0, max=MAX_SECONDS),
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
        float, typer.Option(help="Source hub: wall time of one call, body included.", min=0.1, max=MAX_SECONDS)
    ] = 20.0,
    trust_remote_code: Annotated[
        bool,
        typer.Option(
            "--trust-remote-code",
            help="Source hub: also execute the code that repositories bring, in children without network.",
        ),
    ] = False,
    mine: Annotated[
        bool, typer.Option("--mine", help="Then mine subgraphs, as `passnet mine` does by default.")
    ] = False,
    curves: Annotated[
        str, typer.Option(help="Then make kernel curves for targets, such as cpu,cuda:a30, as `passnet curves` does.")
    ] = "",
    generalize: Annotated[
        bool, typer.Option("--generalize", help="Then make instances of subgraphs, as `passnet generalize` does.")
    ] = False,
    bench: Annotated[
        bool, typer.Option("--bench", help="Then build the tasks of PassBench, as `passnet bench build` does.")
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
        _check(corpus, source, models, limit, heads, tracer, level, repo_list, query, sort, curves)
        _check_children(corpus, source, import_modules or [], trust_remote_code)
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
            trust_remote_code=trust_remote_code,
            curves=curves,
            generalize=generalize,
            bench=bench,
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
    curves: str,
) -> None:
    """Refuse what cannot work before anything is written or started."""
    from flows.curve_plan import check_targets
    from flows.hub_plan import choose_repos
    from flows.refresh_plan import check_tracer, choose_models
    from tasks.levels import check_level

    check_tracer(tracer)
    if choose_repos(source, repo_list, query, sort, limit, models) is None:
        choose_models(source, models, limit, heads)
    check_level(level)
    if curves:
        check_targets(curves)


def _check_children(corpus: Path, source: str, import_modules: list[str], trust_remote_code: bool) -> None:
    """Refuse what children cannot be started with, then make the corpus."""
    from flows.hub_plan import check_trust
    from storage.corpus import Corpus
    from tasks.sandbox_pool import check_start

    check_trust(trust_remote_code, source)
    check_start(import_modules, trust_remote_code)
    Corpus.create(corpus).close()


def _run(reporter: Reporter, *, corpus: str, **parameters: object) -> RefreshSummary:
    with local_prefect(corpus, reporter):
        from flows.refresh import TooManyFailures
        from flows.refresh import refresh as refresh_flow

        try:
            return refresh_flow(corpus=corpus, **parameters)  # pyright: ignore[reportArgumentType, reportCallIssue]
        except TooManyFailures as failures:
            reporter.close()
            _show(failures.summary)
            raise


def _show(summary: RefreshSummary) -> None:
    from flows.refresh_report import next_steps, summary_table

    console = Console()
    console.print(summary_table(summary))
    for step in next_steps(summary):
        console.print(f"next: {step}", highlight=False, soft_wrap=True)
