"""A trace that ends early gives the first ops of the whole trace: the same calls, operands, and cuts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from extract.cut import CutError
from extract.formed_cut import FormedCutter
from extract.graph import Graph
from extract.program_prefix import OpsDiffer, Prefix, find_prefix
from extract.tracer import Recording, trace_module
from extract.variants import trace_variants
from tests.extract.conftest import Program


def body(module: Any, x: torch.Tensor) -> Any:
    """Views, writes in place, a call that nobody uses, results used late."""
    early = x.mul(2)
    x.sin()  # nobody uses it
    y = early.view(-1)
    y.add_(1)
    for _ in range(4):
        y = torch.relu(y + module.linear.bias.sum())
        y.cos()  # nobody uses it
    first, _ = y.chunk(2)
    return first.exp(), early


def record(size: int = 6, prefix: Prefix | None = None) -> Recording:
    x = torch.empty(4, size, device="meta")
    module = Program(body).to("meta")
    return trace_module(module, (x,), subject="test", prefix=prefix)


def hashes(graph: Graph, end: int) -> dict[tuple[int, int], str]:
    cutter, found = FormedCutter(graph), {}
    for start in range(end):
        for stop in range(start + 1, end + 1):
            try:
                found[start, stop] = cutter.cut(start, stop).hashes.signature_sha256
            except CutError as error:
                found[start, stop] = str(error)
    return found


@pytest.mark.parametrize("num_ops", range(1, 10))
@pytest.mark.parametrize("size", [6, 8])
def test_a_prefix_has_the_nodes_operands_and_cuts_of_the_whole(num_ops: int, size: int) -> None:
    own, whole = record(), record(size)
    prefix = find_prefix(own.calls, own.results, num_ops)
    assert prefix is not None
    begun = record(size, prefix).graph
    assert begun.nodes == whole.graph.nodes[:num_ops]
    assert begun.tensors == whole.graph.tensors[: len(begun.tensors)]
    assert hashes(begun, num_ops) == hashes(whole.graph, num_ops)


def test_most_of_a_program_is_traced_whole_and_other_calls_are_noticed() -> None:
    own = record()
    assert find_prefix(own.calls, own.results, len(own.graph.nodes)) is None
    prefix = find_prefix(own.calls, own.results, 3)
    assert prefix is not None
    other = Prefix((*prefix.op_names[:-1], "other"), prefix.results)
    with pytest.raises(OpsDiffer):
        record(prefix=other)
    with pytest.raises(OpsDiffer):
        record(prefix=Prefix(prefix.op_names * 20, prefix.results))


@pytest.mark.parametrize("model_id", ["timm/test_vit", "timm/test_resnet"])
def test_variants_that_end_early_are_those_of_the_whole_program(model_id: str) -> None:
    whole = trace_variants(model_id, configs=(0, 2, 3), dtypes=("float32", "bfloat16"))
    begun = trace_variants(model_id, configs=(0, 2, 3), dtypes=("float32", "bfloat16"), num_ops=20)
    assert len(whole.variants) == len(begun.variants) == 8
    assert [variant.is_prefix for variant in begun.variants] == [False, *[True] * 7]
    for one, other in zip(whole.variants, begun.variants, strict=True):
        assert (one.shape_config, one.dtype, one.sizes, one.table) == (
            other.shape_config, other.dtype, other.sizes, other.table,
        )  # fmt: skip
        assert other.has_same_ops
        assert other.graph.nodes[:20] == one.graph.nodes[:20]
        if other.is_prefix:
            assert len(other.graph.nodes) == 20
            assert hashes(other.graph, 20) == hashes(one.graph, 20)
