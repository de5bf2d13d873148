"""A graph without a model (an imported sample) at other sizes and dtypes: what re-tracing gives where there is a model.

The axes of the data inputs are named by position: dimension 0 is the batch; an image has its height and width last, a
video frames before them, tokens a sequence, a waveform samples; other inputs have an axis where a dimension is of its
size. Sizes inside the program follow (`extract.repropagation`), which is a reading of recorded numbers and no
proof: a size is the likeliest that lets the whole program run. What comes back was run on meta tensors, has the
structure of the old graph, and a second replay of it gives the outputs that it records; all else is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from extract.graph import (
    Arg,
    ArgList,
    Graph,
    TensorMeta,
    TorchConstant,
    contiguous_stride,
    is_contiguous,
)
from extract.hashing import structure_sha256
from extract.replay import replay
from extract.repropagation import RepropagationError, repropagate
from extract.shape_memo import ShapeMemo
from extract.validation import meta_operands
from extract.verdicts import output_facts, recorded_facts

FLOATS: Final = ("float32", "float16", "bfloat16", "float64")
_MAX_CHANNELS: Final = 4


@dataclass(frozen=True, slots=True)
class InputAxes:
    """The named axes of a graph's data inputs: the size of each, and per input (position in the tensor table) which
    axis each dimension is, None for one that stays."""

    sizes: Mapping[str, int]
    names: Mapping[int, tuple[str | None, ...]]


def name_axes(graph: Graph) -> InputAxes:
    """Return the axes of the data inputs, by position and size."""
    inputs = {index: meta for index, meta in enumerate(graph.tensors) if meta.kind == "input" and meta.shape}
    sizes: dict[str, int] = {}
    names: dict[int, tuple[str | None, ...]] = {}
    for index, meta in inputs.items():
        named = _names_by_position(meta)
        for name, size in zip(named, meta.shape, strict=True):
            if name is not None:
                sizes.setdefault(name, size)
        names[index] = tuple(
            [name if name and sizes[name] == size else None for name, size in zip(named, meta.shape, strict=True)]
        )
    by_size = {size: name for name, size in sizes.items() if name != "batch" and size > 1}
    for index, meta in inputs.items():
        pairs = zip(names[index], meta.shape, range(len(meta.shape)), strict=True)
        names[index] = tuple([name or (by_size.get(size) if dim else None) for name, size, dim in pairs])
    return InputAxes(sizes, names)


def _names_by_position(meta: TensorMeta) -> tuple[str | None, ...]:
    rank = len(meta.shape)
    if meta.dtype not in FLOATS:
        return ("batch", "sequence", *[None] * (rank - 2))[:rank]
    if rank == 5:
        has_channels_first = meta.shape[1] <= _MAX_CHANNELS < meta.shape[2]
        return ("batch", None, "frames", "height", "width") if has_channels_first else (
            "batch", "frames", None, "height", "width")  # fmt: skip
    if rank == 4 and meta.shape[1] <= _MAX_CHANNELS:
        return ("batch", None, "height", "width")
    if rank == 2 and meta.shape[1] >= 400:
        return ("batch", "samples")
    return ("batch", *[None] * (rank - 1))


def resize(graph: Graph, sizes: Mapping[str, int], dtype: str | None = None) -> Graph:
    """Return the graph at new sizes of some of its axes, floating tensors in `dtype` where that is given.

    Raises `RepropagationError` where the program does not run so or cannot be checked, and ValueError for an axis
    that its inputs lack. A few replays on meta tensors.
    """
    axes = name_axes(graph)
    if unknown := [name for name in sizes if name not in axes.sizes]:
        raise ValueError(f"no input has an axis {unknown[0]!r}; there are: {', '.join(axes.sizes)}")
    tensors = [_resized(meta, axes.names.get(index, ()), sizes, dtype) for index, meta in enumerate(graph.tensors)]
    if any(meta.dtype != old.dtype for meta, old in zip(tensors, graph.tensors, strict=True)):
        _refuse_named_dtypes(graph)
    return _checked(graph, repropagate(graph, tensors))


def _refuse_named_dtypes(graph: Graph) -> None:
    """Refuse a program that names float32: whether it means that or the dtype of what it was given is not recorded."""
    for index, node in enumerate(graph.nodes):
        if any(_names_float32(arg) for arg in (*node.args, *[arg for _, arg in node.kwargs])):
            raise RepropagationError(index, f"{node.target} names float32, or the dtype of a tensor")


def _names_float32(arg: Arg) -> bool:
    if isinstance(arg, tuple | ArgList):
        return any(map(_names_float32, arg if isinstance(arg, tuple) else arg.elements))
    return arg == TorchConstant("dtype", "float32")


def _resized(meta: TensorMeta, names: Sequence[str | None], sizes: Mapping[str, int], dtype: str | None) -> TensorMeta:
    """Return a tensor's record at new sizes; what was said of its values is left out where it no longer holds."""
    padded = [*names, *[None] * (len(meta.shape) - len(names))]
    shape = tuple([sizes.get(name, size) if name else size for name, size in zip(padded, meta.shape, strict=True)])
    is_cast = dtype is not None and meta.dtype == "float32" and meta.kind != "constant"
    if shape == meta.shape:
        return replace(meta, dtype=dtype) if is_cast else meta
    if not is_contiguous(meta.shape, meta.stride):
        raise RepropagationError(0, f"input {meta.name} is not contiguous: its strides at other sizes are not known")
    new_dtype = str(dtype) if is_cast else meta.dtype
    return replace(meta, shape=shape, stride=contiguous_stride(shape), dtype=new_dtype, values=None)


def _checked(old: Graph, new: Graph) -> Graph:
    """Return the new graph if it has the old one's structure and a replay gives what it records."""
    if structure_sha256(new) != structure_sha256(old):
        raise RepropagationError(len(new.nodes), "the program has another structure at these sizes")
    made = output_facts(replay(new, meta_operands(new.tensors), memo=ShapeMemo()))
    if made != [recorded_facts(new, ref) for ref in new.outputs]:
        raise RepropagationError(len(new.nodes), "a replay gives other outputs than were recorded")
    return new
