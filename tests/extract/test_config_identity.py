"""Equal configs have one config_sha256 however they are written; a change that the graph shows gives another."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from extract import hub_source, transformers_source
from extract.config_identity import left_out_fields
from extract.failure import Reason, SubjectError
from extract.hashing import hash_graph
from extract.hub_config import ModelConfig, adapter_base, parse_config, recognise
from extract.hub_source import Identity, identify_configs, use_config
from extract.model_ref import ModelRef
from extract.model_tracing import trace_model, trace_prepared
from extract.sources import Preparation
from extract.transformers_config import is_left_out
from extract.transformers_inputs import row_of
from tests.hub import make_repos

NUM_PAIRS = 200
# What a change to a field is, for the fields of which the graph or its operands' shapes depend.
CHANGES: dict[str, Any] = {
    "hidden_size": lambda value: 2 * value,
    "dim": lambda value: 2 * value,
    "n_embd": lambda value: 2 * value,
    "d_model": lambda value: 2 * value,
    "num_hidden_layers": lambda value: value + 1,
    "n_layers": lambda value: value + 1,
    "n_layer": lambda value: value + 1,
    "num_layers": lambda value: value + 1,
    "num_attention_heads": lambda value: value // 2,
    "n_heads": lambda value: value // 2,
    "n_head": lambda value: value // 2,
    "num_heads": lambda value: value // 2,
    "intermediate_size": lambda value: value + 8,
    "hidden_dim": lambda value: value + 8,
    "d_ff": lambda value: value + 8,
    "ffn_dim": lambda value: value + 8,
    "num_key_value_heads": lambda value: 4,
    "head_dim": lambda value: 2 * value,
    "d_kv": lambda value: 2 * value,
    "vocab_size": lambda value: value + 8,
    "max_position_embeddings": lambda value: value + 8,
    "n_positions": lambda value: value + 8,
    "type_vocab_size": lambda value: value + 2,
    "embedding_size": lambda value: 2 * value,
    "hidden_act": lambda value: "relu" if value != "relu" else "gelu",
    "activation": lambda value: "relu",
    "activation_function": lambda value: "relu" if value != "relu" else "gelu",
    "layer_norm_eps": lambda value: 0.25,
    "layer_norm_epsilon": lambda value: 0.25,
    "rms_norm_eps": lambda value: 0.25,
    "hidden_dropout_prob": lambda value: 0.25,
    "image_size": lambda value: 2 * value,
    "patch_size": lambda value: value // 2,
    "num_channels": lambda value: value + 1,
    "attention_bias": lambda value: not value,
    "qkv_bias": lambda value: not value,
    "use_parallel_residual": lambda value: not value,
    "scale_attn_weights": lambda value: not value,
    "do_layer_norm_before": lambda value: not value,
    "relative_attention_num_buckets": lambda value: value + 1,
    "num_labels": lambda value: value + 1,
}
# What each trace decides for itself, whatever a config says.
# Fields that the types' configs hold and their models do not use: positions of rotary models, words of vision models.
IDLE = {
    **dict.fromkeys(("llama", "mistral", "qwen2", "gpt_neox"), ("max_position_embeddings",)),
    **dict.fromkeys(("vit", "deit", "beit"), ("vocab_size",)),
}
LABELS = ("id2label", "label2id")
SET_BY_THE_TRACE = ("quantization_config", "compression_config", "use_cache", "_num_labels", *LABELS)


def identity_of(fields: dict[str, Any]) -> Identity:
    found = next(identify_configs([recognise("test", fields)]))
    assert isinstance(found, Identity), found
    return found


def signature_of(config: ModelConfig) -> str:
    use_config("hub/test/test", config)
    return hash_graph(trace_model("hub/test/test").graph).signature_sha256


def signature_of_unreduced(fields: dict[str, Any]) -> str:
    """Trace a config just as it is written, nothing left out."""
    class_name, model_type = fields["architectures"][0], fields["model_type"]
    head = identity_of(fields).config.head
    kept = {name: value for name, value in fields.items() if "implementation" not in name}
    prepared = transformers_source.prepare_from(
        ModelRef("hub/test/test", "hub", architecture=class_name, head=head),
        lambda: hub_source._make_config(model_type, kept),
        row_of(model_type, str(head)),
        Preparation(),
    )
    return hash_graph(trace_prepared(prepared).graph).signature_sha256


def changed_pairs() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return pairs of configs that differ in one field that changes the graph, the fields and types mixed."""
    pairs: list[tuple[str, dict[str, Any], dict[str, Any]]] = []
    seen: set[tuple[str, str]] = set()
    for config in make_repos.configs(400):
        if "architecture" in config:
            pairs.append(("timm num_classes", config, {**config, "num_classes": config["num_classes"] + 1}))
            continue
        written = {name: value for name, value in config.items() if name != "layer_types"}  # follows from others
        full = {**make_repos.spelled_out(written), "num_labels": len(config.get("id2label") or "ab")}
        for name, change in CHANGES.items():
            value = full.get(name)
            is_idle = name in IDLE.get(config["model_type"], ())
            is_headless = name == "num_labels" and "Classification" not in config["architectures"][0]
            if value is None or is_idle or is_headless or (config["architectures"][0], name) in seen:
                continue
            seen.add((config["architectures"][0], name))
            kept = {key: value for key, value in written.items() if name != "num_labels" or key not in LABELS}
            pairs.append((f"{config['architectures'][0]} {name}", written, {**kept, name: change(value)}))
    random.Random(0).shuffle(pairs)
    return pairs


def equal_pairs() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    rng = random.Random(0)
    originals = make_repos.configs(NUM_PAIRS)
    return [(config, make_repos.fine_tune(config, rng)) for config in originals]


def test_configs_that_differ_in_a_graph_changing_field_are_never_merged() -> None:
    pairs = changed_pairs()
    assert len(pairs) >= NUM_PAIRS
    for what, left, right in pairs:
        assert identity_of(left).config.config_sha256 != identity_of(right).config.config_sha256, what


def test_configs_that_differ_in_other_fields_only_are_always_merged() -> None:
    pairs = equal_pairs()
    assert len(pairs) == NUM_PAIRS
    for left, right in pairs:
        assert identity_of(left).config.config_sha256 == identity_of(right).config.config_sha256, (left, right)
    hashes = {identity_of(left).config.config_sha256 for left, _ in pairs}
    assert len(hashes) == NUM_PAIRS


def test_merged_configs_have_one_graph_and_changed_ones_two() -> None:
    merged = [(left, right) for left, right in equal_pairs() if "architecture" not in left]
    for left, right in merged[:16]:
        assert signature_of_unreduced(left) == signature_of_unreduced(right), (left, right)
    for what, left, right in changed_pairs()[:24]:
        try:
            signatures = signature_of(identity_of(left).config), signature_of(identity_of(right).config)
        except SubjectError as failure:  # a size that no model of the type can have
            assert failure.reason in (Reason.BUILD_FAILED, Reason.FORWARD_FAILED), failure
            continue
        assert signatures[0] != signatures[1], what


@pytest.mark.slow
def test_every_changed_pair_that_can_be_traced_has_two_graphs() -> None:
    num_traced, equal = 0, list[str]()
    for what, left, right in changed_pairs():
        try:
            signatures = signature_of(identity_of(left).config), signature_of(identity_of(right).config)
        except SubjectError:
            continue
        num_traced += 1
        if signatures[0] == signatures[1]:
            equal.append(what)
    assert equal == []
    assert num_traced >= NUM_PAIRS * 3 // 4


ODD_VALUES = (7, "odd", True, [5], {"a": 1})
BASES = (
    {"model_type": "bert", "architectures": ["BertForSequenceClassification"]},
    {"model_type": "llama", "architectures": ["LlamaForCausalLM"]},
    {"model_type": "t5", "architectures": ["T5Model"]},
)


@pytest.mark.parametrize("base", BASES, ids=lambda base: base["model_type"])
def test_no_field_of_the_table_changes_a_graph_where_it_is_left_out(base: dict[str, Any]) -> None:
    small = {**base, **make_repos.TYPES[base["model_type"]][1](32, 1)}
    expected, types = signature_of_unreduced(small), frozenset([base["model_type"]])
    hashes = {identity_of(small).config.config_sha256}
    num_checked = 0
    for name in left_out_fields():
        if name in SET_BY_THE_TRACE or name == "architectures" or not is_left_out(name, types):
            continue
        for value in ODD_VALUES:
            try:
                signature = signature_of_unreduced({**small, name: value})
            except SubjectError:
                continue  # the class takes no such value
            num_checked += 1
            assert signature == expected, (name, value)
            hashes.add(identity_of({**small, name: value}).config.config_sha256)
            break
    assert num_checked >= 30
    assert len(hashes) == 1


def test_token_that_a_head_looks_for_is_kept_and_left_out_elsewhere() -> None:
    bart = {"model_type": "bart", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "vocab_size": 99}
    for class_name, is_merged in (("BartForSequenceClassification", False), ("BertModel", True)):
        model_type = "bart" if "Bart" in class_name else "bert"
        fields = {**bart, "model_type": model_type, "architectures": [class_name]}
        left, right = (identity_of({**fields, "eos_token_id": token}) for token in (2, 3))
        assert (left.config.config_sha256 == right.config.config_sha256) is is_merged


def test_field_that_no_file_of_the_library_mentions_is_left_out_and_others_are_kept() -> None:
    base = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "num_hidden_layers": 1}
    sha256 = identity_of(base).config.config_sha256
    assert identity_of({**base, "passnet_made_this_up": 1}).config.config_sha256 == sha256
    assert identity_of({**base, "sliding_window": 12}).config.config_sha256 != sha256


def test_model_of_the_hub_is_the_one_that_the_library_names_where_nothing_is_changed() -> None:
    hub = identity_of({"model_type": "vit", "architectures": ["ViTModel"]}).config.config_sha256
    prepared = transformers_source.prepare("transformers/vit", Preparation())
    assert hub == prepared.model.config_sha256


def test_label_names_do_not_count_and_their_number_does() -> None:
    base = {"model_type": "bert", "architectures": ["BertForSequenceClassification"]}
    named = [{str(number): name for number, name in enumerate(names)} for names in ("abc", "xyz", "abcd")]
    hashes = [identity_of({**base, "id2label": labels}).config.config_sha256 for labels in named]
    assert hashes[0] == hashes[1] != hashes[2]


def test_parts_of_a_config_are_treated_as_the_whole() -> None:
    base = {"model_type": "clip", "architectures": ["CLIPModel"]}
    plain = identity_of(base).config.config_sha256
    tuned = {**base, "text_config": {"_name_or_path": "x", "top_p": 0.5}, "vision_config": {"made_up_by_me": 1}}
    changed = {**base, "text_config": {"num_hidden_layers": 2}}
    assert identity_of(tuned).config.config_sha256 == plain != identity_of(changed).config.config_sha256


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"model_type": "no_such", "architectures": ["NoSuch"]}, Reason.UNSUPPORTED_ARCHITECTURE),
        ({"model_type": "x", "architectures": ["X"], "auto_map": {"AutoModel": "x.X"}}, Reason.NEEDS_REMOTE_CODE),
        ({"model_type": "bert", "hidden_size": "many"}, Reason.CONFIG_MALFORMED),
        ({"architecture": "no_such_net"}, Reason.UNSUPPORTED_ARCHITECTURE),
    ],
)
def test_config_that_no_library_takes_has_a_reason(fields: dict[str, Any], reason: Reason) -> None:
    found = next(identify_configs([recognise("test", fields)]))
    assert isinstance(found, SubjectError)
    assert found.reason is reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", Reason.CONFIG_MALFORMED),
        (b"[]", Reason.CONFIG_MALFORMED),
        (b"\xff\xfe\x00", Reason.CONFIG_MALFORMED),
        (b"[" * 200_000, Reason.CONFIG_MALFORMED),
        (b'{"model_type": "bert", "x": ' + b"[" * 600 + b"]" * 600 + b"}", Reason.CONFIG_MALFORMED),
        (b'{"a": "' + b"x" * (5 << 20) + b'"}', Reason.CONFIG_TOO_LARGE),
        (b'{"sample_size": 3}', Reason.UNSUPPORTED_CONFIG),
        (b'{"model_type": 3}', Reason.CONFIG_MALFORMED),
        (b'{"architectures": "BertModel"}', Reason.CONFIG_MALFORMED),
    ],
)
def test_file_that_is_no_config_has_a_reason(content: bytes, reason: Reason) -> None:
    with pytest.raises(SubjectError) as caught:
        recognise("test", parse_config("test", content))
    assert caught.value.reason is reason


def test_what_is_traced_as_something_else_says_so() -> None:
    base = {"model_type": "bert", "architectures": ["BertModel"]}
    plain = identity_of(base)
    quantised = identity_of({**base, "quantization_config": {"quant_method": "awq"}})
    native = identity_of({**base, "auto_map": {"AutoModel": "modeling_mine.BertModel"}})
    unnamed = identity_of({"model_type": "bert", "architectures": ["MyBertForNothing"]})
    assert plain.repairs is None
    assert "awq" in str(quantised.repairs) and "auto_map" in str(native.repairs)
    assert "MyBertForNothing" in str(unnamed.repairs) and unnamed.config.head == "base"
    hashes = {one.config.config_sha256 for one in (plain, quantised, native, unnamed)}
    assert len(hashes) == 1


def test_adapter_names_its_base_or_is_refused() -> None:
    assert adapter_base("a", {"base_model_name_or_path": "o/m", "peft_type": "LORA"}) == ("o/m", "LORA")
    for base in (None, "", "/home/me/llama", "./x", 3):
        with pytest.raises(SubjectError) as caught:
            adapter_base("a", {"base_model_name_or_path": base})
        assert caught.value.reason is Reason.BASE_MISSING


def test_timm_file_of_either_age_is_the_same_model() -> None:
    old = {"architecture": "resnet18", "num_classes": 7, "input_size": [3, 96, 96], "mean": [0, 0, 0]}
    new = {"architecture": "resnet18.a1", "num_classes": 7, "pretrained_cfg": {"input_size": [3, 96, 96], "tag": "x"}}
    other = {**new, "model_args": {"in_chans": 1}}
    hashes = [identity_of(fields).config.config_sha256 for fields in (old, new, other)]
    assert hashes[0] == hashes[1] != hashes[2]
    assert signature_of(identity_of(new).config) != signature_of(identity_of(other).config)


def test_stored_config_builds_the_same_model_again() -> None:
    for config in itertools.islice(make_repos.configs(20), 8, 12):
        first = identity_of(config).config
        again = json.loads(json.dumps(first.config))
        fields = {**again, "architectures": [first.model_class]} if first.library == "transformers" else config
        assert identity_of(fields).config.config_sha256 == first.config_sha256
