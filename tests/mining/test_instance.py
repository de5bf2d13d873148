"""Instances of real models: the recipe renders the variant's cut, hash for hash; what is no instance says why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.cut import CutError, Cutter
from extract.formed_cut import FormedCut, FormedCutter, form_graph
from extract.graph import (
    Arg,
    ArgList,
    ArgSlice,
    Graph,
    Node,
    OpRef,
    OutputMeta,
    TensorMeta,
    TensorRef,
    TorchConstant,
    map_refs,
)
from extract.hashing import hash_graph
from extract.shape_configs import DTYPES
from mining.alignment import align
from mining.instance import Instance, NoInstance, Override, Variant, instance_sha256, make_instance, render
from mining.instance_json import overrides_from_json, overrides_json
from tests.mining.traced_variants import traced

X = TensorRef(0)
VARIANT = Variant("timm/model", "0" * 64, 1, "float32", {"batch": 2})


def instances_of(base: Graph, variant: Graph, num_ops: int) -> Iterator[tuple[Graph, Graph, Instance]]:
    """Yield (base's cut, variant's cut, instance) of every range of a length that both can cut."""
    assert base.op_names == variant.op_names
    bases, variants = FormedCutter(base), FormedCutter(variant)
    whole, whole_variant = Cutter(base), Cutter(variant)
    for start in range(len(base.nodes) - num_ops + 1):
        end = start + num_ops
        try:
            cut = whole.cut(start, end).graph
        except CutError:
            with pytest.raises(CutError):
                bases.cut(start, end)
            continue
        instance = make_instance(bases.cut(start, end), variants.cut(start, end), VARIANT)
        yield cut, whole_variant.cut(start, end).graph, instance


@pytest.mark.parametrize("num_ops", [4, 9, 20])
@pytest.mark.parametrize(
    ("model_id", "batch_size", "image_size", "dtype"),
    [
        ("timm/resnet18", 2, None, "float32"),
        ("timm/resnet18", 3, 160, "bfloat16"),
        ("timm/test_convnext", 1, 96, "float16"),
        ("timm/test_vit", 4, None, "float16"),
        ("timm/test_efficientnet", 2, 192, "float32"),
        ("timm/xcit_nano_12_p8_224", 2, None, "bfloat16"),
        ("transformers/bert/base", 2, None, "float16"),
        ("transformers/llama/base", 2, None, "bfloat16"),
    ],
)
def test_a_recipe_renders_the_variants_cut(
    model_id: str, batch_size: int, image_size: int | None, dtype: str, num_ops: int
) -> None:
    base, variant = traced(model_id), traced(model_id, batch_size, image_size, dtype)
    found = list(instances_of(base, variant, num_ops))
    assert len(found) > len(base.nodes) / 3
    for cut, expected, instance in found:
        rendered = render(cut, instance)
        assert hash_graph(rendered) == hash_graph(expected)
        assert instance.subgraph_sha256 == hash_graph(cut).graph_sha256
        assert instance.instance_sha256 == instance_sha256(hash_graph(expected).signature_sha256)
        assert [(meta.kind, meta.shape, meta.stride, meta.dtype) for meta in rendered.tensors] == [
            (meta.kind, meta.shape, meta.stride, meta.dtype) for meta in expected.tensors
        ]
        assert overrides_from_json(overrides_json(instance.overrides)) == instance.overrides


def test_overrides_hold_only_what_differs() -> None:
    found = list(instances_of(traced("timm/test_vit"), traced("timm/test_vit", 4), 6))
    assert any(instance.overrides for _, _, instance in found)
    for cut, expected, instance in found:
        for override in instance.overrides:
            others = tuple(other for other in instance.overrides if other is not override)
            with pytest.raises(ValueError, match="damaged"):
                render(cut, replace(instance, overrides=others))
        if hash_graph(cut).graph_sha256 == hash_graph(expected).graph_sha256:
            assert not instance.overrides


def test_the_base_itself_is_an_instance_without_overrides_that_renders_as_it_is() -> None:
    base = traced("timm/test_vit")
    for cut, _, instance in instances_of(base, base, 5):
        assert instance.overrides == ()
        assert render(cut, instance) is cut


def test_instances_of_dtypes_are_others_of_one_subgraph_and_structure() -> None:
    base = traced("timm/test_vit")
    by_dtype = [next(instances_of(base, traced("timm/test_vit", dtype=dtype), 8))[2] for dtype in DTYPES]
    assert len({instance.instance_sha256 for instance in by_dtype}) == 3
    assert len({instance.structure_sha256 for instance in by_dtype}) == 1
    assert {instance.operands[0].dtype for instance in by_dtype} == set(DTYPES)


def test_a_formed_cut_is_the_cut() -> None:
    graph = traced("timm/test_vit")
    formed = FormedCutter(graph).cut(3, 12)
    piece = Cutter(graph).cut(3, 12).graph
    assert (formed.tensors, formed.outputs, formed.hashes) == (piece.tensors, piece.outputs, hash_graph(piece))
    again = form_graph(piece)
    assert (again.calls, again.tensors, again.outputs, again.hashes) == (
        formed.calls,
        formed.tensors,
        formed.outputs,
        formed.hashes,
    )


def test_ranges_of_a_variant_with_other_ops_are_found_by_alignment() -> None:
    base = traced("timm/test_vit")
    cast = (OutputMeta((), (), (), "float32"),)
    shifted = Graph(
        (Node("neg", "torch.neg", (X,), (), cast), *(_shifted(node) for node in base.nodes)),
        base.tensors,
        tuple(OpRef(ref.index + 1, ref.path) if isinstance(ref, OpRef) else ref for ref in base.outputs),
    )
    place = align(base.op_names, shifted.op_names).image(5, 14)
    assert place == (6, 15)
    instance = make_instance(FormedCutter(base).cut(5, 14), FormedCutter(shifted).cut(*place), VARIANT)
    assert (instance.base_start, instance.start, instance.end) == (5, 6, 15)
    assert render(Cutter(base).cut(5, 14).graph, instance) == Cutter(base).cut(5, 14).graph


def _shifted(node: Node) -> Node:
    def shift(ref: TensorRef | OpRef) -> Arg:
        return OpRef(ref.index + 1, ref.path) if isinstance(ref, OpRef) else ref

    kwargs = tuple((name, map_refs(value, shift)) for name, value in node.kwargs)
    return Node(node.op, node.target, tuple(map_refs(arg, shift) for arg in node.args), kwargs, node.outputs)


def program(*nodes: Node, outputs: tuple[int, ...] | None = None) -> Graph:
    meta = (OutputMeta((), (4,), (1,), "float32"),)
    tensors = tuple(TensorMeta(name, "input", name, (4,), (1,), "float32") for name in ("x", "y"))
    made = tuple(replace(node, outputs=meta) for node in nodes)
    return Graph(made, tensors, tuple(map(OpRef, outputs if outputs is not None else (len(nodes) - 1,))))


def cut_whole(graph: Graph) -> FormedCut:
    return FormedCutter(graph).cut(0, len(graph.nodes))


ADD = Node("add", "torch.add", (X, TensorRef(1)))
VIEW = Node("view", "torch.Tensor.view", (OpRef(0), 2, 2))


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        (program(ADD), "ops_changed"),
        (program(ADD, replace(VIEW, op="reshape")), "ops_changed"),
        (program(ADD, replace(VIEW, target="torch.view")), "ops_changed"),
        (program(ADD, replace(VIEW, args=(OpRef(0), 4))), "ops_changed"),
        (program(replace(ADD, kwargs=(("alpha", 2),)), VIEW), "ops_changed"),
        (program(replace(ADD, args=(X, 2)), VIEW), "edges_changed"),
        (program(replace(ADD, args=(X, X)), VIEW), "ops_changed"),  # one operand instead of two
        (program(ADD, replace(VIEW, args=(X, 2, 2))), "edges_changed"),
        (program(replace(ADD, args=(TensorRef(1), X)), replace(VIEW, args=(X, 2, 2))), "edges_changed"),
        (program(ADD, VIEW, outputs=(0,)), "edges_changed"),
        (program(ADD, VIEW, outputs=(0, 1)), "ops_changed"),
    ],
)
def test_what_differs_in_more_than_literals_is_no_instance(variant: Graph, reason: str) -> None:
    with pytest.raises(NoInstance) as refused:
        make_instance(cut_whole(program(ADD, VIEW)), cut_whole(variant), VARIANT)
    assert refused.value.reason == reason


def test_operands_in_another_order_of_use_are_the_same_program() -> None:
    swapped = program(replace(ADD, args=(TensorRef(1), X)), VIEW)
    cut, other = FormedCutter(program(ADD, VIEW)).cut(0, 2), FormedCutter(swapped).cut(0, 2)
    assert make_instance(cut, other, VARIANT).overrides == ()


CAT = Node("cat", "torch.cat", (ArgList((X, TensorRef(1))), 0))
INDEX = Node("getitem", "operator.getitem", (OpRef(0), (ArgSlice(None, 4, None), None, X)))
SPLIT = Node("split_with_sizes", "torch.split", (OpRef(0), ArgList((2, 2))), (("dim", 0),))


def test_overrides_reach_slices_keyword_arguments_and_sequences_of_another_length() -> None:
    changed_index = replace(INDEX, args=(OpRef(0), (ArgSlice(1, 7, None), None, X)))
    changed_split = replace(SPLIT, args=(OpRef(0), ArgList((1, 1, 2))), kwargs=(("dim", 1),))
    base = program(replace(CAT, args=(ArgList((X, TensorRef(1))), 0)), INDEX, SPLIT)
    variant = program(replace(CAT, args=(ArgList((X, TensorRef(1))), 1)), changed_index, changed_split)
    instance = make_instance(form_graph(base), form_graph(variant), VARIANT)
    assert instance.overrides == (
        Override(0, (1,), 1),
        Override(1, (1, 0, 0), 1),
        Override(1, (1, 0, 1), 7),
        Override(2, (1,), ArgList((1, 1, 2))),
        Override(2, ("dim",), 1),
    )
    assert hash_graph(render(base, instance)) == hash_graph(variant)
    assert json.loads(overrides_json(instance.overrides))[1] == [1, [1, 0, 0], 1]


def test_a_list_of_other_operands_is_an_edge() -> None:
    shorter = program(replace(CAT, args=(ArgList((X,)), 0)), INDEX)
    with pytest.raises(NoInstance, match="edges_changed"):
        make_instance(form_graph(program(CAT, INDEX)), form_graph(shorter), VARIANT)


LITERALS = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.complex_numbers(allow_nan=False),
        st.just(...), st.sampled_from([TorchConstant("dtype", "float16"), TorchConstant("device", "cpu")]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(tuple),
        st.lists(inner, max_size=3).map(lambda parts: ArgList(tuple(parts))),
        st.tuples(inner, inner, inner).map(lambda bounds: ArgSlice(*bounds)),
    ),
    max_leaves=8,
)  # fmt: skip


@given(LITERALS, LITERALS, LITERALS)
def test_any_literals_become_overrides_and_come_back_through_json(old: Arg, new: Arg, named: Arg) -> None:
    base = program(Node("op", "torch.op", (X, old), (("named", old),)))
    variant = program(Node("op", "torch.op", (X, new), (("named", named),)))
    instance = make_instance(form_graph(base), form_graph(variant), VARIANT)
    read = overrides_from_json(overrides_json(instance.overrides))
    assert repr(read) == repr(instance.overrides)
    rendered = render(base, replace(instance, overrides=read))
    assert repr([(node.args, node.kwargs) for node in rendered.nodes]) == repr(
        [(node.args, node.kwargs) for node in variant.nodes]
    )


@pytest.mark.parametrize("text", ["[[0]]", "[1]", '[[0,[1],{"what":1}]]', "{"])
def test_a_damaged_text_of_overrides_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        overrides_from_json(text)


@pytest.mark.parametrize("path", [(), (0,), (2,), ("dim",), (1, 0)])
def test_a_path_that_leads_to_no_literal_is_refused(path: tuple[str | int, ...]) -> None:
    base = program(ADD, VIEW)
    instance = make_instance(form_graph(base), form_graph(program(ADD, VIEW)), VARIANT)
    with pytest.raises(ValueError, match="no argument"):
        render(base, replace(instance, overrides=(Override(0, path, 1),)))


def test_another_subgraph_is_refused_as_base() -> None:
    instance = make_instance(form_graph(program(ADD, VIEW)), form_graph(program(ADD, VIEW)), VARIANT)
    with pytest.raises(ValueError, match="not subgraph"):
        render(program(ADD), instance)


def test_values_outlive_another_dtype_but_not_another_shape() -> None:
    known = TensorMeta(
        "x", "constant", "x", (4,), (1,), "float32", 0.0, 1.0, -1.0, 1.0, (-1.0, 1.0, 0.0, 0.0), "values"
    )
    base = program(ADD)
    base = replace(base, tensors=(known, base.tensors[1]))
    half = replace(base, tensors=(replace(known, dtype="float16"), base.tensors[1]))
    longer = replace(base, tensors=(replace(known, shape=(5,)), base.tensors[1]))
    kept = render(base, make_instance(form_graph(base), form_graph(half), VARIANT)).tensors[0]
    dropped = render(base, make_instance(form_graph(base), form_graph(longer), VARIANT)).tensors[0]
    assert (kept.values, kept.dtype) == (known.values, "float16")
    assert (dropped.values, dropped.mean, dropped.stats_source, dropped.shape) == (None, None, "none", (5,))
