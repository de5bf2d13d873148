"""Subgraphs at sizes that no variant has: computed from expressions, equal to the model's own trace there."""

from __future__ import annotations

import pytest

from extract.cut import CutError, Cutter
from extract.graph import Graph
from extract.hashing import signature_sha256
from extract.shape_configs import CONFIGS, HELD_OUT, Sizes
from extract.variants import trace_variants
from mining.expression import ExpressionError
from mining.generalization import Generalizer, Traced
from mining.instance import Variant
from mining.instantiation import instantiate
from mining.symbolic import SymbolicSubgraph
from storage.instance_records import generalization_row, symbolic_from_row
from tests.mining.traced_variants import traced


def variants_of(model_id: str) -> list[Traced]:
    found = trace_variants(model_id, CONFIGS, ("float32",)).variants
    return [
        Traced(Variant(model_id, signature_sha256(one.graph), one.shape_config, one.dtype, one.sizes), one.graph)
        for one in found
    ]


def cut(graph: Graph, start: int, end: int) -> Graph | None:
    try:
        return Cutter(graph).cut(start, end).graph
    except CutError:
        return None


@pytest.mark.parametrize(
    ("model_id", "batch_size", "image_size", "least"),
    [
        ("timm/resnet18", 9, 160, 6),
        ("timm/test_convnext", 10, 96, 6),
        ("timm/legacy_seresnet18", 1, 225, 0),  # between the sizes seen, rounding is not told
        ("timm/tf_efficientnet_b0", 2, 226, 0),  # padding follows from remainders
    ],
)
def test_any_size_that_the_constraints_allow_is_what_the_model_is_traced_to_there(
    model_id: str, batch_size: int, image_size: int, least: int
) -> None:
    entries = variants_of(model_id)
    assert {entry.variant.shape_config for entry in entries} == {*CONFIGS, *HELD_OUT}
    base, generalizer = entries[0].graph, Generalizer(entries, [])
    sizes: Sizes = {"batch": batch_size, "height": image_size, "width": image_size}
    new = traced(model_id, batch_size, image_size)
    num_equal = 0
    for start in range(0, len(base.nodes) - 6, 5):
        own = cut(base, start, start + 6)
        if own is None:
            continue
        found = generalizer.generalize(start, start + 6)
        if not isinstance(found.symbolic, SymbolicSubgraph):
            continue
        row = generalization_row(found, model_id, "0" * 64, 10, 0)
        expressions, constraints = symbolic_from_row(row)
        assert expressions == dict(found.symbolic.expressions)
        try:
            made = instantiate(own, expressions, constraints, sizes)
        except ExpressionError:
            continue  # these sizes are not promised
        expected = cut(new, start, start + 6)
        assert expected is not None
        assert signature_sha256(made) == signature_sha256(expected)
        num_equal += 1
    assert num_equal >= least


@pytest.mark.parametrize(("model_id", "num_ops"), [("timm/test_vit", 16), ("timm/test_convnext", 4)])
def test_expressions_give_every_cut_that_was_seen(model_id: str, num_ops: int) -> None:
    """Strides of dimensions of size one count too where an operand is not row by row."""
    entries = variants_of(model_id)
    generalizer, num_equal = Generalizer(entries, []), 0
    for start in range(0, len(generalizer.base.nodes) - num_ops, 3):
        own = cut(generalizer.base, start, start + num_ops)
        found = generalizer.generalize(start, start + num_ops).symbolic if own is not None else None
        if own is None or not isinstance(found, SymbolicSubgraph):
            continue
        for entry in entries:
            made = instantiate(own, found.expressions, found.constraints, entry.variant.sizes)
            expected = cut(entry.graph, start, start + num_ops)
            assert expected is not None
            assert signature_sha256(made) == signature_sha256(expected)
            num_equal += 1
    assert num_equal >= 12


def test_what_pads_is_promised_for_multiples_of_the_sizes_seen_alone() -> None:
    generalizer = Generalizer(variants_of("timm/tf_efficientnet_b0"), [])
    found = generalizer.generalize(4, 12).symbolic
    assert isinstance(found, SymbolicSubgraph)
    assert {"height % 112 == 0", "width % 112 == 0"} <= {constraint.text for constraint in found.constraints}


def test_sizes_for_which_nothing_is_promised_are_refused() -> None:
    generalizer = Generalizer(variants_of("timm/test_convnext"), [])
    found = generalizer.generalize(0, 4)
    assert isinstance(found.symbolic, SymbolicSubgraph)
    own = cut(generalizer.base, 0, 4)
    assert own is not None
    with pytest.raises(ExpressionError, match="height"):
        instantiate(own, found.symbolic.expressions, found.symbolic.constraints, {"batch": 2, "width": 160})
