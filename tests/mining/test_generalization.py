"""What becomes of a model's subgraphs at other sizes and dtypes: instances, or a reason for each that lacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from extract.cut import Cutter
from extract.graph import Graph, Node, OpRef, OutputMeta, TensorMeta, TensorRef
from extract.hashing import signature_sha256
from extract.shape_configs import DTYPES, Sizes
from mining.generalization import (
    DTYPE_INVARIANT,
    DUPLICATE_CONFIG,
    OPS_CHANGED,
    SHAPE_INVARIANT,
    Generalizer,
    Missing,
    Traced,
)
from mining.instance import Variant, instance_sha256, render
from mining.symbolic import SymbolicSubgraph

SIZES: tuple[Sizes, ...] = tuple(
    {"batch": batch, "sequence": sequence}
    for batch, sequence in [
        (1, 32), (2, 32), (1, 64), (3, 48), (2, 128), (4, 16), (5, 40), (1, 256), (8, 64), (3, 96), (6, 56), (7, 160),
    ]
)  # fmt: skip
X, W, T = TensorRef(0), TensorRef(1), TensorRef(2)


def program(sizes: Sizes, dtype: str = "float32") -> Graph:
    """Tokens through a linear, a view whose sizes are literals, and a sum; beside them the square of a weight."""
    batch, sequence = sizes["batch"], sizes["sequence"]
    made = (OutputMeta((), (batch, sequence, 8), (sequence * 8, 8, 1), dtype),)
    viewed = (OutputMeta((), (batch, sequence, 2, 4), (sequence * 8, 8, 4, 1), dtype),)
    squared = (OutputMeta((), (8, 8), (8, 1), dtype),)
    nodes = (
        Node("linear", "torch.nn.functional.linear", (X, W), (), made),
        Node("view", "torch.Tensor.view", (OpRef(0), batch, sequence, 2, 4), (), viewed),
        Node("relu", "torch.relu", (OpRef(1),), (), viewed),
        Node("mul", "torch.mul", (W, W), (), squared),
        Node("relu", "torch.relu", (OpRef(3),), (), squared),
    )
    tensors = (
        TensorMeta("x", "input", "x", (batch, sequence, 8), (sequence * 8, 8, 1), dtype),
        TensorMeta("w", "parameter", "w", (8, 8), (8, 1), dtype),
    )
    return Graph(nodes, tensors, (OpRef(2), OpRef(4)))


def traced(graphs: Sequence[tuple[int, str, Graph]]) -> list[Traced]:
    return [
        Traced(Variant("user/x", signature_sha256(graph), config, dtype, SIZES[config]), graph)
        for config, dtype, graph in graphs
    ]


def variants(dtypes: Sequence[str] = DTYPES) -> list[tuple[int, str, Graph]]:
    held_out = [(config, "float32", program(SIZES[config])) for config in (10, 11)]
    return [(config, dtype, program(SIZES[config], dtype)) for dtype in dtypes for config in range(10)] + held_out


def test_every_shape_and_dtype_is_an_instance_that_renders_to_the_variants_cut() -> None:
    entries = variants()
    found = Generalizer(traced(entries), []).generalize(0, 3)
    assert len(found.instances) == 30
    assert found.missing == ()
    base = Cutter(program(SIZES[0])).cut(0, 3).graph
    graphs = {(config, dtype): graph for config, dtype, graph in entries}
    for made in found.instances:
        instance = made.instance
        cut = Cutter(graphs[instance.shape_config, instance.dtype]).cut(0, 3).graph
        assert instance.instance_sha256 == instance_sha256(signature_sha256(cut))
        assert signature_sha256(render(base, instance)) == signature_sha256(cut)


def test_what_varies_is_an_expression_checked_on_held_out_sizes() -> None:
    found = Generalizer(traced(variants()), []).generalize(0, 3)
    assert isinstance(found.symbolic, SymbolicSubgraph)
    assert found.symbolic.num_samples == 10
    assert found.symbolic.num_held_out == 2
    texts = {(place.kind, *place.path): expression.text for place, expression in found.symbolic.expressions.items()}
    assert texts["literal", 1] == "batch"
    assert texts["literal", 2] == "sequence"
    assert found.axes == ("batch", "sequence")


def test_a_literal_that_no_expression_gives_on_held_out_sizes_leaves_the_subgraph_without() -> None:
    entries = [
        (config, dtype, replace_view(graph, 7 if config == 11 else 2))
        for config, dtype, graph in variants(("float32",))
    ]
    found = Generalizer(traced(entries), []).generalize(0, 3)
    assert len(found.instances) == 10
    assert not isinstance(found.symbolic, SymbolicSubgraph)


def test_what_depends_on_no_data_input_has_its_own_shape_alone() -> None:
    found = Generalizer(traced(variants()), []).generalize(3, 5)
    assert not found.depends_on_input
    assert {made.instance.dtype for made in found.instances} == set(DTYPES)
    assert {made.instance.shape_config for made in found.instances} == {0}
    assert {entry.reason for entry in found.missing} == {SHAPE_INVARIANT}
    assert len(found.missing) == 27
    assert found.symbolic is None


def test_missing_variants_and_equal_ones_are_missing_instances_with_their_reasons() -> None:
    entries = [entry for entry in variants(("float32",)) if entry[0] not in (3, 4)]
    entries.append((4, "float32", program(SIZES[2])))
    absent = [Missing(3, "float32", "shape_refused", "too wide"), Missing(10, "float32", "timeout", "held out")]
    found = Generalizer(traced(entries), absent).generalize(0, 3)
    reasons = {entry.shape_config: entry.reason for entry in found.missing}
    assert reasons == {3: "shape_refused", 4: DUPLICATE_CONFIG}
    assert len(found.instances) == 8


def test_a_program_that_is_the_same_in_another_dtype_is_one_instance_of_each_shape() -> None:
    same = [(config, dtype, program(sizes)) for config, sizes in enumerate(SIZES[:4]) for dtype in DTYPES]
    found = Generalizer(traced(same), []).generalize(0, 3)
    assert [(made.instance.shape_config, made.instance.dtype) for made in found.instances] == [
        (config, "float32") for config in range(4)
    ]
    assert {(entry.reason, entry.dtype) for entry in found.missing} == {
        (DTYPE_INVARIANT, "float16"),
        (DTYPE_INVARIANT, "bfloat16"),
    }
    assert found.missing[0].detail == "equal to shape config 0 in float32"


def test_a_variant_with_other_ops_gives_what_lies_beside_them() -> None:
    config, dtype, graph = 1, "float32", program(SIZES[1])
    extra = Node("tanh", "torch.tanh", (OpRef(1),), (), graph.nodes[1].outputs)
    relu = replace(graph.nodes[2], args=(OpRef(2),))
    square, last = graph.nodes[3], replace(graph.nodes[4], args=(OpRef(4),))
    changed = Graph((*graph.nodes[:2], extra, relu, square, last), graph.tensors, (OpRef(3), OpRef(5)))
    generalizer = Generalizer(traced([(0, "float32", program(SIZES[0])), (config, dtype, changed)]), [])
    beside = generalizer.generalize(0, 2)
    assert [made.instance.shape_config for made in beside.instances] == [0, 1]
    across = generalizer.generalize(0, 3)
    assert [(entry.shape_config, entry.reason) for entry in across.missing] == [(1, OPS_CHANGED)]


def test_without_the_models_own_sizes_there_is_no_base() -> None:
    with pytest.raises(ValueError, match="own sizes"):
        Generalizer(traced([(1, "float32", program(SIZES[1]))]), [])


def replace_view(graph: Graph, last: int) -> Graph:
    nodes = list(graph.nodes)
    nodes[1] = replace(nodes[1], args=(*nodes[1].args[:-2], last, nodes[1].args[-1]))
    return replace(graph, nodes=tuple(nodes))
