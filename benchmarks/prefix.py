"""Kernel curves against counting every prefix in full, and against compiling every prefix, on 20 real graphs.

Ours starts with no count known and keeps what it learns from graph to graph, as a run of `passnet curves` does. Two
peers: *scheduler*, Inductor's own plan of each whole prefix (`--exact`), and *compile*, `torch.compile` of each prefix
through its C++ compiler (target cpu). Peers are run on samples, stretches of neighbouring positions and a few prefixes
of each graph, and their time extrapolated to all positions; every count of the first is compared with ours.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import make_parser, print_report
from extract.cut import Cutter
from extract.graph import Graph
from extract.model_tracing import TraceConfig, trace_model
from mining.prefix import Plateau, find_plateaus
from profiles.kernels.counting import GraphCounter
from profiles.kernels.curve import Count, Curve, CurveConfig
from profiles.kernels.scheduler import plan, planning_for
from profiles.kernels.targets import CPU, TARGETS, Target

MODELS = (
    "timm/vit_tiny_patch16_224",
    "transformers/gpt2/base",
    "transformers/bert/base",
    "timm/pit_ti_224",
    "timm/tiny_vit_5m_224",
    "timm/mobilevit_xxs",
    "timm/beit_base_patch16_224",
    "timm/vgg11",
    "timm/resnet18",
    "timm/lcnet_050",
    "timm/convnext_atto",
    "timm/regnetx_016",
    "timm/mixer_s16_224",
    "timm/mobilenetv3_small_100",
    "timm/resnet26d",
    "timm/regnety_008",
    "timm/efficientnet_b0",
    "timm/ghostnet_100",
    "timm/inception_v3",
    "timm/tresnet_m",
)
DEEPER = (
    "timm/swin_tiny_patch4_window7_224",
    "timm/swin_small_patch4_window7_224",
    "timm/cait_xxs24_224",
    "timm/cait_xxs36_224",
)
_WHOLE = 70  # ops up to which every position is compared
_STRETCHES, _STRETCH = 2, 15


@dataclass
class Measured:
    """What one graph gave: seconds of each side, the curve, and the peer's counts by position."""

    model_id: str
    num_ops: int
    num_attention: int
    ours_s: float
    curve: Curve
    num_counted: int
    truth: dict[int, int | None] = field(default_factory=dict)
    scheduler_s: float = 0.0
    scheduler_ops: int = 0
    compile_s: list[float] = field(default_factory=list)

    @property
    def scheduler_all_s(self) -> float:
        """Time of the scheduler peer over all positions, by its time an op."""
        return self.scheduler_s / max(self.scheduler_ops, 1) * self.num_ops * (self.num_ops + 1) / 2

    @property
    def compile_all_s(self) -> float:
        """Time of the compiler over all positions, by its mean time on prefixes spread evenly."""
        return sum(self.compile_s) / max(len(self.compile_s), 1) * self.num_ops

    @property
    def num_equal(self) -> int:
        """Positions compared where both counts are equal."""
        return sum(self.curve.kernels[position - 1] == count for position, count in self.truth.items())


def main() -> None:
    """Measure, print the figures and, last, `ratio=`."""
    parser = make_parser(__doc__)
    parser.add_argument("--target", choices=sorted(TARGETS), default="cpu")
    parser.add_argument("--models", nargs="*", default=list(MODELS), help="model ids; default the 20")
    parser.add_argument("--compiles", type=int, default=3, help="prefixes of each graph that are compiled (cpu)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="also write each graph's figures here as they come, JSON lines")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    target = TARGETS[options.target]
    measured = list(_measure_all(options, target))
    figures = {**_figures(measured, target), **_deeper_figures(target)}
    ratios = {name.removeprefix("ratio_"): figures.pop(name) for name in list(figures) if name.startswith("ratio_")}
    print_report(figures, figures.pop("ratio", ratios["scheduler"]), as_json=options.json, other_ratios=ratios)


def _measure_all(options: argparse.Namespace, target: Target) -> Iterator[Measured]:
    counts: dict[str, Count] = {}
    rng = random.Random(options.seed)
    _warm_up(target)
    for model_id in options.models:
        graph = trace_model(model_id, TraceConfig()).graph
        found = _measure(model_id, graph, target, counts)
        _count_in_full(found, graph, target, _positions(len(graph.nodes), rng))
        if target == CPU:
            found.compile_s = [_compile_s(graph, position) for position in _spread(len(graph.nodes), options.compiles)]
        line = _line(found)
        print(json.dumps(line), flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
        yield found


def _warm_up(target: Target) -> None:
    """Pay for imports, tables of patterns and headers once, before any side is timed."""
    graph = trace_model("timm/vgg11", TraceConfig()).graph
    with planning_for(target):
        plan(Cutter(graph).cut(0, 3).graph, target)
    if target == CPU:
        _compile_s(graph, 3)  # the first one makes headers


def _measure(model_id: str, graph: Graph, target: Target, counts: dict[str, Count]) -> Measured:
    before = len(counts)
    started = time.perf_counter()
    with planning_for(target):
        counter = GraphCounter(graph, target.name, CurveConfig())
        made = counter.advance(counts)
        while not isinstance(made, Curve):
            counts.update(counter.count(made))
            made = counter.advance(counts)
    seconds = time.perf_counter() - started
    num_attention = graph.op_names.count("scaled_dot_product_attention")
    return Measured(model_id, len(graph.nodes), num_attention, seconds, made, len(counts) - before)


def _positions(size: int, rng: random.Random) -> list[int]:
    """Choose all positions of a small graph, stretches of a larger one."""
    if size <= _WHOLE:
        return list(range(1, size + 1))
    starts = [rng.randint(1, size - _STRETCH) for _ in range(_STRETCHES)]
    return sorted({start + offset for start in starts for offset in range(_STRETCH)})


def _count_in_full(found: Measured, graph: Graph, target: Target, positions: Sequence[int]) -> None:
    cutter = Cutter(graph)
    started = time.perf_counter()
    with planning_for(target):
        for position in positions:
            try:
                piece = cutter.cut(0, position, allow_mutation=True)
                found.truth[position] = len(plan(piece.graph, target).kernels)
            except Exception:  # foreign code: what cannot be planned has no count on either side
                found.truth[position] = None
            found.scheduler_ops += position
    found.scheduler_s = time.perf_counter() - started


def _spread(size: int, count: int) -> list[int]:
    return [max(1, round(size * (2 * step + 1) / (2 * count))) for step in range(count)]


def _compile_s(graph: Graph, position: int) -> float:
    """Return the seconds that `torch.compile`'s backend takes for a prefix, C++ compiler included, caches off."""
    from torch._inductor import config
    from torch._inductor.compile_fx import compile_fx

    from profiles.kernels.program import program_of

    piece = Cutter(graph).cut(0, position, allow_mutation=True)
    module, operands = program_of(piece.graph, "cpu")
    torch._dynamo.reset()
    started = time.perf_counter()
    with torch.no_grad(), config.patch(force_disable_caches=True, compile_threads=1):
        compile_fx(module, operands)
    return time.perf_counter() - started


def _same_plateaus(found: Measured) -> tuple[int, int]:
    """Return how many of the plateaus of the compared stretches both sides have, and how many either has."""
    same = either = 0
    for stretch in _stretches_of(sorted(found.truth)):
        ours = set(_inner(find_plateaus([found.curve.kernels[at - 1] for at in stretch])))
        theirs = set(_inner(find_plateaus([found.truth[at] for at in stretch])))
        same += len(ours & theirs)
        either += len(ours | theirs)
    return same, either


def _inner(plateaus: Sequence[Plateau]) -> list[tuple[int, int]]:
    return [(plateau.start, plateau.end) for plateau in plateaus]


def _stretches_of(positions: Sequence[int]) -> list[list[int]]:
    stretches: list[list[int]] = []
    for position in positions:
        if stretches and stretches[-1][-1] == position - 1:
            stretches[-1].append(position)
        else:
            stretches.append([position])
    return stretches


def _line(found: Measured) -> dict[str, Any]:
    same, either = _same_plateaus(found)
    compiled = {"x_compile": round(found.compile_all_s / found.ours_s, 1)} if found.compile_s else {}
    wrong = [at for at, count in found.truth.items() if found.curve.kernels[at - 1] != count]
    return {
        "model": found.model_id,
        "ops": found.num_ops,
        "attention": found.num_attention,
        "ours_s": round(found.ours_s, 2),
        "counted": found.num_counted,
        "full": found.curve.num_full,
        "checked": found.curve.num_checked,
        "wrong_checks": found.curve.num_wrong,
        "equal": f"{found.num_equal}/{len(found.truth)}",
        "plateaus": f"{same}/{either}",
        "wrong": wrong[:10],
        "unplanned": sum(count is None for count in found.truth.values()),
        "x_scheduler": round(found.scheduler_all_s / found.ours_s, 1),
        **compiled,
    }


def _figures(measured: Sequence[Measured], target: Target) -> dict[str, Any]:
    num_compared = sum(len(found.truth) for found in measured)
    plateaus = [_same_plateaus(found) for found in measured]
    ours = sum(found.ours_s for found in measured)
    large = [found for found in measured if found.num_ops > 300]
    figures: dict[str, Any] = {
        "target": target.name,
        "num_graphs": len(measured),
        "num_positions": sum(found.num_ops for found in measured),
        "num_compared": num_compared,
        "num_unplanned": sum(count is None for found in measured for count in found.truth.values()),
        "equal_frac": sum(found.num_equal for found in measured) / num_compared,
        "plateaus_equal_frac": sum(same for same, _ in plateaus) / max(sum(either for _, either in plateaus), 1),
        "num_large": len(large),
        "ours_s": ours,
        "ours_ms_per_position": 1000 * ours / sum(found.num_ops for found in measured),
        "ratio_scheduler": sum(found.scheduler_all_s for found in measured) / ours,
        "ratio_scheduler_least_of_large": min(
            (found.scheduler_all_s / found.ours_s for found in large), default=float("nan")
        ),
    }
    if target == CPU:
        figures["ratio_least"] = min(found.compile_all_s / found.ours_s for found in measured)
        figures["ratio"] = sum(found.compile_all_s for found in measured) / ours
    return figures


def _deeper_figures(target: Target) -> dict[str, Any]:
    """Return how much cheaper a position of the deeper graph of a family is, the shallower one's counts known."""
    figures: dict[str, Any] = {}
    for first_id, second_id in zip(DEEPER[::2], DEEPER[1::2], strict=True):
        counts: dict[str, Count] = {}
        first, second = (
            _measure(model_id, trace_model(model_id, TraceConfig()).graph, target, counts)
            for model_id in (first_id, second_id)
        )
        costs = [1000 * found.ours_s / found.num_ops for found in (first, second)]
        name = second_id.removeprefix("timm/")
        figures |= {f"{name}_first_ms": costs[0], f"{name}_ms": costs[1], f"{name}_cheaper": costs[0] / costs[1]}
    return figures


if __name__ == "__main__":
    main()
