"""Thirty variants of each of some timm models: ours, beside capturing each variant with Dynamo.

Ours builds the model once on meta tensors and traces it at ten shapes in three dtypes, as `passnet generalize` does,
with the two held-out sizes; times are wall times of one process with one thread, hashes of each variant's graph
included. The peer, *upstream*, is what the public corpora were made with, `torch.compile(model, backend=capture,
dynamic=True)` over real weights, run on the `--peer-variants` lightest variants of each of the `--peer-models` lightest
models and extrapolated to all 30; a variant that it cannot capture is left out of its mean. Lightest, by the elements
that their ops return, and float32, because the peer runs what it captures: a large batch or a convolution in half
precision takes a CPU minutes, which would be no part of capturing. It favours the peer.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter
from collections.abc import Sequence
from math import prod
from statistics import mean
from typing import Any

import timm
import torch

from benchmarks.report import make_parser, print_report, print_table
from extract.hashing import hash_graph
from extract.shape_configs import DTYPES, Sizes
from extract.variants import Variant, VariantTraces, trace_variants

_WARM_UP = "timm/resnet18"
_NUM_VARIANTS = 30


def main() -> None:
    """Measure, print a line per model, the figures and, last, `ratio=`."""
    parser = make_parser(__doc__)
    parser.add_argument("--models", type=int, default=40, help="timm models, drawn by seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--peer-models", type=int, default=8)
    parser.add_argument("--peer-variants", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = random.Random(options.seed).sample(sorted(timm.list_models()), options.models)
    trace_variants(_WARM_UP)
    measured = [(name, *_ours(f"timm/{name}")) for name in names]
    lightest = sorted(measured, key=lambda each: min(map(_num_elements, each[1].variants)))
    peers = _peers(lightest[: options.peer_models], options)
    rows = [[name, seconds, len(traces.variants), peers.get(name)] for name, traces, seconds in measured]
    print_table(["model", "ours_s", "variants", "upstream_s"], rows)
    figures, ratio = _figures(measured, peers)
    print_report(figures, ratio, as_json=options.json)


def _ours(model_id: str) -> tuple[VariantTraces, float]:
    started = time.perf_counter()
    traces = trace_variants(model_id)
    for variant in traces.variants:
        hash_graph(variant.graph)
    return traces, time.perf_counter() - started


def _peers(measured: Sequence[tuple[str, VariantTraces, float]], options: argparse.Namespace) -> dict[str, float]:
    """Return the peer's seconds for 30 variants by model, where it captured some."""
    found: dict[str, float] = {}
    for name, traces, _ in measured:
        usual = [variant for variant in traces.variants if not variant.is_rebuilt and variant.shape_config < 10]
        usual = sorted((variant for variant in usual if variant.dtype == "float32"), key=_num_elements)
        seconds = [
            spent for variant in usual[: options.peer_variants] if (spent := _upstream_s(name, variant)) is not None
        ]
        if seconds:
            found[name] = _NUM_VARIANTS * mean(seconds)
    return found


def _num_elements(variant: Variant) -> int:
    """Return how many elements the ops of a variant return, views counted too: about what running it takes."""
    return sum(prod(output.shape) for node in variant.graph.nodes for output in node.outputs)


def _upstream_s(name: str, variant: Variant) -> float | None:
    """Return the seconds of building a model with weights and capturing it at a variant's sizes; None: it fails."""
    torch._dynamo.reset()
    started = time.perf_counter()
    try:
        dtype: torch.dtype = getattr(torch, variant.dtype)
        module = timm.create_model(name, pretrained=False).eval().to(dtype)
        image = torch.randn(_shape(variant.sizes), dtype=dtype)
        with torch.no_grad():
            torch.compile(module, backend=_capture, dynamic=True)(image)
    except Exception:  # foreign code
        return None
    return time.perf_counter() - started


def _capture(graph: torch.fx.GraphModule, _: Sequence[Any]) -> Any:
    return graph.forward


def _shape(sizes: Sizes) -> tuple[int, ...]:
    return sizes["batch"], 3, sizes["height"], sizes["width"]


def _figures(
    measured: Sequence[tuple[str, VariantTraces, float]], peers: dict[str, float]
) -> tuple[dict[str, Any], float]:
    variants = [variant for _, traces, _ in measured for variant in traces.variants if variant.shape_config < 10]
    reasons = Counter(str(missing.reason) for _, traces, _ in measured for missing in traces.missing)
    ours = {name: seconds for name, _, seconds in measured}
    num_wanted = len(measured) * _NUM_VARIANTS
    figures = {
        "num_models": len(measured),
        "num_variants": len(variants),
        "variants_frac": len(variants) / num_wanted,
        "same_ops_frac": sum(variant.has_same_ops for variant in variants) / num_wanted,
        "two_axes_frac": mean(_varies_two_axes(traces) for _, traces, _ in measured),
        "missing": dict(reasons) or "none",
        "dtypes": len(DTYPES),
        "mean_s": mean(ours.values()),
        "max_s": max(ours.values()),
        "num_peer_models": len(peers),
    }
    ratio = sum(peers.values()) / sum(ours[name] for name in peers) if peers else float("nan")
    return figures, ratio


def _varies_two_axes(traces: VariantTraces) -> bool:
    sizes = [variant.sizes for variant in traces.variants if variant.shape_config < 10]
    axes = {axis for entry in sizes for axis in entry}
    return sum(len({entry.get(axis) for entry in sizes}) > 1 for axis in axes) >= 2


if __name__ == "__main__":
    main()
