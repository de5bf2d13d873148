"""Types of transformers become modules with inputs as their processors would make them; what cannot is told why."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from extract.failure import Reason, SubjectError
from extract.model_tracing import trace_model, trace_prepared
from extract.shape_configs import Resize
from extract.shape_expressions import evaluate
from extract.sources import Preparation, list_models, prepare
from extract.transformers_config import resize_config
from extract.transformers_inputs import TABLES, load_rules
from extract.transformers_source import head_classes, make_config


def test_every_type_is_named_with_family_and_where_known_domain_and_licence() -> None:
    models = {model.model_id: model for model in list_models("transformers")}
    assert len(models) > 600
    assert models["transformers/bert"].domain == "nlp"
    assert models["transformers/vit"].domain == "cv"
    assert models["transformers/clip"].domain == "multimodal"
    assert models["transformers/wav2vec2"].domain == "audio"
    assert models["transformers/bert"].licence == "apache-2.0"
    assert models["transformers/blip-2"].family == "blip_2"


def test_heads_are_named_as_the_auto_classes_name_them() -> None:
    assert {"base", "causal-lm", "masked-lm", "seq2seq-lm", "image-classification"} <= set(head_classes())
    pairs = [model.model_id for model in list_models("transformers", ("masked-lm", "causal-lm"))]
    assert pairs[0].endswith("/masked-lm") and pairs[-1].endswith("/causal-lm")
    with pytest.raises(ValueError, match="head 'nonsense' is none of: base, "):
        list_models("transformers", ("nonsense",))


def test_text_model_is_traced_whole_on_meta() -> None:
    trace = trace_model("transformers/bert")
    assert trace.tensor_mode == "meta"
    assert trace.model.inputs == ("input_ids",)
    assert trace.model.modalities == trace.model.modalities_received == ("text",)
    assert trace.model.parameters_used_frac == 1.0
    assert trace.model.num_guesses == 0


def test_head_is_another_model_than_its_base() -> None:
    base, head = trace_model("transformers/bert"), trace_model("transformers/bert/masked-lm")
    assert head.model.architecture == "BertForMaskedLM"
    assert len(head.graph.nodes) > len(base.graph.nodes)
    assert head.model.config_sha256 != base.model.config_sha256


def test_number_of_placeholders_comes_from_the_models_own_check() -> None:
    trace = trace_model("transformers/paligemma")
    assert set(trace.model.modalities_received or ()) == {"text", "image"}
    ids = next(tensor for tensor in trace.graph.tensors if tensor.original_name == "input_ids")
    assert ids.shape[1] >= 256  # one placeholder for each of the 16 x 16 patches


def test_real_inputs_equal_meta_inputs_in_shape_and_differ_by_seed() -> None:
    meta = prepare("transformers/clip").make_inputs(0).kwargs
    prepared = prepare("transformers/clip", Preparation(weights="random"))
    real, other = prepared.make_inputs(0).kwargs, prepared.make_inputs(1).kwargs
    assert {name: tensor.shape for name, tensor in meta.items()} == {name: t.shape for name, t in real.items()}
    assert all(not torch.equal(real[name], other[name]) for name in real)
    assert all(parameter.isfinite().all() for parameter in prepared.module.parameters())


def test_trace_of_random_weights_is_the_trace_of_meta() -> None:
    real = trace_prepared(prepare("transformers/bert", Preparation(weights="random")))
    assert real.tensor_mode == "real"
    assert real.graph.op_names == trace_model("transformers/bert").graph.op_names


@pytest.mark.parametrize("model_id", ["transformers/nosuch", "transformers/bert/nosuch", "nosource/bert"])
def test_unknown_model_is_refused(model_id: str) -> None:
    with pytest.raises(SubjectError) as caught:
        prepare(model_id)
    assert caught.value.reason is Reason.UNKNOWN_MODEL


def test_model_that_wants_a_package_we_lack_is_a_build_failure() -> None:
    with pytest.raises(SubjectError, match="natten") as caught:
        prepare("transformers/dinat")
    assert caught.value.reason is Reason.BUILD_FAILED


def test_table_says_why_for_each_row_and_names_types_that_there_are() -> None:
    known = {kind for classes in head_classes().values() for kind in classes}
    known |= {f"{kind}/{head}" for head, classes in head_classes().items() for kind in (*classes, "*")}
    rows = load_rules().types
    assert [name for name, row in rows.items() if len(row.reason) < 15 and not row.unused] == []
    assert sorted(name for name in rows if name not in known) == []


def test_no_type_has_two_rows() -> None:
    import tomllib

    files = [path for path in sorted(Path(TABLES).glob("*.toml")) if path.name != "rules.toml"]
    names = [name for path in files for name in tomllib.loads(path.read_text(encoding="utf-8"))]
    assert len(names) == len(set(names))


def test_caches_are_off_throughout_a_config() -> None:
    from extract.transformers_inputs import row_of

    config = make_config("llava", row_of("llava"))
    assert not getattr(config.text_config, "use_cache", False)


class Config(int):
    """Stands for any config: each field is a number that its name decides, with fields of its own."""

    def __getattr__(self, name: str) -> Config:
        return Config(sum(map(ord, name)))


def spelled_out(text: str) -> object:
    """What an expression of the table asks for, calls as they are, at the model's own sizes."""
    names = {"b": 1, "s": 32, "true": True, "false": False, **dict.fromkeys("cvta", Config(7))}
    makers = "float uniform pixels ids tokens full ones zeros true_mask tensor grid boxes joined".split()
    calls: dict[str, Any] = {name: partial(lambda *made: made, name) for name in makers}
    calls |= {name: lambda size: size for name in ("height", "width", "length", "frames", "samples")}
    calls |= {"first": lambda config, *fields: fields[-1], "sides": lambda config: (224, 224)}
    return evaluate(text, names, calls)


def test_scaled_spellings_are_the_inputs_of_the_row_at_the_models_own_sizes() -> None:
    rows = {name: row for name, row in load_rules().types.items() if row.scaled}
    assert len(rows) > 100
    for name, row in rows.items():
        for argument in row.scaled.keys() & row.inputs.keys():
            expected = spelled_out(row.inputs[argument])
            assert spelled_out(row.scaled[argument]) == expected, (name, argument)
        assert row.scaled.keys() <= row.inputs.keys(), name


def test_sizes_name_the_axes_that_inputs_have_and_other_sizes_change_these_alone() -> None:
    clip = prepare("transformers/clip")
    assert clip.sizes == {"batch": 1, "height": 224, "width": 224, "sequence": 32}
    assert clip.with_sizes is not None
    inputs = clip.with_sizes({"batch": 3, "height": 224, "width": 336, "sequence": 48}).make_inputs(0).kwargs
    assert {name: tuple(value.shape) for name, value in inputs.items()} == {
        "input_ids": (3, 48),
        "pixel_values": (3, 3, 224, 336),
    }
    assert prepare("transformers/wav2vec2").sizes == {"batch": 1, "samples": 16000}


def test_a_resized_config_keeps_the_spelling_of_its_sizes() -> None:
    resize = Resize({"height": 224, "width": 224}, {"height": 448, "width": 336})
    config = SimpleNamespace(image_size=32, img_size={"height": 64, "width": 64}, num_frames=8)
    resize_config(config, resize)
    assert (config.image_size, config.img_size, config.num_frames) == ([64, 48], {"height": 128, "width": 96}, 8)
    config = SimpleNamespace(image_size=(30, 40))
    resize_config(config, Resize({"height": 2}, {"height": 3}))
    assert config.image_size == (45, 40)
