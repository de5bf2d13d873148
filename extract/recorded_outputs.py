"""A graph whose calls' outcomes are unknown to one that records them: each call runs once on meta tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from extract.graph import Graph, OutputMeta
from extract.operands import meta_operands
from extract.replay import replay
from extract.shape_memo import ShapeMemo
from extract.statistics import dtype_name


def record_outputs(graph: Graph) -> Graph:
    """Return `graph` with the shape, stride and dtype of what each call returns, as on meta tensors.

    Raises what torch raises on a call that meta tensors do not carry through, or that takes what such a call returns
    (a shape that takes values to know); and `extract.spelling.UnknownCallable`.
    """
    outputs: list[tuple[OutputMeta, ...]] = []

    def execute(index: int, run: Callable[[], Any]) -> Any:
        returned = run()
        outputs.append(tuple(describe_outputs(returned)))
        return returned

    replay(graph, meta_operands(graph.tensors), torch.device("meta"), _known_calls(), execute)
    nodes = [replace(node, outputs=made) for node, made in zip(graph.nodes, outputs, strict=True)]
    return replace(graph, nodes=tuple(nodes))


@lru_cache(maxsize=1)
def _known_calls() -> ShapeMemo:
    return ShapeMemo()


def describe_outputs(value: Any, path: tuple[int, ...] = ()) -> Iterator[OutputMeta]:
    """Yield the record of each tensor that a call returned, by where it sits in the returned structure."""
    if isinstance(value, torch.Tensor):
        yield OutputMeta(path, tuple(value.shape), tuple(value.stride()), dtype_name(value.dtype))
    elif isinstance(value, tuple | list):
        for position, element in enumerate(value):
            yield from describe_outputs(element, (*path, position))
