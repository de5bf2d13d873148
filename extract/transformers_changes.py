"""What is changed in transformers so that the tracer can record a forward; what it computes stays the same."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, cast

import torch
from transformers import masking_utils

log = logging.getLogger(__name__)


def run_experts_as_batches(module: torch.nn.Module) -> None:
    """Let experts be one batched product, also those whose config is a layer's own copy (`per_layer_config`)."""
    try:
        cast("Any", module).set_experts_implementation("batched_mm")
    except (ValueError, AttributeError, KeyError) as error:
        log.debug("%s keeps its experts' implementation: %s", type(module).__name__, error)
        return
    for submodule in module.modules():
        config: Any = getattr(submodule, "config", None)
        if getattr(config, "_experts_implementation_internal", None) == "grouped_mm":
            config._experts_implementation_internal = "batched_mm"


@lru_cache(maxsize=1)
def build_masks_by_broadcast() -> None:
    """Let transformers make every attention mask by broadcasting index tensors.

    For masks made of several functions it uses `torch.vmap`, whose inner tensors no recorded call explains; the values
    are the same.
    """
    masks = masking_utils.ALL_MASK_ATTENTION_FUNCTIONS
    for name in ("sdpa", "eager"):
        masks.register(name, partial(_by_broadcast, masks[name]))


def _by_broadcast(make_mask: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return make_mask(*args, **{**kwargs, "use_vmap": False})


def forget_cached_tensors() -> None:
    """Empty the caches of modeling functions (`lru_cache`), which outlive a model and hold tensors of the last run."""
    for name in list(sys.modules):
        if name.startswith("transformers.models.") and ".modeling_" in name:
            for clear in _cache_clearers(name):
                clear()


@lru_cache(maxsize=4096)
def _cache_clearers(name: str) -> tuple[Callable[[], None], ...]:
    module = sys.modules[name]
    return tuple(wrapped.cache_clear for function in _functions(module) for wrapped in _cached(function))


def _functions(module: ModuleType) -> Iterator[Any]:
    """Yield the functions of a module and of its classes, static methods unwrapped."""
    for value in list(vars(module).values()):
        members = vars(value).values() if isinstance(value, type) and value.__module__ == module.__name__ else (value,)
        for member in members:
            yield getattr(member, "__func__", member)


def _cached(function: Any) -> Iterator[Any]:
    """Yield the cached functions that a function is or wraps (in its closure)."""
    candidates = [function, *(cell.cell_contents for cell in getattr(function, "__closure__", None) or ())]
    yield from (candidate for candidate in candidates if hasattr(candidate, "cache_clear"))
