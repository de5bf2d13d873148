"""What a refresh does once graphs are traced: kernel curves, subgraphs, instances, tasks, in this order."""

from __future__ import annotations

from dataclasses import dataclass

from flows.curve_plan import check_targets
from flows.curves import curves_of
from flows.curves import new_run_id as new_curve_run_id
from flows.generalize import generalize_missing
from flows.generalize import new_run_id as new_generalize_run_id
from flows.generalize_plan import MAX_BYTES, MODEL_SECONDS
from flows.mining_plan import MiningConfig
from flows.progress import Reporter
from mining.subgraph import FUSIBLE
from storage.corpus import Corpus
from tasks.curves import CurveJob
from tasks.generalize import GeneralizeJob


@dataclass(frozen=True, slots=True)
class LaterSteps:
    """Which steps a run was asked for: curves for `targets`, mining (fusible subgraphs of these targets too),
    generalization of whatever subgraphs there are then, and PassBench of whatever instances."""

    targets: tuple[str, ...]
    mine: bool
    generalize: bool
    bench: bool = False


def plan_later_steps(curves: str, mine: bool, generalize: bool, bench: bool = False) -> LaterSteps:
    """Return the steps that options ask for; `curves` names targets by commas. Raises UsageError for others."""
    return LaterSteps(tuple(check_targets(curves)) if curves else (), mine, generalize, bench)


def take_later_steps(
    corpus: Corpus, steps: LaterSteps, num_workers: int, max_params: int | None, reporter: Reporter
) -> None:
    """Make what the corpus lacks of each step, by its command's defaults; runs within a flow."""
    for target in steps.targets:
        curves_of(corpus, CurveJob(new_curve_run_id(), target), num_workers, reporter)
    if steps.mine:
        _mine(corpus, steps.targets, num_workers, reporter)
    if steps.generalize:
        job = GeneralizeJob(new_generalize_run_id(), MAX_BYTES, max_params, MODEL_SECONDS)
        generalize_missing(corpus, job, num_workers, reporter)
    if steps.bench:
        _build_tasks(corpus, num_workers, reporter)


def _mine(corpus: Corpus, targets: tuple[str, ...], num_workers: int, reporter: Reporter) -> None:
    from flows.mine import mine_corpus  # what compiles loops is not for every refresh to load

    mine_corpus(corpus, MiningConfig(workers=num_workers), reporter)
    for target in targets:
        mine_corpus(corpus, MiningConfig((FUSIBLE,), workers=num_workers, target=target), reporter)


def _build_tasks(corpus: Corpus, num_workers: int, reporter: Reporter) -> None:
    from flows.bench_build import build_tasks  # numpy and what compiles loops are not for every refresh to load
    from flows.bench_plan import plan_build

    if corpus.manifest().rows("instances"):
        build_tasks(corpus, plan_build(), None, num_workers, reporter)
