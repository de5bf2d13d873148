"""Kernel counts: does the scheduler that was stopped early plan what a real `torch.compile` plans?

Prefixes of real models are drawn by seed. Each is planned by `profiles.kernels.scheduler` for this CPU, and compiled
by `torch.compile` with its weights as parameters of a module; a spy notes the nodes of the scheduler that this
compilation builds. A share of the prefixes is compiled to the end by g++, and there the calls in the wrapper are
compared too; the others stop where code generation would begin.

The peer is compiling each prefix to the end; `ratio=` is its time over that of planning, summed over those prefixes.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from torch import fx
from torch._inductor import ir
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import NopKernelSchedulerNode

from benchmarks.report import make_parser, print_report, print_table
from extract.cut import Cutter
from extract.graph import Graph
from extract.model_tracing import TraceConfig, trace_model
from profiles.kernels.called import count_calls, real_program, wrapper_texts
from profiles.kernels.scheduler import Plan, plan, planning_for
from profiles.kernels.targets import CPU

MODELS = (
    "timm/resnet18",
    "timm/vit_tiny_patch16_224",
    "timm/lcnet_050",
    "timm/mixer_s16_224",
    "timm/convnext_atto",
    "timm/mobilenetv3_small_100",
    "timm/vgg11",
    "timm/regnetx_002",
    "timm/resmlp_12_224",
    "timm/swin_tiny_patch4_window7_224",
    "timm/densenet121",
    "transformers/bert/base",
    "transformers/gpt2/base",
)
MAX_PREFIX_OPS = 120
SEED = 14


@dataclass(frozen=True, slots=True)
class Trial:
    """One prefix: what was planned, what torch.compile planned, the wrapper's calls where compiled to the end."""

    model_id: str
    num_ops: int
    planned: int | None
    compiled: int | None
    planned_called: int | None = None
    called: int | None = None
    plan_s: float = 0.0
    compile_s: float = 0.0
    error: str | None = None

    @property
    def is_equal(self) -> bool:
        """Whether all counts that were taken agree."""
        is_same_called = self.called is None or self.called == self.planned_called
        return self.error is None and self.planned == self.compiled and is_same_called


class _Scheduled(BaseException):
    """Ends a compilation before code generation; not an Exception, which torch would wrap."""


@contextlib.contextmanager
def spying(counts: list[int], *, is_stopping: bool) -> Iterator[None]:
    """Append the node count of each scheduler that a compilation builds within, and stop it there if asked."""
    update = GraphLowering._update_scheduler

    def note(lowering: GraphLowering) -> None:
        update(lowering)
        counts.append(sum(_is_launched(node) for node in lowering.scheduler.nodes))
        if is_stopping:
            raise _Scheduled

    with patch.object(GraphLowering, "_update_scheduler", note):
        yield


def _is_launched(node: Any) -> bool:
    """Spelled out here once more, so that the planner's own rule is checked by it."""
    return not isinstance(node, NopKernelSchedulerNode) and not isinstance(node.node, ir.MultiOutput)


def try_prefix(model_id: str, graph: Graph, is_whole: bool) -> Trial:
    """Plan a prefix and compile it, to the end or up to its scheduler."""
    size, planned, compiled, called = len(graph.nodes), None, None, None
    plan_s = compile_s = 0.0
    try:
        planned, plan_s = _plan(graph)
        module, inputs = real_program(graph)
        compiled, called, compile_s = _compile(module, inputs, is_whole)
    except Exception as error:  # foreign code: counted and shown as a mismatch
        found = len(planned.kernels) if planned else None
        return Trial(model_id, size, found, compiled, error=f"{type(error).__name__}: {error}"[:120])
    return Trial(model_id, size, len(planned.kernels), compiled, planned.num_called, called, plan_s, compile_s)


def _plan(graph: Graph) -> tuple[Plan, float]:
    torch.compiler.reset()
    with planning_for(CPU):
        start = time.perf_counter()
        planned = plan(graph, CPU)
        return planned, time.perf_counter() - start


def _compile(module: fx.GraphModule, inputs: list[torch.Tensor], is_whole: bool) -> tuple[int, int | None, float]:
    """Return scheduler nodes, calls in the wrapper where compiled to the end, and seconds."""
    counts: list[int] = []
    with spying(counts, is_stopping=not is_whole):
        start = time.perf_counter()
        try:
            texts = wrapper_texts(module, inputs)
        except _Scheduled:
            texts = []
        seconds = time.perf_counter() - start
    return sum(counts), count_calls(texts) if is_whole else None, seconds


def draw_prefixes(count: int, rng: random.Random) -> Iterator[tuple[str, Graph]]:
    """Yield `count` prefixes of the models in turn, each of a size drawn up to `MAX_PREFIX_OPS`."""
    cutters: dict[str, tuple[Cutter, int]] = {}
    for model_id in MODELS:
        graph = trace_model(model_id, TraceConfig()).graph
        cutters[model_id] = Cutter(graph), min(len(graph.nodes), MAX_PREFIX_OPS)
    for position in range(count):
        model_id = MODELS[position % len(MODELS)]
        cutter, largest = cutters[model_id]
        yield model_id, cutter.cut(0, rng.randint(1, largest), allow_mutation=True).graph


def main() -> None:
    """Draw, plan, compile, compare, print."""
    parser = make_parser(__doc__)
    parser.add_argument("--prefixes", type=int, default=200)
    parser.add_argument("--whole", type=int, default=26, help="prefixes compiled to the end by g++")
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    whole = set(rng.sample(range(options.prefixes), min(options.whole, options.prefixes)))
    trials: list[Trial] = []
    for position, (model_id, graph) in enumerate(draw_prefixes(options.prefixes, rng)):
        if position == 0:
            try_prefix(model_id, graph, is_whole=True)  # what a process pays once: pattern tables, headers
        trials.append(try_prefix(model_id, graph, position in whole))
        _show_progress(len(trials), options.prefixes, trials[-1])
    report(trials, as_json=options.json)


def _show_progress(done: int, total: int, trial: Trial) -> None:
    if done % 20 == 0 or not trial.is_equal:
        sys.stderr.write(f"{done}/{total} {'' if trial.is_equal else trial}\n")


def report(trials: list[Trial], *, as_json: bool) -> None:
    """Print mismatches, prefixes by model, figures and the ratio."""
    ends = [trial for trial in trials if trial.called is not None]
    wrong = [trial for trial in trials if not trial.is_equal]
    if not as_json:
        equal = Counter(trial.model_id for trial in trials if trial.is_equal)
        tried = Counter(trial.model_id for trial in trials)
        print_table(["model", "equal", "prefixes"], [(name, equal[name], tried[name]) for name in sorted(tried)])
        header = ["mismatch", "ops", "planned", "compiled", "planned calls", "calls", "error"]
        if wrong:
            print_table(header, [_row(trial) for trial in wrong])
    plan_s, compile_s = sum(trial.plan_s for trial in ends), sum(trial.compile_s for trial in ends)
    figures: dict[str, Any] = {
        "num_prefixes": len(trials),
        "num_equal": len(trials) - len(wrong),
        "num_to_end": len(ends),
        "num_called_equal": sum(trial.called == trial.planned_called for trial in ends),
        "plan_s": plan_s,
        "compile_s": compile_s,
        "plan_s_median": median(trial.plan_s for trial in trials),
        "num_kernels": sum(trial.planned or 0 for trial in trials),
        "mismatches": [_row(trial) for trial in wrong],
    }
    print_report(figures, compile_s / plan_s if plan_s else float("nan"), as_json=as_json)


def _row(trial: Trial) -> tuple[Any, ...]:
    return (
        trial.model_id,
        trial.num_ops,
        trial.planned,
        trial.compiled,
        trial.planned_called,
        trial.called,
        trial.error,
    )


if __name__ == "__main__":
    main()
