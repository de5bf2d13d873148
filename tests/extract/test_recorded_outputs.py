"""Outcomes recorded anew are those that the trace recorded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from extract.cut import CutError, Cutter
from extract.graph import Graph
from extract.model_tracing import trace_model
from extract.recorded_outputs import record_outputs


def forgotten(graph: Graph) -> Graph:
    return replace(graph, nodes=tuple(replace(node, outputs=()) for node in graph.nodes))


@pytest.mark.parametrize("model_id", ["timm/test_vit", "timm/swin_tiny_patch4_window7_224", "transformers/bert/base"])
def test_a_graph_and_its_cuts_get_back_the_outputs_that_they_had(model_id: str) -> None:
    graph = trace_model(model_id).graph
    assert record_outputs(forgotten(graph)) == graph
    cutter, num_cuts = Cutter(graph), 0
    for start in range(0, len(graph.nodes) - 7, 11):
        try:
            piece = cutter.cut(start, start + 7).graph
        except CutError:
            continue
        num_cuts += 1
        assert record_outputs(forgotten(piece)) == piece
    assert num_cuts > 5


def test_a_wrong_shape_raises_what_torch_raises() -> None:
    graph = trace_model("timm/test_vit").graph
    wrong = replace(graph, tensors=tuple(replace(meta, shape=(3,), stride=(1,)) for meta in graph.tensors))
    with pytest.raises(RuntimeError):
        record_outputs(wrong)
