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
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch

from extract.shape_configs import AXES, Resize
from extract.shape_expressions import evaluate
from extract.transformers_heads import BASE_HEAD

TABLES = Path(__file__).resolve().parents[1] / "data" / "transformers_inputs"
SEQUENCE_LENGTH = 32  # tokens of text: long enough for windows and chunks, short for Python loops over tokens
_FIRST_PLAIN_ID = 5  # below lie pad, bos, eos, unk and mask of most tokenizers
_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

# Config fields with the tokens that stand before and after the placeholders of a modality.
# Tokens that stand around a run of placeholders, by the names that configs give them.
_BORDERS = {
    ("start", "vision"): ("vision_start_token_id",),
    ("end", "vision"): ("vision_end_token_id",),
    ("start", "audio"): ("audio_bos_token_id",),
    ("end", "audio"): ("audio_eos_token_id",),
}

_SUB_CONFIGS = {
    "v": ("vision_config", "vit_config", "vision_tower_config", "visual_config", "image_config", "video_config"),
    "t": ("text_config", "language_config", "decoder", "text_encoder", "llm_config"),
    "a": ("audio_config", "audio_encoder_config", "speech_config", "encoder_config", "audio_encoder"),
}


@dataclass(frozen=True, slots=True)
class TypeRow:
    """What the table says of one model type beyond the general rules; `reason` says why it must.

    `counts` is the number of placeholders by modality, for models that check none or do not say which they miss;
    `runs` in how many runs they stand. `cached` names attributes that the model computes from its config at first use:
    they are computed before the trace. An input that is "absent" excludes its modality, too.
    `scaled` spells inputs again so that other sizes can be asked for; at the model's own they equal those of `inputs`.
    `method` is what a user calls where the class has no forward, or one that takes Python objects: a method of the
    class, or a function of `extract.video_tracking`.
    """

    reason: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    scaled: Mapping[str, str] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    init: Mapping[str, str] = field(default_factory=dict)
    model_class: str | None = None
    config_class: str | None = None
    method: str | None = None
    placeholders: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, str] = field(default_factory=dict)
    cached: tuple[str, ...] = ()
    unused: str | None = None


@dataclass(slots=True)
class InputPlan:
    """How to make the arguments of one model.

    `counts` is the number of placeholders by modality: what the row says, else learnt by trial. `resize` asks for other
    sizes than the config's.
    """

    config: Any
    forward: Callable[..., Any]
    row: TypeRow
    batch_size: int
    counts: dict[str, int] = field(default_factory=dict)
    resize: Resize | None = None

    def own_sizes(self) -> dict[str, int]:
        """Return the size of each axis that the arguments have when no other is asked for, in the order of `AXES`."""
        maker = _TensorMaker(replace(self, resize=None), torch.Generator(), "meta")
        for text in self.expressions().values():
            maker.value(text)
        return {axis: maker.sizes[axis] for axis in AXES if axis in maker.sizes}

    def make(self, seed: int, device: str) -> dict[str, Any]:
        """Return keyword arguments: floating tensors on `device`, integer and bool ones on the CPU."""
        maker = _TensorMaker(self, torch.Generator().manual_seed(seed), device)
        return {name: maker.value(text) for name, text in self.expressions().items()}

    def set_counts(self) -> None:
        """Take the numbers of placeholders that the row states."""
        maker = _TensorMaker(self, torch.Generator(), "meta")
        self.counts |= {modality: maker.value(text) for modality, text in self.row.counts.items()}

    def modalities(self) -> tuple[str, ...]:
        """Return the modalities that the forward takes in one call, in forward's order.

        A carrier that the row declares absent is none of them: its reason says what excludes it.
        """
        carriers = load_rules().carriers
        named = [name for name in inspect.signature(self.forward).parameters if name in carriers]
        return tuple(dict.fromkeys(carriers[name] for name in named if self.row.inputs.get(name) != "absent"))

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
        given |= {**self.row.inputs, **self.row.scaled}
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


def row_of(model_type: str, head: str = BASE_HEAD) -> TypeRow:
    """Return what the table says of a type with a head; an empty row when it says nothing.

    A head without a row of its own has the type's, but for the class and the method, under the row that all types
    with that head share (`*/multiple-choice`).
    """
    types = load_rules().types
    row = types.get(model_type, TypeRow())
    if head == BASE_HEAD:
        return row
    own = types.get(f"{model_type}/{head}")
    if own is not None:
        return own
    shared = types.get(f"*/{head}", TypeRow())
    inputs, scaled = {**row.inputs, **shared.inputs}, _kept_scaled(row, shared.inputs) | dict(shared.scaled)
    return replace(row, model_class=None, method=None, inputs=inputs, scaled=scaled)


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
            "scaled": _kept_scaled(above, fields.get("inputs", {})) | fields.get("scaled", {}),
            "config": {**above.config, **fields.get("config", {})},
            "init": {**above.init, **fields.get("init", {})},
            "placeholders": {**above.placeholders, **fields.get("placeholders", {})},
            "runs": {**above.runs, **fields.get("runs", {})},
            "counts": {**above.counts, **fields.get("counts", {})},
            "cached": fields.get("cached", above.cached),
            **{key: fields[key] for key in ("model_class", "config_class", "method", "unused") if key in fields},
        }
    return TypeRow(**fields)


def _kept_scaled(row: TypeRow, inputs: Mapping[str, str]) -> dict[str, str]:
    """Return the scaled spellings of a row that still stand where these inputs go before its own."""
    return {name: text for name, text in row.scaled.items() if name not in inputs}


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
    calls = {"first": _first, "len": len, "list": lambda *elements: list(elements), "max": max, "named": _named}
    return evaluate(text, names, calls)


# Calls of the table by which a size follows an axis; `b`, `s` and `sides` follow theirs by themselves.
_SIZE_CALLS = {"height": "height", "width": "width", "length": "sequence", "frames": "frames", "samples": "samples"}


class _SizedNames(dict[str, Any]):
    """Names of the table, `b` and `s` among them, which are asked for only where an expression has them."""

    def __init__(self, names: Mapping[str, Any], batch: Callable[[], int], length: Callable[[], int]) -> None:
        super().__init__(names)
        self._sized = {"b": batch, "s": length}

    def __missing__(self, name: str) -> int:
        return self._sized[name]()


def _named(tokens: dict[str, int], template: str, count: int, start: int, *, letters: bool = False) -> dict[str, int]:
    """Return token ids by name: `tokens`, and `count` numbered ones from `start` on, digits as letters A to J if so."""
    digits = str.maketrans("0123456789", "ABCDEFGHIJ") if letters else {}
    return tokens | {template.format(str(i).zfill(6).translate(digits)): start + i for i in range(count)}


class _TensorMaker:
    """Evaluates expressions of the table; each call draws from one generator.

    `pixels` are floats that have values where other floats have none, for models that look whether an image is blank.
    `sizes` are the own sizes of the axes that were asked for so far, the first of each where an axis has several.
    """

    def __init__(self, plan: InputPlan, generator: torch.Generator, device: str) -> None:
        self._plan = plan
        self._generator = generator
        self._device = device
        self.sizes: dict[str, int] = {}
        config = plan.config
        self._names: dict[str, Any] = {"c": config, "none": None, "true": True, "false": False}
        self._names |= {which: sub_config(config, which) for which in _SUB_CONFIGS}
        self._calls: dict[str, Callable[..., Any]] = {
            "float": self._float,
            "uniform": self._uniform,
            "pixels": lambda *shape: torch.rand(shape, generator=generator) * 2 - 1,
            "ids": self._ids,
            "tokens": self._tokens,
            "full": lambda value, *shape: torch.full(shape, value),
            "ones": lambda *shape: torch.ones(shape, dtype=torch.long),
            "zeros": lambda *shape: torch.zeros(shape, dtype=torch.long),
            "true_mask": lambda *shape: torch.ones(shape, dtype=torch.bool),
            "positions": lambda length: torch.arange(length).expand(self._batch(), length).contiguous(),
            "tensor": torch.tensor,
            "stacked": lambda count, tensor: tensor.expand(count, *tensor.shape).contiguous(),
            "grid_positions": self._grid_positions,
            "first": _first,
            "sides": self._sides,
            "side": lambda *args: self._sides(*args)[0],
            **{name: partial(self._size, axis) for name, axis in _SIZE_CALLS.items()},
            "isqrt": math.isqrt,
            "prod": lambda values: math.prod(values),
            "max": max,
            "min": min,
            "sum": sum,
            "len": len,
            "list": lambda *elements: list(elements),
            "boxes": self._boxes,
            "grid": _grid,
            "joined": lambda *tensors: torch.cat(tensors, dim=-1),
            "count": lambda modality: plan.counts.get(modality, 0),
            "kinds": self._kinds,
        }

    def value(self, expression: str) -> Any:
        return evaluate(expression, _SizedNames(self._names, self._batch, self._length), self._calls)

    def _size(self, axis: str, own: int) -> int:
        """Return the size of an axis that is `own` by itself."""
        self.sizes.setdefault(axis, own)
        return own if self._plan.resize is None else self._plan.resize.scale(own, axis)

    def _batch(self) -> int:
        return self._size("batch", self._plan.batch_size)

    def _length(self) -> int:
        return self._size("sequence", SEQUENCE_LENGTH)

    def _sides(self, config: Any, default: int = 224) -> tuple[int, int]:
        height, width = _sides(config, default)
        return self._size("height", height), self._size("width", width)

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

    def _grid_positions(self, rows: int, columns: int) -> torch.Tensor:
        """Return (column, row) of each patch of an image, row by row, shape (batch, rows * columns, 2)."""
        places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).flip(-1)
        return places.expand(self._batch(), -1, 2).contiguous()

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
        """(kind, token id) of each place of the sequence: text, then each modality's placeholders, then text.

        Placeholders stand in one run, or in as many as the row says (one for each frame), a start token before each
        run and an end token after it where the config names them, else plain text between runs.
        """
        special = self._special_ids()
        length = self._length()
        places: list[tuple[str, int]] = [("text", -1)] * (length // 2)
        for modality, count in self._plan.counts.items():
            if modality not in special or not count:
                continue
            opening, closing = self._border(modality, "start"), self._border(modality, "end")
            num_runs = self._plan.row.runs.get(modality, 1)
            for _ in range(num_runs):
                places += opening + [(modality, special[modality])] * (count // num_runs) + closing
                places += [("text", -1)] if num_runs > 1 and not closing else []
        return places + [("text", -1)] * (length - length // 2)

    def _border(self, modality: str, side: str) -> list[tuple[str, int]]:
        """Return the token that stands before (`start`) or after (`end`) a run of placeholders, where there is one.

        Its kind is `<modality>_border`.
        """
        names = [f"{modality}_{side}_token_id", *_BORDERS[side, "audio" if modality == "audio" else "vision"]]
        token = _first(self._plan.config, *names, None)
        return [(f"{modality}_border", token)] if isinstance(token, int) else []

    def _tokens(self, vocab_size: int | None = None) -> torch.Tensor:
        """Text ids that are no special token, with the placeholders among them, shape (batch, length)."""
        size: int = vocab_size or _first(sub_config(self._plan.config, "t"), "vocab_size", "n_vocab", 1000)
        layout = self._layout()
        ids = self._ids(size, self._batch(), len(layout))
        taken = {value for value in _integers(self._plan.config)} | set(self._special_ids().values())
        plain = next((i for i in range(_FIRST_PLAIN_ID, size) if i not in taken), 0)
        for token in taken:
            ids[ids == token] = plain
        for position, (_, token) in enumerate(layout):
            if token >= 0:
                ids[:, position] = token
        return ids

    def _kinds(self, image: int = 1, video: int = 2, audio: int = 3, *, borders: bool = False) -> torch.Tensor:
        """Which modality each token belongs to, 0 for text; start and end tokens to that between them if `borders`."""
        numbers = {"image": image, "video": video, "audio": audio}
        if borders:
            numbers |= {f"{modality}_border": number for modality, number in numbers.items()}
        row = [numbers.get(kind, 0) for kind, _ in self._layout()]
        return torch.tensor([row]).repeat(self._batch(), 1)


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


def _grid(num_items: int, height: int, width: int) -> torch.Tensor:
    """Positions (x, y) of the patches of `num_items` pictures, row by row, shape (items, height * width, 2)."""
    y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return torch.stack([x, y], dim=-1).reshape(1, height * width, 2).repeat(num_items, 1, 1)


def _sides(config: Any, default: int = 224) -> tuple[int, int]:
    """Return height and width of a vision config's image."""
    size: Any = _first(config, "image_size", "img_size", "input_size", default)
    if isinstance(size, dict):
        return size.get("height", default), size.get("width", default)
    sides: list[int] = [*size] if isinstance(size, list | tuple) else [size]
    return sides[0], sides[-1]
