from __future__ import annotations

from functools import lru_cache

import pytest
import torch

from extract.dtype_rules import find_refused_call
from extract.failure import Reason, SubjectError
from extract.graph import Graph
from extract.hashing import signature_sha256, structure_sha256
from extract.model_tracing import trace_model, trace_prepared
from extract.shape_configs import BATCH_ONLY, CONFIGS, DTYPES, HELD_OUT, Resize, Sizes
from extract.sources import Preparation, prepare
from extract.variants import Variant, VariantTraces, trace_variants, with_dtype

CONVOLUTIONS = "timm/test_resnet"
FIXED_SIZE = "timm/test_vit"
CACHES_BY_SIZE = ["timm/levit_128s", "transformers/speech_to_text"]
TEXT = "transformers/bert"


@lru_cache
def traces_of(model_id: str) -> VariantTraces:
    return trace_variants(model_id)


def by_key(traces: VariantTraces) -> dict[tuple[int, str], Variant]:
    return {(variant.shape_config, variant.dtype): variant for variant in traces.variants}


def variant_sizes(traces: VariantTraces) -> dict[int, Sizes]:
    return {variant.shape_config: variant.sizes for variant in traces.variants}


def trace_fresh(model_id: str, variant: Variant, own: Sizes) -> Graph:
    """Trace one variant on a module that has never run."""
    resize = Resize(own, variant.sizes) if variant.is_rebuilt else None
    prepared = prepare(model_id, Preparation(resize=resize))
    if resize is None and variant.sizes != own:
        assert prepared.with_sizes is not None
        prepared = prepared.with_sizes(variant.sizes)
    dtype = getattr(torch, variant.dtype)
    prepared.module.to(dtype)
    return trace_prepared(with_dtype(prepared, dtype)).graph


@pytest.mark.parametrize("model_id", [CONVOLUTIONS, FIXED_SIZE, TEXT])
def test_variant_0_in_float32_is_the_graph_of_trace_model(model_id: str) -> None:
    base = by_key(traces_of(model_id))[0, "float32"]
    assert signature_sha256(base.graph) == signature_sha256(trace_model(model_id).graph)


@pytest.mark.parametrize("model_id", [CONVOLUTIONS, FIXED_SIZE, TEXT])
def test_every_row_and_dtype_keeps_the_op_sequence_with_sizes_of_its_own(model_id: str) -> None:
    traces = traces_of(model_id)
    held_out = [(config, "float32") for config in HELD_OUT]
    assert set(by_key(traces)) == {(config, dtype) for config in CONFIGS for dtype in DTYPES} | set(held_out)
    assert all(variant.has_same_ops for variant in traces.variants) and traces.missing == ()
    sizes = variant_sizes(traces)
    assert len({tuple(sizes[config].items()) for config in (*CONFIGS, *HELD_OUT)}) == len(CONFIGS) + len(HELD_OUT)
    assert all(variant.sizes == sizes[variant.shape_config] for variant in traces.variants)


@pytest.mark.parametrize("model_id", [CONVOLUTIONS, FIXED_SIZE, TEXT])
def test_the_inputs_of_a_variant_have_the_sizes_that_it_states(model_id: str) -> None:
    for variant in traces_of(model_id).variants:
        first = variant.graph.tensors[0]
        axes = (first.shape[0], *first.shape[2:]) if model_id != TEXT else first.shape
        assert axes == tuple(variant.sizes.values())
        assert first.dtype == (variant.dtype if model_id != TEXT else "int64")


def test_weights_and_what_is_computed_have_the_dtype_of_the_variant() -> None:
    for (_, dtype), variant in by_key(traces_of(CONVOLUTIONS)).items():
        assert {tensor.dtype for tensor in variant.graph.tensors if tensor.kind == "parameter"} == {dtype}
        assert {output.dtype for node in variant.graph.nodes for output in node.outputs} == {dtype}


def test_a_model_of_one_image_size_is_built_again_for_others_but_not_for_another_batch() -> None:
    variants = by_key(traces_of(FIXED_SIZE))
    own = variants[0, "float32"].sizes
    rebuilt = {config for (config, _), variant in variants.items() if variant.is_rebuilt}
    assert rebuilt == {config for config, sizes in variant_sizes(traces_of(FIXED_SIZE)).items()
                       if (sizes["height"], sizes["width"]) != (own["height"], own["width"])}  # fmt: skip
    assert {1} & rebuilt == set()
    assert any(sizes["height"] != sizes["width"] for sizes in variant_sizes(traces_of(FIXED_SIZE)).values())


@pytest.mark.parametrize("model_id", [FIXED_SIZE, *CACHES_BY_SIZE])
def test_variants_are_those_of_modules_that_never_ran(model_id: str) -> None:
    """Tables of positions and biases, kept by a forward for the next one, must not reach the next variant."""
    traces = trace_variants(model_id, configs=(2, 7, 0), dtypes=("float16", "float32"), held_out=False)
    own = prepare(model_id).sizes
    assert len(traces.variants) == 3 * 2
    for variant in traces.variants:
        assert signature_sha256(trace_fresh(model_id, variant, own)) == signature_sha256(variant.graph), variant.sizes


def test_rows_that_a_model_refuses_take_batches_that_no_other_row_has() -> None:
    traces = trace_variants("timm/efficientformer_l1", configs=range(6), dtypes=("float32",), held_out=False)
    sizes = variant_sizes(traces)
    assert {sizes[config]["height"] for config in range(6)} == {224}
    assert len({sizes[config]["batch"] for config in range(6)}) == 6
    tables = {variant.shape_config: variant.table for variant in traces.variants}
    assert tables == {0: "image", 1: "image", **dict.fromkeys(range(2, 6), BATCH_ONLY)}


def test_a_program_that_differs_by_dtype_is_kept_and_says_so() -> None:
    traces = trace_variants("transformers/whisper", configs=(0, 1), held_out=False)
    assert {key: variant.has_same_ops for key, variant in by_key(traces).items()} == {
        (config, dtype): dtype != "float16" for config in (0, 1) for dtype in DTYPES
    }


def test_a_variant_ends_at_what_no_kernel_takes_in_its_dtype() -> None:
    traces = trace_variants("transformers/fnet", configs=(0,), dtypes=("float32", "bfloat16"), held_out=False)
    assert not traces.missing
    own, half = traces.variants
    assert (own.refusal, half.refusal) == (None, "op 11: fft_fftn of bfloat16")
    assert (half.is_prefix, half.has_same_ops) == (True, True)
    assert half.graph.op_names == own.graph.op_names[:11]


def test_a_program_that_follows_values_is_traced_on_real_tensors_at_each_size() -> None:
    traces = trace_variants("transformers/vits", configs=(0, 1), held_out=False)
    graphs = by_key(traces)
    own = trace_model("transformers/vits")
    assert own.tensor_mode == "real"
    assert graphs[0, "float32"].graph == own.graph
    assert not traces.missing and all(variant.has_same_ops for variant in traces.variants)
    assert variant_sizes(traces)[1] == {"batch": 2, "sequence": 32}
    for (config, dtype), variant in graphs.items():
        (weight,) = [meta for meta in variant.graph.tensors if meta.original_name == "text_encoder.embed_tokens.weight"]
        assert (weight.dtype, variant.graph.nodes[0].outputs[0].shape[0]) == (dtype, config + 1)


def test_a_program_that_no_tensors_carry_has_no_variants() -> None:
    with pytest.raises(SubjectError) as error:
        trace_variants("transformers/fastspeech2_conformer_with_hifigan")
    assert error.value.reason is Reason.FORWARD_FAILED


def test_after_the_time_allowed_the_rest_is_missing() -> None:
    traces = trace_variants(CONVOLUTIONS, max_seconds=0)
    assert [(variant.shape_config, variant.dtype) for variant in traces.variants] == [(0, "float32")]
    assert {missing.reason for missing in traces.missing} == {Reason.TIMEOUT}
    assert len(traces.missing) == len(CONFIGS) * len(DTYPES) + len(HELD_OUT) - 1


def test_variants_of_a_convolutional_model_have_one_structure() -> None:
    graphs = [variant.graph for variant in traces_of(CONVOLUTIONS).variants if variant.dtype == "float32"]
    assert len({structure_sha256(graph) for graph in graphs}) == 1
    assert all(find_refused_call(graph) is None for graph in graphs)
