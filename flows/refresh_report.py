"""What a refresh made: one record of figures, as Prefect artifacts and as a table for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from extract.model_ref import ModelRef
from storage.corpus import Corpus
from storage.queries import query_text
from tasks.trace import DISCOVER_STEP, TRACE_STEP, ModelOutcome, count_reasons

_STANDING = "SELECT DISTINCT subject FROM current_failures WHERE list_contains(?, step)"


@dataclass(frozen=True, slots=True)
class RefreshSummary:
    """Figures of one run and of the corpus after it.

    Of `num_considered` models, `num_done_before` needed no work (`num_failed_before` of them failed), `num_traced_now`
    were traced and `reasons_now` counts those dropped by this run. `num_failed` are those considered that stand
    failed, whichever run met it. `num_checked_now` graphs were run on real tensors (level real),
    `num_unchecked` are left for another run. The rest describes the whole corpus; `redundancy_frac` is null for an
    empty one. `seconds` is the run's wall time.
    """

    corpus: str
    num_considered: int
    num_done_before: int
    num_failed_before: int
    num_traced_now: int
    reasons_now: tuple[tuple[str, int], ...]
    num_failed: int
    num_models: int
    num_sources: int
    num_distinct_graphs: int
    num_nodes: int
    redundancy_frac: float | None
    num_verdicts_passed: int
    num_verdicts_failed: int
    num_verdicts_not_applicable: int
    seconds: float
    num_checked_now: int = 0
    num_unchecked: int = 0
    num_subgraphs: int = 0

    @property
    def failed_frac(self) -> float:
        """Share of the considered models that stand failed."""
        return self.num_failed / self.num_considered if self.num_considered else 0.0


def summarise(
    corpus: Corpus, models: Sequence[ModelRef], outcomes: Sequence[ModelOutcome], seconds: float
) -> RefreshSummary:
    """Count what the run did and what the corpus now holds."""
    with corpus.connect() as connection:
        counts = connection.execute(query_text("refresh_summary")).fetchall()[0]
        failed = connection.execute(_STANDING, [[DISCOVER_STEP, TRACE_STEP]]).fetchall()
    models_named, sources, graphs, nodes, passed, failing, inapplicable, redundancy = counts
    reasons = count_reasons(outcomes)
    standing = {subject for (subject,) in failed}
    return RefreshSummary(
        corpus=str(corpus.root),
        num_considered=len(models),
        num_done_before=len(models) - len(outcomes),
        num_failed_before=sum(model.model_id in standing for model in models) - reasons.total(),
        num_traced_now=len(outcomes) - reasons.total(),
        reasons_now=tuple((str(reason), count) for reason, count in sorted(reasons.items())),
        num_failed=sum(model.model_id in standing for model in models),
        num_models=models_named,
        num_sources=sources,
        num_distinct_graphs=graphs,
        num_nodes=nodes,
        num_subgraphs=corpus.manifest().rows("subgraphs"),
        redundancy_frac=redundancy,
        num_verdicts_passed=passed,
        num_verdicts_failed=failing,
        num_verdicts_not_applicable=inapplicable,
        seconds=seconds,
    )


def summary_rows(summary: RefreshSummary) -> list[tuple[str, str]]:
    """Return the figures as (what, how many), in the order in which to read them."""
    redundancy = "" if summary.redundancy_frac is None else f"{summary.redundancy_frac:.1%}"
    return [
        ("models considered", f"{summary.num_considered:,}"),
        ("  traced before", f"{summary.num_done_before - summary.num_failed_before:,}"),
        *_failed_before(summary),
        ("  traced now", f"{summary.num_traced_now:,}"),
        *((f"  failed now: {reason}", f"{count:,}") for reason, count in summary.reasons_now),
        *_checked_on_real(summary),
        ("failed share of those considered", f"{summary.failed_frac:.1%}"),
        ("corpus: models named", f"{summary.num_models:,}"),
        ("corpus: models traced", f"{summary.num_sources:,}"),
        ("corpus: distinct graphs", f"{summary.num_distinct_graphs:,}"),
        ("corpus: redundancy", redundancy),
        ("corpus: nodes", f"{summary.num_nodes:,}"),
        *([("corpus: subgraphs", f"{summary.num_subgraphs:,}")] if summary.num_subgraphs else []),
        ("corpus: verdicts passed", f"{summary.num_verdicts_passed:,}"),
        ("corpus: verdicts failed", f"{summary.num_verdicts_failed:,}"),
        ("corpus: verdicts not applicable", f"{summary.num_verdicts_not_applicable:,}"),
        ("seconds", f"{summary.seconds:.1f}"),
    ]


def _failed_before(summary: RefreshSummary) -> list[tuple[str, str]]:
    if not summary.num_failed_before:
        return []
    return [("  failed before (--retry-failed tries again)", f"{summary.num_failed_before:,}")]


def _checked_on_real(summary: RefreshSummary) -> list[tuple[str, str]]:
    if not summary.num_checked_now and not summary.num_unchecked:
        return []
    left = "  left for another run (or passnet validate --level real)"
    return [("graphs run on real tensors now", f"{summary.num_checked_now:,}"), (left, f"{summary.num_unchecked:,}")]


def summary_table(summary: RefreshSummary) -> Table:
    """Return the figures as a table for a terminal."""
    table = Table(title=f"refresh of {_shown(summary.corpus)}", title_justify="left")
    table.add_column("what")
    table.add_column("how many", justify="right")
    for what, count in summary_rows(summary):
        table.add_row(what, count)
    return table


def next_steps(summary: RefreshSummary) -> list[str]:
    """Return commands worth running next."""
    corpus = _shown(summary.corpus)
    steps = [
        f"passnet stats --corpus {corpus}",
        f'passnet sql --corpus {corpus} "SELECT op, count(*) AS n FROM nodes GROUP BY op ORDER BY n DESC LIMIT 10"',
    ]
    if summary.num_failed:
        steps.append(f'passnet sql --corpus {corpus} "SELECT subject, reason, detail FROM current_failures"')
    return steps


def publish_artifacts(summary: RefreshSummary) -> None:
    """Publish the figures as a table and a markdown artifact of the flow run."""
    from prefect.artifacts import create_markdown_artifact, create_table_artifact

    rows: list[dict[str, Any]] = [{"what": what.strip(), "how many": count} for what, count in summary_rows(summary)]
    create_table_artifact(table=rows, key="refresh-summary", description=f"refresh of {summary.corpus}")
    lines = [f"# refresh of `{summary.corpus}`", "", "| what | how many |", "|---|---:|"]
    lines += [f"| {row['what']} | {row['how many']} |" for row in rows]
    lines += ["", *(f"    {step}" for step in next_steps(summary))]
    create_markdown_artifact(markdown="\n".join(lines), key="refresh-report")


def _shown(path: str) -> str:
    """Show a path relative to here where it lies below."""
    absolute, here = Path(path), Path.cwd()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else path
