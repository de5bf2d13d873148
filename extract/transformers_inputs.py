"""A transformers model and its config to the arguments of one forward call, from rules kept as data.

`data/transformers_inputs/` says by argument name what a forward is given, and per model type what differs and why.
An argument is given when it is required, carries a modality (text, image, video, audio, time), or accompanies one that
does; all others (masks, caches, labels) keep their defaults, as a caller with one unpadded sample would leave them.
Placeholder tokens for images, videos and audio stand in `input_ids` as often as the model's own check demands.
"""

from __future__ import annotations

import inspect
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from extract.shape_expressions import evaluate

TABLES = Path(__file__).resolve().parents[1] / "data" / "transformers_inputs"
SEQUENCE_LENGTH = 32  # tokens of text: long enough for windows and chunks, short for Python loops over tokens
_FIRST_PLAIN_ID = 5  # below lie pad, bos, eos, unk and mask of most tokenizers
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_SUB_CONFIGS = {
    "v": ("vision_config", "vit_config", "vision_tower_config", "visual_config", "image_config", "video_config"),
    "t": ("text_config", "language_config", "decoder", "text_encoder", "llm_config"),
    "a": ("audio_config", "audio_encoder_config", "speech_config", "encoder_config", "audio_encoder"),
}


@dataclass(frozen=True, slots=True)
class TypeRow:
    """What the table says of one model type beyond the general rules; `reason` says why it must."""

    reason: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    init: Mapping[str, str] = field(default_factory=dict)
    model_class: str | None = None
    config_class: str | None = None
    placeholders: Mapping[str, str] = field(default_factory=dict)
    unused: str | None = None


@dataclass(slots=True)
class InputPlan:
    """How to make the arguments of one model; `counts` is the number of placeholders by modality, learnt by trial."""

    config: Any
    forward: Callable[..., Any]
    row: TypeRow
    batch_size: int
    counts: dict[str, int] = field(default_factory=dict)

    def make(self, seed: int, device: str) -> dict[str, Any]:
        """Return keyword arguments: floating tensors on `device`, integer and bool ones on the CPU."""
        maker = _TensorMaker(self, torch.Generator().manual_seed(seed), device)
        return {name: maker.value(text) for name, text in self.expressions().items()}

    def modalities(self) -> tuple[str, ...]:
        """Return the modalities that the forward takes, in forward's order."""
        carriers = load_rules().carriers
        return tuple(
            dict.fromkeys(carriers[name] for name in inspect.signature(self.forward).parameters if name in carriers)
        )

    def expressions(self) -> dict[str, str]:
        """Return the expression of each argument that is given, in forward's order."""
        rules = load_rules()
        signature = inspect.signature(self.forward).parameters
        named = [name for name, parameter in signature.items() if parameter.kind not in _VARIABLE and name != "self"]
        carried = [
            name for name in named if name in rules.carriers or signature[name].default is inspect.Parameter.empty
        ]
        given = {name: _rule(name, named, rules) for name in carried}
        for name in named:
            companions = rules.companions.get(name)
            if companions is not None and any(carrier in named for carrier in companions):
                given[name] = _rule(name, named, rules)
        given |= dict(self.row.inputs)
        in_order = [name for name in named if name in given] + [name for name in given if name not in named]
        return {name: given[name] for name in in_order if given[name] not in ("", "absent")}


@dataclass(frozen=True, slots=True)
class Rules:
    """The table: expressions by argument name, which arguments carry a modality, and what accompanies them."""

    arguments: Mapping[str, str]
    carriers: Mapping[str, str]
    companions: Mapping[str, tuple[str, ...]]
    types: Mapping[str, TypeRow]


@lru_cache(maxsize=1)
def load_rules() -> Rules:
    """Read `data/transformers_inputs/`: rules.toml, and a row per model type in the other files."""
    rules = tomllib.loads((TABLES / "rules.toml").read_text(encoding="utf-8"))
    rows: dict[str, Any] = {}
    for path in sorted(TABLES.glob("*.toml")):
        if path.name != "rules.toml":
            rows |= tomllib.loads(path.read_text(encoding="utf-8"))
    companions = {name: tuple(carriers) for name, carriers in rules["companions"].items()}
    types = {name: _type_row(name, rows) for name in rows}
    return Rules(rules["arguments"], rules["carriers"], companions, types)


def row_of(model_type: str) -> TypeRow:
    """Return what the table says of a type; an empty row when it says nothing."""
    return load_rules().types.get(model_type, TypeRow())


def _rule(name: str, named: list[str], rules: Rules) -> str:
    """Return an argument's expression: that for `name@other` where forward takes `other` too, else that for `name`."""
    for key, expression in rules.arguments.items():
        own, _, other = key.partition("@")
        if own == name and other in named:
            return expression
    return rules.arguments.get(name, "")


def _type_row(name: str, types: Mapping[str, Any]) -> TypeRow:
    fields = dict(types[name])
    base = fields.pop("like", None)
    if base is not None:
        above = _type_row(base, types)
        fields = {
            "reason": fields.get("reason", above.reason),
            "inputs": {**above.inputs, **fields.get("inputs", {})},
            "config": {**above.config, **fields.get("config", {})},
            "init": {**above.init, **fields.get("init", {})},
            "placeholders": {**above.placeholders, **fields.get("placeholders", {})},
            **{key: fields[key] for key in ("model_class", "config_class", "unused") if key in fields},
        }
    return TypeRow(**fields)


def sub_config(config: Any, which: str) -> Any:
    """Return the part of a config for vision (`v`), text (`t`) or audio (`a`); the config itself where it has none."""
    for name in _SUB_CONFIGS[which]:
        part = getattr(config, name, None)
        if part is not None and not isinstance(part, dict):
            return part
    if which == "t":
        return config.get_text_config()
    return config


def evaluate_config(config: Any, text: str) -> Any:
    """Return the value of a config repair; `c`, `v`, `t` and `a` are the config and its parts (None without one)."""
    names = {"c": config, "none": None, "true": True, "false": False}
    if config is not None:
        names |= {which: sub_config(config, which) for which in _SUB_CONFIGS}
    return evaluate(text, names, {"first": _first, "len": len, "list": lambda *elements: list(elements), "max": max})


class _TensorMaker:
    """Evaluates expressions of the table; each call draws from one generator."""

    def __init__(self, plan: InputPlan, generator: torch.Generator, device: str) -> None:
        self._plan = plan
        self._generator = generator
        self._device = device
        config = plan.config
        self._names = {
            "c": config,
            "b": plan.batch_size,
            "s": SEQUENCE_LENGTH,
            "none": None,
            "true": True,
            "false": False,
        }
        self._names |= {which: sub_config(config, which) for which in _SUB_CONFIGS}
        self._calls: dict[str, Callable[..., Any]] = {
            "float": self._float,
            "uniform": self._uniform,
            "ids": self._ids,
            "tokens": self._tokens,
            "full": lambda value, *shape: torch.full(shape, value),
            "ones": lambda *shape: torch.ones(shape, dtype=torch.long),
            "zeros": lambda *shape: torch.zeros(shape, dtype=torch.long),
            "true_mask": lambda *shape: torch.ones(shape, dtype=torch.bool),
            "positions": lambda length: torch.arange(length).expand(plan.batch_size, length).contiguous(),
            "tensor": torch.tensor,
            "first": _first,
            "sides": _sides,
            "side": lambda *args: _sides(*args)[0],
            "isqrt": math.isqrt,
            "prod": lambda values: math.prod(values),
            "max": max,
            "min": min,
            "sum": sum,
            "len": len,
            "list": lambda *elements: list(elements),
            "boxes": self._boxes,
            "count": lambda modality: plan.counts.get(modality, 0),
            "kinds": self._kinds,
        }

    def value(self, expression: str) -> Any:
        return evaluate(expression, self._names, self._calls)

    def _float(self, *shape: int) -> torch.Tensor:
        if self._device == "meta":
            return torch.empty(shape, device="meta")
        return torch.randn(shape, generator=self._generator)

    def _uniform(self, *shape: int) -> torch.Tensor:
        if self._device == "meta":
            return torch.empty(shape, device="meta")
        return torch.rand(shape, generator=self._generator)

    def _ids(self, high: int, *shape: int) -> torch.Tensor:
        low = _FIRST_PLAIN_ID if high > 4 * _FIRST_PLAIN_ID else 0
        return torch.randint(low, max(high, 1), shape, generator=self._generator)

    def _boxes(self, *shape: int) -> torch.Tensor:
        """Boxes [x0, y0, x1, y1] in thousandths of a page, x0 <= x1 and y0 <= y1."""
        corners = torch.randint(0, 1000, (*shape, 2, 2), generator=self._generator)
        return torch.cat([corners.amin(-2), corners.amax(-2)], dim=-1)

    def _special_ids(self) -> dict[str, int]:
        """Placeholder token by modality: what the row says, else the config's `<modality>_token_id`."""
        found: dict[str, int] = {}
        for modality in ("image", "video", "audio"):
            text = self._plan.row.placeholders.get(modality)
            if text is not None:
                found[modality] = self.value(text)
                continue
            for name in (f"{modality}_token_id", f"{modality}_token_index"):
                token = getattr(self._plan.config, name, None)
                if isinstance(token, int):
                    found.setdefault(modality, token)
        return found

    def _layout(self) -> list[tuple[str, int]]:
        """(kind, token id) of each place of the sequence: text, then each modality's placeholders, then text."""
        special = self._special_ids()
        config = self._plan.config
        places: list[tuple[str, int]] = [("text", -1)] * (SEQUENCE_LENGTH // 2)
        for modality, count in self._plan.counts.items():
            if modality not in special or not count:
                continue
            opening = getattr(config, "vision_start_token_id", None) if modality in ("image", "video") else None
            closing = getattr(config, "vision_end_token_id", None) if modality in ("image", "video") else None
            places += [("text", opening)] if isinstance(opening, int) else []
            places += [(modality, special[modality])] * count
            places += [("text", closing)] if isinstance(closing, int) else []
        return places + [("text", -1)] * (SEQUENCE_LENGTH - SEQUENCE_LENGTH // 2)

    def _tokens(self, vocab_size: int | None = None) -> torch.Tensor:
        """Text ids that are no special token, with the placeholders among them, shape (batch, length)."""
        size: int = vocab_size or _first(sub_config(self._plan.config, "t"), "vocab_size", "n_vocab", 1000)
        layout = self._layout()
        ids = self._ids(size, self._plan.batch_size, len(layout))
        taken = {value for value in _integers(self._plan.config)} | set(self._special_ids().values())
        plain = next((i for i in range(_FIRST_PLAIN_ID, size) if i not in taken), 0)
        for token in taken:
            ids[ids == token] = plain
        for position, (_, token) in enumerate(layout):
            if token >= 0:
                ids[:, position] = token
        return ids

    def _kinds(self, image: int = 1, video: int = 2, audio: int = 3) -> torch.Tensor:
        """Which modality each token belongs to: 0 for text."""
        numbers = {"text": 0, "image": image, "video": video, "audio": audio}
        return torch.tensor([[numbers[kind] for kind, _ in self._layout()]]).repeat(self._plan.batch_size, 1)


def _integers(config: Any) -> list[int]:
    """Special token ids that a config and its text part name."""
    values: list[int] = []
    for part in (config, sub_config(config, "t")):
        for name, value in vars(part).items():
            if name.endswith(("_token_id", "_token_index")):
                values += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, int)]
    return values


def _first(config: Any, *names: Any) -> Any:
    """Return the first attribute that a config has and that is not None; the last of `names` is the default."""
    for name in names[:-1]:
        value = getattr(config, name, None)
        if value is not None:
            return value
    return names[-1]


def _sides(config: Any, default: int = 224) -> tuple[int, int]:
    """Return height and width of a vision config's image."""
    size: Any = _first(config, "image_size", "img_size", "input_size", default)
    if isinstance(size, dict):
        return size.get("height", default), size.get("width", default)
    sides: list[int] = [*size] if isinstance(size, list | tuple) else [size]
    return sides[0], sides[-1]
