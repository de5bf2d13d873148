"""Write what `hub_double.py` serves: real configs of transformers and timm, and many repositories that share them.

    python tests/hub/make_repos.py REPOS.json --repos 2000 --configs 200 [--broken-frac 0.05] [--storm]

The configs are those of transformers' own config classes (as `save_pretrained` writes them), made small, with
graph-changing fields varied, and of timm's names. The others are fine-tunes: equal but for names, label names,
tokenizer and generation settings, defaults spelled out or left out. `expected` says of each id what must become of it:
`{"config": number}` or `{"reason": ...}`.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 4
BROKEN = {
    "gated": "gated",
    "no_permission": "gated",
    "disabled": "repo_not_found",
    "huge": "config_too_large",
    "drip": "hub_unavailable",
    "stall": "hub_unavailable",
    "slow_headers": "hub_unavailable",
    "half": "hub_unavailable",
    "status_500": "hub_unavailable",
    "nonsense": "hub_unavailable",
    "loop": "hub_unavailable",
    "missing": "repo_not_found",
    "no_config": "config_missing",
    "malformed": "config_malformed",
    "not_an_object": "config_malformed",
    "deep": "config_malformed",
    "custom_code": "needs_remote_code",
    "unknown_type": "unsupported_architecture",
    "no_model": "unsupported_config",
    "lost_adapter": "base_missing",
}
PERSISTENTLY_SLOW = ("drip", "stall", "slow_headers", "half", "status_500")
FLAKY = ("half_once", "status_503_once", "throttled_once", "throttled_date_once")


def _text(hidden: int, layers: int) -> dict[str, Any]:
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * hidden,
        "vocab_size": 1000,
    }


def _vision(hidden: int, layers: int) -> dict[str, Any]:
    return {**_text(hidden, layers), "image_size": 32, "patch_size": 8} | {"vocab_size": None}


# Model type -> class names and the fields that make it small, for a hidden size and a number of layers.
TYPES: dict[str, tuple[tuple[str, ...], Any]] = {
    "bert": (("BertModel", "BertForMaskedLM", "BertForSequenceClassification", "BertForTokenClassification"), _text),
    "roberta": (("RobertaModel", "RobertaForSequenceClassification"), _text),
    "electra": (
        ("ElectraModel", "ElectraForSequenceClassification"),
        lambda h, n: {**_text(h, n), "embedding_size": h},
    ),
    "distilbert": (
        ("DistilBertModel", "DistilBertForSequenceClassification"),
        lambda h, n: {"dim": h, "n_layers": n, "n_heads": 4, "hidden_dim": 2 * h, "vocab_size": 1000},
    ),
    "gpt2": (
        ("GPT2Model", "GPT2LMHeadModel"),
        lambda h, n: {"n_embd": h, "n_layer": n, "n_head": 4, "vocab_size": 1000},
    ),
    "llama": (("LlamaModel", "LlamaForCausalLM"), lambda h, n: {**_text(h, n), "num_key_value_heads": 2}),
    "mistral": (("MistralForCausalLM",), lambda h, n: {**_text(h, n), "num_key_value_heads": 2, "head_dim": h // 4}),
    "qwen2": (("Qwen2ForCausalLM", "Qwen2Model"), lambda h, n: {**_text(h, n), "num_key_value_heads": 2}),
    "gpt_neox": (("GPTNeoXForCausalLM",), _text),
    "opt": (
        ("OPTForCausalLM",),
        lambda h, n: {
            "hidden_size": h,
            "num_hidden_layers": n,
            "num_attention_heads": 4,
            "ffn_dim": 2 * h,
            "word_embed_proj_dim": h,
            "vocab_size": 1000,
        },
    ),
    "t5": (
        ("T5ForConditionalGeneration", "T5Model"),
        lambda h, n: {"d_model": h, "num_layers": n, "num_heads": 4, "d_ff": 2 * h, "d_kv": h // 4, "vocab_size": 1000},
    ),
    "vit": (("ViTModel", "ViTForImageClassification"), _vision),
    "deit": (("DeiTModel", "DeiTForImageClassification"), _vision),
    "beit": (("BeitModel",), _vision),
}
TIMM = ("test_resnet", "test_vit", "test_convnext", "test_byobnet", "test_mambaout", "test_efficientnet", "resnet18")


def configs(num_configs: int) -> list[dict[str, Any]]:
    """Return distinct configs (with `architectures`), the types in turn; a tenth is timm's."""
    made = zip(*[iter(_transformers_configs())], strict=True)
    timm = _timm_configs()
    return [next(timm) if number % 10 == 9 else next(made)[0] for number in range(num_configs)]


def _transformers_configs() -> Iterator[dict[str, Any]]:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    sizes = itertools.product((1, 2), range(32, 32 * 200, 32))
    for (layers, hidden), labels in zip(sizes, itertools.cycle((2, 3, 5, 10)), strict=False):
        for model_type, (classes, small) in TYPES.items():
            for class_name in classes:
                fields = {name: value for name, value in small(hidden, layers).items() if value is not None}
                if "Classification" in class_name:
                    fields["num_labels"] = labels
                config = CONFIG_MAPPING[model_type](architectures=[class_name], dtype="float32", **fields)
                yield json.loads(config.to_json_string())


def _timm_configs() -> Iterator[dict[str, Any]]:
    for num_classes, name in itertools.product((1000, *range(2, 300)), TIMM):
        size = [3, 160, 160] if name.startswith("test_") else [3, 224, 224]
        pretrained = {"tag": "in1k", "num_classes": 1000, "input_size": size, "mean": [0.5] * 3, "classifier": "fc"}
        yield {"architecture": name, "num_classes": num_classes, "num_features": 512, "pretrained_cfg": pretrained}


def fine_tune(config: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a config that gives the same graph and is written otherwise."""
    tuned = dict(config)
    if "architecture" in config:
        tuned["label_names"] = [f"l{rng.random()}"]
        tuned["pretrained_cfg"] = {**config["pretrained_cfg"], "tag": f"ft{rng.randrange(1000)}", "std": [0.2] * 3}
        return tuned
    tuned["_name_or_path"] = f"/home/user/checkpoint-{rng.randrange(10**6)}"
    tuned["transformers_version"] = rng.choice(["4.30.0", "4.44.2", "5.1.0"])
    tuned["use_cache"] = rng.random() < 0.5
    changes = (
        {"tokenizer_class": "MyTokenizer"},
        {"unsloth_fixed_by": f"v{rng.randrange(100)}"},
        {"finetuning_task": f"task{rng.randrange(100)}", "problem_type": "single_label_classification"},
        {"max_length": rng.randrange(20, 200), "do_sample": True, "repetition_penalty": 1.2},
        {"torch_dtype": "float32", "dtype": None},
        {"task_specific_params": {"summarization": {"max_length": 100}}},
    )
    tuned |= rng.choice(changes)
    if tuned.get("dtype") is None:
        tuned.pop("dtype", None)
    labels = tuned.get("id2label")
    if labels:
        tuned["id2label"] = {key: f"class {rng.randrange(10**6)} {key}" for key in labels}
        tuned["label2id"] = {name: int(key) for key, name in tuned["id2label"].items()}
    if rng.random() < 0.3:
        tuned = spelled_out(tuned)
    return tuned


def spelled_out(config: dict[str, Any]) -> dict[str, Any]:
    """Write the defaults of the class, too."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    fields = {name: value for name, value in config.items() if name != "model_type"}
    full = CONFIG_MAPPING[config["model_type"]](**fields).to_dict()
    return {**json.loads(json.dumps(full)), **config}


def make(num_repos: int, num_configs: int, broken_frac: float, seed: int = SEED) -> dict[str, Any]:
    """Return texts, repositories in the order in which to name them, and what is expected of each id."""
    rng = random.Random(seed)
    texts: list[str] = []
    repos: list[dict[str, Any]] = []
    expected: dict[str, dict[str, Any]] = {}
    distinct = configs(num_configs)
    num_broken = round(num_repos * broken_frac)

    def add(repo_id: str, files: dict[str, str], **listed: Any) -> dict[str, Any]:
        numbers = {}
        for name, text in files.items():
            numbers[name] = len(texts)
            texts.append(text)
        repo = {
            "id": repo_id,
            "sha": hashlib.sha1(repo_id.encode()).hexdigest(),
            "files": numbers,
            "gated": False,
            "downloads": rng.randrange(10**6),
            "lastModified": f"2026-0{rng.randrange(1, 10)}-1{rng.randrange(10)}T08:00:00.000Z",
            "library_name": "transformers",
            "tags": ["license:apache-2.0", "pytorch"],
            **listed,
        }
        repos.append(repo)
        return repo

    num_good = num_repos - num_broken
    for number in range(num_good):
        # Every config once in the first part of the list, then fine-tunes, the first configs more often.
        config = number if number < num_configs else min(int(rng.paretovariate(0.5)) - 1, 10**9) % num_configs
        repo_id = f"owner{number % 97}/model-{number:05d}"
        fields = distinct[config] if number < num_configs else fine_tune(distinct[config], rng)
        expected[repo_id] = {"config": config}
        kind = rng.random() if number >= num_configs else 1.0
        is_timm = "architecture" in fields
        if kind < 0.03:
            add(f"hidden/{number:05d}", {"config.json": json.dumps(fields)}, hidden=True)
            add(repo_id, {}, moved_to=f"hidden/{number:05d}")
        elif kind < 0.06 and not is_timm:
            base = f"owner{config % 97}/model-{config:05d}"
            adapter = {"peft_type": "LORA", "r": rng.randrange(64), "base_model_name_or_path": base}
            add(repo_id, {"adapter_config.json": json.dumps(adapter)}, library_name="peft")
        elif kind < 0.09 and not is_timm:
            quantised = {**fields, "quantization_config": {"quant_method": "gptq", "bits": rng.choice([3, 4])}}
            add(repo_id, {"config.json": json.dumps(quantised)})
        elif kind < 0.10:
            add(repo_id, {"config.json": json.dumps(fields)}, behaviour=rng.choice(FLAKY))
        else:
            add(repo_id, {"config.json": json.dumps(fields)}, library_name="timm" if is_timm else "transformers")
    for number, behaviour in zip(range(num_broken), itertools.cycle(BROKEN)):
        repo_id = f"broken/{behaviour}-{number:05d}"
        expected[repo_id] = {"reason": BROKEN[behaviour]}
        files = {"config.json": broken_text(behaviour, distinct[0])}
        if behaviour == "lost_adapter":
            files = {"adapter_config.json": json.dumps({"base_model_name_or_path": "/home/me/llama"})}
        elif behaviour == "no_config":
            files = {"README.md": "nothing here"}
        if behaviour != "missing":
            add(repo_id, files, behaviour=behaviour, gated="auto" if behaviour == "gated" else False)
    order = list(expected)
    head = order[: num_configs // 2]
    tail = order[num_configs // 2 :]
    rng.shuffle(tail)
    return {"texts": texts, "repos": repos, "expected": {name: expected[name] for name in (*head, *tail)}}


def broken_text(behaviour: str, config: dict[str, Any]) -> str:
    return {
        "malformed": '{"model_type": "bert", ',
        "not_an_object": "[1, 2]",
        "deep": "[" * 100_000,
        "custom_code": json.dumps(
            {"model_type": "mine", "architectures": ["MineModel"], "auto_map": {"AutoModel": "modeling_mine.MineModel"}}
        ),
        "unknown_type": json.dumps({"model_type": "no_such_type", "architectures": ["NoSuchModel"]}),
        "no_model": json.dumps({"_class_name": "UNet2DModel", "sample_size": 32}),
    }.get(behaviour, json.dumps(config))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--repos", type=int, default=2000)
    parser.add_argument("--configs", type=int, default=200)
    parser.add_argument("--broken-frac", type=float, default=0.05)
    parser.add_argument("--storm", action="store_true", help="every 500 answers, all is 429 for a second")
    options = parser.parse_args()
    made = make(options.repos, options.configs, options.broken_frac)
    if options.storm:
        made["storm"] = {"every": 500, "seconds": 1.0}
    options.out.write_text(json.dumps(made), encoding="utf-8")
    names = "".join(f"{name}\n" for name in made["expected"])
    options.out.with_suffix(".txt").write_text(names, encoding="utf-8")


if __name__ == "__main__":
    main()
