"""Models to fidelity entries, in a process of its own: is the traced graph, replayed, the model itself, bit for bit?

`python -m benchmarks.replay_child --log FILE NAME ...` appends one JSON line when it starts on a model and one when
it is done. The graph is traced on meta as in a refresh; the model is then built with real, seeded random weights, and
both run on two different inputs. The caller kills this process when a model takes too long.
"""

from __future__ import annotations

import argparse
import gc
import json
import warnings
import zlib
from pathlib import Path
from typing import Any

import torch

from extract.failure import Reason, SubjectError
from extract.graph import TensorMeta
from extract.model_ref import Trace
from extract.model_tracing import TraceConfig, trace_model
from extract.replay import replay
from extract.sources import Preparation, prepare
from extract.tracer import flatten_tensors

INPUTS = ((1, 1.0, 0.0), (2, 0.5, 0.7))  # seed, scale and shift of each input


def check_model(name: str, max_params: int) -> dict[str, Any]:
    """Return whether replay equals the model on both inputs, the largest relative difference, and a cause if not."""
    try:
        trace = trace_model(f"timm/{name}", TraceConfig(max_params=max_params))
    except SubjectError as error:
        return {"outcome": "skipped" if error.reason == Reason.OVER_MAX_PARAMS else "failed", "cause": str(error)}
    model = prepare(trace.model.model_id, Preparation(weights="random", seed=zlib.crc32(name.encode()))).module
    shape = trace.graph.tensors[0].shape
    worst = 0.0
    causes: list[str] = []
    for seed, scale, shift in INPUTS:
        image = torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * scale + shift
        difference, cause = compare(model, trace, image)
        worst = max(worst, difference)
        causes += [cause] if cause else []
    outcome = "different" if causes else "identical"
    return {"outcome": outcome, "max_rel_diff": worst, "cause": "; ".join(causes) or None, "mode": trace.tensor_mode}


def compare(model: torch.nn.Module, trace: Trace, image: torch.Tensor) -> tuple[float, str | None]:
    """Return one run's largest relative difference (infinite where shapes differ) and its cause; 0 and None if none."""
    expected = run_model(model, image)
    torch.manual_seed(0)
    held = held_tensors(model)
    got = replay(trace.graph, [operand(meta, held, image) for meta in trace.graph.tensors])
    difference = largest_difference(expected, got)
    if difference == 0.0:
        return 0.0, None
    if largest_difference(expected, run_model(model, image)) != 0.0:
        return difference, "the model itself is not deterministic"
    if any(read.depends_on_input for read in trace.value_reads):
        return difference, "the model reads values of its input"
    return difference, f"unexplained, {difference:.3g}"


def run_model(model: torch.nn.Module, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Run the model once from a fixed random state."""
    torch.manual_seed(0)
    with torch.no_grad():
        return tuple(flatten_tensors(model(image.clone())))


def held_tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the model's parameters and buffers by every name that they have."""
    return {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}


def operand(meta: TensorMeta, held: dict[str, torch.Tensor], image: torch.Tensor) -> torch.Tensor:
    """Return the value of one entry of a graph's tensor table; raises LookupError where the trace does not say."""
    if meta.kind == "input":
        return image.clone()
    if meta.original_name in held:
        return held[meta.original_name]
    if meta.values is None:
        raise LookupError(f"{meta.kind} {meta.name} ({meta.original_name!r}) has no values")
    return torch.tensor(meta.values, dtype=getattr(torch, meta.dtype)).reshape(meta.shape)


def largest_difference(expected: tuple[torch.Tensor, ...], got: tuple[torch.Tensor, ...]) -> float:
    """Return the largest difference over the largest magnitude, nan equal to nan; 0.0 means the same bits."""
    if [(t.shape, t.dtype) for t in expected] != [(t.shape, t.dtype) for t in got]:
        return float("inf")
    worst = 0.0
    for left, right in zip(expected, got, strict=True):
        if torch.equal(left.contiguous().view(torch.uint8), right.contiguous().view(torch.uint8)):
            continue
        if not torch.equal(left.isnan(), right.isnan()):
            return float("inf")
        wide_left, wide_right = left.double().nan_to_num(), right.double().nan_to_num()
        scale = max(float(wide_left.abs().max()), 1e-30)
        worst = max(worst, float((wide_left - wide_right).abs().max()) / scale, 1e-30)
    return worst


def main() -> None:
    """Check the named models one by one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--max-params", type=int, required=True)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with options.log.open("a", encoding="utf-8") as log:
        for name in options.names:
            log.write(json.dumps({"model": name, "outcome": "started"}) + "\n")
            log.flush()
            try:
                entry = check_model(name, options.max_params)
            except Exception as error:  # foreign code
                entry = {"outcome": "failed", "cause": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}
            log.write(json.dumps({"model": name, **entry}) + "\n")
            log.flush()
            gc.collect()


if __name__ == "__main__":
    main()
