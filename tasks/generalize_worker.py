"""Bare-machine entry point: make the instances of one model's subgraphs, one request at a time.

`python -m tasks.generalize_worker` runs as the child of an `extract.sandbox.Sandbox` and needs torch, timm,
transformers and pyarrow alone. The request names a graph's model and ranges of the graph:

- `{"do": "generalize", "model_id": ..., "signature_sha256": ..., "ranges": [[start, end, null or a single op's key],
  ...], "max_bytes": int, "max_params": null or int, "max_seconds": float, "config": null or fields of ModelConfig}` ->
  `{}` and rows of `variants`, `generalizations`, `instances` and `missing_instances` as Arrow streams, the ranges in
  that order. The model is built and traced
  again; `recorded` true says that there is none: then the payload is the graph's rows, and other sizes are
  propagated through it

An expected failure is `{"failure": {"reason": ..., "detail": ...}}`; a reply always has `seconds`, the wall time here.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from extract.failure import Reason, SubjectError
from extract.sandbox_child import FDS_NAME, serve, take_pipes
from extract.sandbox_frames import Header

if TYPE_CHECKING:
    from extract.variants import MissingVariant
    from extract.variants import Variant as TracedVariant
    from mining.generalization import Generalization, Generalizer, Missing, Traced
    from profiles.cost import CutCosts

Row = dict[str, Any]
TABLES = ("variants", "generalizations", "instances", "missing_instances")


def main(argv: Sequence[str] | None = None) -> None:
    """Serve the sandbox that started this process; exits with a usage message where there is none."""
    parser = argparse.ArgumentParser(
        prog="python -m tasks.generalize_worker", description=(__doc__ or "").split("\n")[0]
    )
    parser.parse_args(argv)
    if FDS_NAME not in os.environ:
        parser.error(f"{FDS_NAME} is not set: this is the child of a sandbox; start `passnet generalize` instead")
    pipes = take_pipes()
    prepare()
    serve(pipes, answer)


def prepare() -> None:
    """Import what every request needs and freeze it, so that collecting garbage between models stays cheap."""
    import importlib

    import torch

    torch.set_num_threads(1)
    for name in (
        "extract.timm_source",
        "extract.variants",
        "mining.generalization",
        "profiles.cost",
        "storage.records",
    ):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def answer(header: Header, payload: bytes) -> tuple[Header, bytes]:
    """Answer one request; whatever the model in it raises becomes a failure in the reply."""
    from tasks.trace_worker import explain, restore_defaults, take_config

    started = time.perf_counter()
    try:
        take_config(header)
        reply, tables = {}, _generalize(header, payload)
    except (SystemExit, KeyboardInterrupt, Exception) as error:  # foreign code
        reply, tables = {"failure": explain(error)}, b""
    restore_defaults()
    gc.collect()
    return {**reply, "seconds": time.perf_counter() - started}, tables


def _generalize(header: Header, payload: bytes) -> bytes:
    from mining.generalization import Generalizer
    from storage.instance_records import generalization_row
    from storage.records import rows_to_table, tables_to_bytes

    traced, absent, variants = _variants(header, payload)
    _check_base(header, traced)
    generalizer = Generalizer(traced, absent, _has_refusals(variants))
    rows: dict[str, list[Row]] = defaultdict(list, variants=variants)
    costs: dict[int, CutCosts] = {}
    for start, end, single_op_sha256 in header["ranges"]:
        found = _generalized(generalizer, start, end, single_op_sha256)
        instances, missing = _rows_of(found, traced, costs, header["max_bytes"])
        rows["instances"] += instances
        rows["missing_instances"] += missing
        counts = len(instances), len(missing)
        row = generalization_row(found, header["model_id"], header["signature_sha256"], *counts)
        rows["generalizations"].append(row)
    return tables_to_bytes({name: rows_to_table(name, rows[name]) for name in TABLES})


def _generalized(generalizer: Generalizer, start: int, end: int, single_op_sha256: str | None) -> Generalization:
    """Return what becomes of a range; a single op, which is mined without asking whether it is a cut, may be none."""
    from extract.cut import CutError

    if single_op_sha256 is None:
        return generalizer.generalize(start, end)
    try:
        return generalizer.generalize(start, end, single_op_sha256)
    except CutError as error:
        return generalizer.refuse(start, single_op_sha256, error)


def _variants(header: Header, payload: bytes) -> tuple[list[Traced], list[Missing], list[Row]]:
    """Return the variants of a model (or of a graph without one), those that are missing, and the rows of both."""
    from extract.call_forms import form_calls
    from extract.hashing import hash_graph
    from mining.generalization import Missing, Traced
    from mining.instance import Variant
    from storage.instance_records import sizes_row

    present, missing = _traces(header, payload)
    late = [entry for entry in missing if entry.reason == Reason.TIMEOUT]
    if late:  # half of the variants would be kept for good; the next run may have more time
        raise SubjectError(header["model_id"], Reason.TIMEOUT, late[0].detail)
    traced: list[Traced] = []
    rows: list[Row] = []
    for variant in present:
        calls = form_calls(variant.graph.nodes)
        signature = hash_graph(variant.graph, calls).signature_sha256
        own = Variant(header["model_id"], signature, variant.shape_config, variant.dtype, variant.sizes)
        traced.append(Traced(own, variant.graph, variant.is_prefix, calls, variant.refusal))
        row = {"signature_sha256": signature, "sizes": sizes_row(variant.sizes), "shape_table": variant.table}
        row |= {"is_rebuilt": variant.is_rebuilt, "has_same_ops": variant.has_same_ops}
        row |= {"num_ops": len(variant.graph.nodes), "detail": variant.refusal}
        rows.append({**_key(header, variant), **row})
    absent: list[Missing] = []
    for entry in missing:
        detail = " ".join(entry.detail.split())[:300]
        absent.append(Missing(entry.shape_config, entry.dtype, str(entry.reason), detail))
        told = {"num_ops": _num_asked(header), "reason": str(entry.reason), "detail": detail}
        rows.append({**_key(header, entry), **told})
    return traced, absent, rows


def _has_refusals(variants: Sequence[Row]) -> bool:
    """Tell whether a model refused some row: another stands for it, or none does."""
    from extract.shape_configs import BATCH_ONLY

    own = variants[0].get("shape_table")
    stand_ins = own != BATCH_ONLY and any(row.get("shape_table") == BATCH_ONLY for row in variants)
    return stand_ins or any(row.get("reason") == Reason.SHAPE_REFUSED for row in variants)


def _traces(header: Header, payload: bytes) -> tuple[Sequence[TracedVariant], Sequence[MissingVariant]]:
    if header.get("recorded"):
        from extract.recorded_variants import recorded_variants
        from storage.records import graph_from_payload

        return recorded_variants(header["model_id"], graph_from_payload(payload), max_seconds=header["max_seconds"])
    from extract.variants import trace_variants

    bounds = {"max_params": header["max_params"], "max_seconds": header["max_seconds"]}
    found = trace_variants(header["model_id"], **bounds, num_ops=_num_asked(header))
    return found.variants, found.missing


def _num_asked(header: Header) -> int:
    """Return how many of the graph's first ops the ranges lie in."""
    return max(end for _, end, _ in header["ranges"])


def _key(header: Header, entry: Any) -> Row:
    return {"model_id": header["model_id"], "shape_config": entry.shape_config, "dtype": entry.dtype}


def _check_base(header: Header, traced: Sequence[Traced]) -> None:
    """Raise `SubjectError` where the model is not traced to the stored graph any more."""
    found = [entry.variant.signature_sha256 for entry in traced[:1]]
    if found != [header["signature_sha256"]]:
        detail = f"the model's trace is graph {found[0] if found else 'none'}, not the stored one: refresh it first"
        raise SubjectError(header["model_id"], Reason.TRACE_CHANGED, detail)


def _rows_of(
    found: Generalization, traced: Sequence[Traced], costs: dict[int, CutCosts], max_bytes: int
) -> tuple[list[Row], list[Row]]:
    """Return the rows of a subgraph's instances, those that move more than `max_bytes` among the missing ones."""
    from mining.generalization import Missing
    from profiles.cost import CutCosts
    from storage.instance_records import instance_row, missing_row

    missing = list(found.missing)
    instances: list[Row] = []
    for made in found.instances:
        if made.place not in costs:
            costs[made.place] = CutCosts(traced[made.place].graph)
        instance = made.instance
        cost = costs[made.place].cost(instance.start, instance.end, made.cut.outline)
        if cost.num_bytes is not None and cost.num_bytes > max_bytes:
            detail = f"moves {cost.num_bytes} bytes, {max_bytes} at most"
            missing.append(Missing(instance.shape_config, instance.dtype, "over_max_bytes", detail))
        else:
            instances.append(instance_row(made, cost.num_bytes, cost.num_flop))
    return instances, [missing_row(found.subgraph_sha256, entry) for entry in missing]


if __name__ == "__main__":
    main()
