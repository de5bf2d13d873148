"""What a program is told when it asks whether it is being compiled, and where it asks.

Models branch on `torch.compiler.is_compiling()` and its like: in plain Python the answer is no, under Dynamo it is
yes, so the two trace different programs of one model. Here the answer is chosen: for a trace of ours by
place, for Dynamo by its own table of answers. Process-wide while it lasts, so only for a child or a test.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import Any

import torch
import torch._dynamo
import torch._utils
from torch._dynamo.variables.torch import tracing_state_functions

from extract.places import place_of_frame

# The two functions that every other one asks (transformers' is_torchdynamo_compiling and is_tracing among them).
_ASKED = (torch.compiler.is_compiling, torch.compiler.is_dynamo_compiling)
_ASKED_OF_DYNAMO = (
    torch.compiler.is_compiling,
    torch.compiler.is_dynamo_compiling,
    torch._dynamo.external_utils.is_compiling,  # pyright: ignore[reportDeprecated]
    torch._utils.is_compiling,  # pyright: ignore[reportDeprecated]
    torch._dynamo.eval_frame._is_in_optimized_module,
)


@contextlib.contextmanager
def answering(answer: Callable[[str], bool]) -> Iterator[list[str]]:
    """Answer every question of the program by `answer(place)`; yields the places that asked, each once, in order.

    A place is file:line of the code outside the asking helpers (functions named `is_...`).
    """
    places: dict[str, None] = {}

    def asked() -> bool:
        place = _caller_of(sys._getframe(1))
        places.setdefault(place)
        return answer(place)

    found: list[str] = []
    originals = [(function, function.__code__) for function in _ASKED]
    with _probe(asked):
        try:
            for function, _ in originals:
                function.__code__ = _probe_code()
            yield found
        finally:
            for function, code in originals:
                function.__code__ = code
            found.extend(places)


@contextlib.contextmanager
def dynamo_denies_compiling() -> Iterator[None]:
    """Let Dynamo answer no, so that it judges the program that plain Python runs."""
    answers: dict[Any, bool | None] = tracing_state_functions()
    kept = {function: answers[function] for function in _ASKED_OF_DYNAMO}
    answers.update(dict.fromkeys(_ASKED_OF_DYNAMO, False))
    try:
        yield
    finally:
        answers.update(kept)


@contextlib.contextmanager
def _probe(asked: Callable[[], bool]) -> Iterator[None]:
    torch.compiler._passnet_asked = asked  # pyright: ignore[reportAttributeAccessIssue]
    try:
        yield
    finally:
        del torch.compiler._passnet_asked  # pyright: ignore[reportAttributeAccessIssue]


def _probe_code() -> CodeType:
    """Code for a function of module torch.compiler: whoever holds the function object asks us."""

    def ask() -> bool:
        return _passnet_asked()  # type: ignore[name-defined] # noqa: F821 # pyright: ignore[reportUndefinedVariable]

    return ask.__code__


def _caller_of(frame: FrameType) -> str:
    """The place that asked: the first frame below helpers that only pass the question on."""
    caller: FrameType | None = frame.f_back
    while caller is not None and caller.f_back is not None and _passes_on(caller.f_code.co_name):
        caller = caller.f_back
    return place_of_frame(caller or frame)


def _passes_on(name: str) -> bool:
    return name.lstrip("_").startswith("is_")
