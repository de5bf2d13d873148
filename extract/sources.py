"""Where models come from: the registry of sources, and what each makes ready for a run.

A model id opens with the name of its source (`timm/resnet18`, `transformers/bert/masked-lm`). A source module has
`list_models()`, which builds nothing, and `prepare(model_id, preparation)`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, cast

import torch

from extract.failure import Reason, SubjectError
from extract.model_ref import ModelRef
from extract.shape_configs import Resize, Sizes
from extract.transformers_heads import BASE_HEAD

_MODULES = {
    "timm": "extract.timm_source",
    "transformers": "extract.transformers_source",
    "hub": "extract.hub_source",
}

_WITHOUT_MODULES = {"user": "captured", "import": "imported"}
"""Sources whose models exist as graphs alone, and how these came."""

Weights = Literal["meta", "random"]


@dataclass(frozen=True, slots=True)
class Preparation:
    """How to make a model ready.

    `weights`: `meta` builds without memory; `random` builds on the CPU, every parameter and statistic drawn from
    `seed`, scaled by role. `max_params` (a count of elements) refuses larger models; None: any size. `resize` asks for
    inputs of other sizes and, where the architecture is built for one size (`img_size`, a config's `image_size`), for a
    module of that size.
    """

    weights: Weights = "meta"
    seed: int = 0
    batch_size: int = 1
    max_params: int | None = None
    resize: Resize | None = None


@dataclass(frozen=True, slots=True)
class Inputs:
    """Arguments of one forward call. On meta weights floating tensors are on meta; integer and bool ones are real."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A module in eval mode with the record of its model; `make_inputs(seed)` draws arguments for its forward.

    `modality_of` says which arguments carry a modality (text, image, ...), by name.
    `learn` is told how a run failed and returns whether the next inputs will differ: a model's own check may say how
    many placeholder tokens it wants.
    `sizes` are those of the axes that the inputs have; `with_sizes` returns the same module with inputs of other ones
    (all axes named), ValueError from `make_inputs` or `SubjectError` telling that there are none.
    """

    model: ModelRef
    module: torch.nn.Module
    make_inputs: Callable[[int], Inputs]
    modality_of: Mapping[str, str]
    learn: Callable[[SubjectError], bool] | None = None
    sizes: Sizes = field(default_factory=dict[str, int])
    with_sizes: Callable[[Sizes], Prepared] | None = None


class Source(Protocol):
    """What a source module offers."""

    def list_models(self, heads: tuple[str, ...]) -> list[ModelRef]:
        """Return every model that the source names with these task heads, in its order; builds none."""
        ...

    def prepare(self, model_id: str, preparation: Preparation) -> Prepared:
        """Build one model; raises `SubjectError` (unknown_model, build_failed, over_max_params, out_of_memory)."""
        ...


def list_models(source: str, heads: tuple[str, ...] = (BASE_HEAD,)) -> list[ModelRef]:
    """Return every model that a source names, in its order; raises ValueError for an unknown source or head.

    A source without task heads names the same models whatever `heads` says; `ALL_HEADS` among them means every head.
    """
    if source not in _MODULES:
        raise ValueError(f"source {source!r} is none of: {', '.join(_MODULES)}")
    return _source(source).list_models(heads)


def prepare(model_id: str, preparation: Preparation | None = None) -> Prepared:
    """Build one model and make its inputs ready; raises `SubjectError`."""
    name = model_id.partition("/")[0]
    if name in _WITHOUT_MODULES:
        detail = f"there is no model to build: it was {_WITHOUT_MODULES[name]}, and only its graph is kept"
        raise SubjectError(model_id, Reason.UNKNOWN_MODEL, detail)
    if name not in _MODULES:
        detail = f"no source is called {name!r}; model ids open with one of: {', '.join(_MODULES)}"
        raise SubjectError(model_id, Reason.UNKNOWN_MODEL, detail)
    return _source(name).prepare(model_id, preparation or Preparation())


def check_size(model_id: str, module: torch.nn.Module, max_params: int | None) -> int:
    """Return the number of parameters (elements, tied ones once); raises `SubjectError` when they are too many."""
    num_parameters = sum(parameter.numel() for parameter in module.parameters())
    if max_params is not None and num_parameters > max_params:
        detail = f"{num_parameters} parameters, at most {max_params} allowed"
        raise SubjectError(model_id, Reason.OVER_MAX_PARAMS, detail)
    return num_parameters


def _source(name: str) -> Source:
    return cast("Source", importlib.import_module(_MODULES[name]))
