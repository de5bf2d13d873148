"""One run of a module to one graph: a function mode records every torch-level call (design.md section 4).

The run may be on meta, fake or real tensors; the program is the same. On tensors without values the program sees a CPU
(`x.device`, `x.is_cuda`), device literals are recorded as such and executed on the tensors' own device, and
values that follow from literals are computed on the side (`extract.known_values`).

What becomes a node: every call that returns tensors or mutates one, composites (`F.multi_head_attention_forward`)
as one. What does not: facts about a tensor (shape, dtype, ...), grad-mode switches, asserts, and reads of values,
which are listed apart as `ValueRead`. Rules that keep a replay true:
- a mutating call gives the same object its newest ref; another call that returns its operand unchanged
  (`contiguous`, `to`, dropout in eval mode) hands out an alias, so that the operand keeps its own ref;
- after `x.data = y` the object x stands for y's ref (they share storage);
- what runs outside the recorded calls (C++ functions, scripts, `x.real = y`, transforms) is seen by `extract.witness`:
  writing into a tensor, or using what it made, ends the trace;
- inside autocast the casts are explicit `torch.Tensor.to` nodes (`extract.autocast`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from extract.assembly import assemble
from extract.failure import Reason, SubjectError, describe
from extract.graph import Graph, Node, Ref
from extract.model_ref import ValueRead
from extract.program_prefix import EndOfPrefix, Prefix
from extract.recorder import NeedsFakeTensors, Recorder
from extract.tensor_identity import TensorIdentity, children
from extract.valueless import Valueless
from extract.witness import Witness

TensorMode = Literal["meta", "fake", "real"]


@dataclass(frozen=True, slots=True)
class Recording:
    """What one run of a module yields; `constants` are the tensors of that kind themselves, by name. `calls` and
    `results` are the program as recorded, before what nobody uses was left out."""

    graph: Graph
    value_reads: tuple[ValueRead, ...]
    tensor_mode: TensorMode
    constants: Mapping[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])
    calls: Sequence[Node] = ()
    results: Sequence[Ref] = ()


def trace_module(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    subject: str,
    prefix: Prefix | None = None,
) -> Recording:
    """Run `module(*args, **kwargs)` once without gradients and return its graph.

    With `prefix` the run ends after its calls, and the graph returns what the rest of the program would use; raises
    `OpsDiffer` where the run began otherwise.

    The tensors' kind decides the mode: any meta tensor among parameters, buffers and inputs makes it meta, else any
    fake one fake, else real. Data inputs are the tensors in the arguments, in forward's order. Mutates the module as
    its forward does. Raises `SubjectError`, and `NeedsFakeTensors` for autocast on meta tensors.
    """
    arguments = named_arguments(module, args, dict(kwargs or {}))
    tensor_mode, fake_mode = _tensor_mode(module, [tensor for _, tensor in arguments])
    identity = TensorIdentity(module, subject, _twin_maker(tensor_mode, fake_mode))
    for name, tensor in arguments:
        if identity.find(tensor) is None:
            identity.lift(tensor, "input", name)
    nodes: list[Node] = []
    valueless = None if tensor_mode == "real" else Valueless(identity, nodes, fake_mode)
    if valueless is None:
        identity.origins.remember_existing()
    witness = Witness(identity, subject, is_meta=tensor_mode == "meta")
    last_call = None if prefix is None else len(prefix.op_names)
    recorder = Recorder(identity, nodes, subject, valueless, witness, last_call)
    returned = _run(recorder, witness, module, args, dict(kwargs or {}), subject)
    outputs: Sequence[Ref]
    if prefix is not None:
        prefix.check(nodes)
        outputs = prefix.results
    else:
        recorder.finish(list(flatten_tensors(returned)))
        outputs = [identity.ref_of(tensor) for tensor in flatten_tensors(returned)]
        if not outputs:
            raise SubjectError(subject, Reason.NO_TENSOR_OUTPUT, f"forward returned {type(returned).__qualname__}")
    metas = [lifted.meta for lifted in identity.lifted]
    graph, value_reads = assemble(recorder.nodes, metas, outputs, recorder.reads)
    constants = {lifted.meta.name: lifted.tensor for lifted in identity.lifted if lifted.meta.kind == "constant"}
    return Recording(graph, value_reads, tensor_mode, constants, tuple(nodes), tuple(outputs))


def flatten_tensors(container: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors of nested lists, tuples, mappings and dataclasses in their own order."""
    if isinstance(container, torch.Tensor):
        yield container
    else:
        for _, element in children(container):
            yield from flatten_tensors(element)


def _run(recorder: Recorder, witness: Witness, module: torch.nn.Module, args: Any, kwargs: Any, subject: str) -> Any:
    try:
        with torch.no_grad(), recorder, witness:
            returned = module(*args, **kwargs)
    except (SubjectError, NeedsFakeTensors):
        raise
    except EndOfPrefix:
        returned = None
    except MemoryError as error:
        raise SubjectError(subject, Reason.OUT_OF_MEMORY, describe(error)) from error
    except Exception as error:  # foreign code
        if failure := recorder.failure or witness.failure:
            raise failure from error
        raise SubjectError(subject, Reason.FORWARD_FAILED, describe(error)) from error
    if failure := recorder.failure or witness.failure:
        raise failure
    return returned


def named_arguments(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[str, torch.Tensor]]:
    """Return the tensors among the arguments, in forward's order, with the names that a graph's inputs have."""
    try:
        bound: Mapping[str, Any] = inspect.signature(module.forward).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        bound = {**{f"input_{position}": arg for position, arg in enumerate(args)}, **kwargs}
    return [pair for name, argument in bound.items() for pair in _named_tensors(name, argument)]


def _named_tensors(name: str, argument: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(argument, torch.Tensor):
        yield name, argument
    else:
        for step, element in children(argument):
            yield from _named_tensors(f"{name}_{step}", element)


def _tensor_mode(module: torch.nn.Module, inputs: list[torch.Tensor]) -> tuple[TensorMode, FakeTensorMode | None]:
    tensors = [*inputs, *module.parameters(), *module.buffers()]
    fake = next((tensor for tensor in tensors if isinstance(tensor, FakeTensor)), None)
    if fake is not None:
        return "fake", fake.fake_mode
    return ("meta" if any(tensor.is_meta for tensor in tensors) else "real"), None


def _twin_maker(
    tensor_mode: TensorMode, fake_mode: FakeTensorMode | None
) -> Callable[[torch.Tensor], torch.Tensor] | None:
    if fake_mode is not None:
        return fake_mode.from_tensor
    return (lambda tensor: tensor.to("meta")) if tensor_mode == "meta" else None
