"""A module to the graphs that Dynamo makes of it: `torch.compile` with a backend that keeps what it is handed.

The module runs once, for real, on real tensors without gradients; each graph is read when it first runs, so that
parts are in the order of execution and every tensor is known for what it is: a data input, a parameter or buffer by
its qualified name, a constant, or what an earlier part (or the Python between) made. Shapes, ints and floats are
literals. A module that Dynamo takes in one piece gives one part, whose outputs are the flattened tensors that forward
returns, as in `extract.tracer`; several parts return what Dynamo hands on. What runs between parts in plain Python
is in none of them.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import torch
import torch._dynamo
from torch import fx
from torch._dynamo.exc import FailOnRecompileLimitHit, TorchDynamoException

from extract.arguments import UnsupportedArgument, map_tensors
from extract.assembly import assemble
from extract.failure import Reason, SubjectError, describe
from extract.fx import Calls, read_calls
from extract.graph import Graph, Ref
from extract.places import place_of_summary
from extract.spelling import UnknownCallable
from extract.tensor_identity import TensorIdentity
from extract.tracer import flatten_tensors, named_arguments

# Recompiles are parts of their own. Past its limits (8 and 256) Dynamo runs plain Python without a word, and ops would
# be lost; these are far above what a model's blocks need, and reaching them is an error.
_SETTINGS: dict[str, Any] = {
    "recompile_limit": 256,
    "accumulated_recompile_limit": 4096,
    "fail_on_recompile_limit_hit": True,
    "automatic_dynamic_shapes": False,
    "specialize_int": True,
    "specialize_float": True,
    "suppress_errors": False,
}
# With these a read of a value inside an assert, and an op whose shape takes values, end no graph; sizes that follow
# values are then symbols.
_CAPTURING_VALUES = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}


@dataclass(frozen=True, slots=True)
class Part:
    """One graph that Dynamo made. `break_reason` is what ended it, one line; None when it ran to a return.

    `operands` are the tensors behind `graph.tensors`, by name: the module's own, or as they were when the part ran.
    """

    graph: Graph
    break_reason: str | None
    operands: Mapping[str, torch.Tensor]


@dataclass(slots=True)
class _Run:
    """One graph module as it ran first: who its operands are, and what it returned."""

    module: fx.GraphModule
    identity: TensorIdentity
    placeholders: dict[str, Ref]
    returned: tuple[Any, ...]


def capture_parts(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    subject: str,
    captures_values: bool = False,
) -> list[Part]:
    """Run `module(*args, **kwargs)` once under Dynamo and return its graphs in the order of their first execution.

    With `captures_values` fewer reads of values end a graph, but outputs may have symbols for sizes; where Dynamo fails
    that way, it runs once more without.

    Forgets what Dynamo compiled before, and afterwards what it compiled now. Raises `SubjectError`: dynamo_failed,
    forward_failed, unsupported_argument, out_of_memory. Costs seconds: 5 to 50 times what `extract.tracer` does.
    """
    settings = {**_SETTINGS, **_CAPTURING_VALUES} if captures_values else _SETTINGS
    try:
        keeper, returned = _compile_and_run(module, args, dict(kwargs or {}), subject, settings)
    except SubjectError as error:
        if error.reason != Reason.DYNAMO_FAILED or not captures_values:
            raise
        keeper, returned = _compile_and_run(module, args, dict(kwargs or {}), subject, _SETTINGS)
    if not keeper.runs:
        raise SubjectError(subject, Reason.DYNAMO_FAILED, "Dynamo made no graph: forward ran in plain Python")
    try:
        if len(keeper.runs) == 1:
            return [_whole(keeper.runs[0], list(flatten_tensors(returned)))]
        return [_part(run, read_calls(run.module, _metas(run), run.placeholders)) for run in keeper.runs]
    except (UnknownCallable, UnsupportedArgument, TypeError) as error:
        raise SubjectError(subject, Reason.UNSUPPORTED_ARGUMENT, describe(error)) from error


def _compile_and_run(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], subject: str, settings: Mapping[str, Any]
) -> tuple[_Keeper, Any]:
    keeper = _Keeper(module, args, kwargs, subject)
    with _fresh_dynamo(settings):
        try:
            with torch.no_grad():
                return keeper, torch.compile(module, backend=keeper.backend, dynamic=False)(*args, **kwargs)
        except MemoryError as error:
            raise SubjectError(subject, Reason.OUT_OF_MEMORY, describe(error)) from error
        except Exception as error:  # foreign code
            is_dynamo = isinstance(error, TorchDynamoException | FailOnRecompileLimitHit)
            reason = Reason.DYNAMO_FAILED if is_dynamo else Reason.FORWARD_FAILED
            raise SubjectError(subject, reason, describe(error)) from error


class _Keeper:
    """The backend: runs each graph module as it is, and keeps its first run."""

    def __init__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], subject: str) -> None:
        self.runs: list[_Run] = []
        self._module = module
        self._inputs = named_arguments(module, args, kwargs)
        self._subject = subject

    def backend(self, module: fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
        """Return what runs in the graph module's place."""
        kept = False

        def run(*operands: Any) -> Any:
            nonlocal kept
            if kept:
                return module.forward(*operands)
            kept = True
            identity, placeholders = self._identify(module, operands)
            number = len(self.runs)
            self.runs.append(_Run(module, identity, placeholders, ()))
            self.runs[number].returned = tuple(module.forward(*operands))
            return self.runs[number].returned

        return run

    def _identify(self, module: fx.GraphModule, operands: Sequence[Any]) -> tuple[TensorIdentity, dict[str, Ref]]:
        """Tell who each operand is; after the first part, a tensor of unknown origin is an input of the part."""
        identity = TensorIdentity(self._module, self._subject, None)
        if not self.runs:
            for name, tensor in self._inputs:
                if identity.find(tensor) is None:
                    identity.lift(tensor, "input", name)
        placeholders: dict[str, Ref] = {}
        nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
        for node, operand in zip(nodes, operands, strict=True):
            if isinstance(operand, torch.Tensor):
                placeholders[str(node.target)] = self._ref_of(identity, operand, str(node.target))
        return identity, placeholders

    def _ref_of(self, identity: TensorIdentity, operand: torch.Tensor, placeholder: str) -> Ref:
        known = identity.find(operand)
        if known is not None:
            return known
        for name, tensor in self._inputs:
            if tensor is operand:
                return identity.lift(operand, "input", name)
        if self.runs and not identity.is_held(operand):
            return identity.lift(operand, "input", placeholder)
        return identity.ref_of(operand)


def _whole(run: _Run, returned: list[torch.Tensor]) -> Part:
    """The one part of a module, returning what forward returns where that can be told."""
    calls = read_calls(run.module, _metas(run), run.placeholders)
    made: dict[int, Ref] = {}
    leaves: list[torch.Tensor] = []
    map_tensors(list(run.returned), leaves.append)
    for tensor, ref in zip(leaves, calls.outputs, strict=True):
        made.setdefault(id(tensor), ref)
    outputs = [made.get(id(tensor)) or run.identity.find(tensor) for tensor in returned]
    known = [ref for ref in outputs if ref is not None]
    return _part(run, replace(calls, outputs=known) if len(known) == len(outputs) else calls)


def _part(run: _Run, calls: Calls) -> Part:
    graph, _ = assemble(calls.nodes, calls.tensors, calls.outputs, ())
    operands = {lifted.meta.name: lifted.tensor for lifted in run.identity.lifted}
    own = calls.tensors[len(operands) :]
    held: dict[str, Any] = {meta.name: attrgetter(meta.original_name)(run.module) for meta in own}
    return Part(graph, _break_reason(run.module), {**operands, **held})


def _metas(run: _Run) -> list[Any]:
    return [lifted.meta for lifted in run.identity.lifted]


def _break_reason(module: fx.GraphModule) -> str | None:
    """What ended a part, in one line with the place in the model's code; None for the end of a function."""
    reason: Any = getattr(module, "compile_subgraph_reason", None)
    if reason is None or not reason.graph_break:
        return None
    said = str(reason.reason).strip().partition("\n")[0]
    return f"{said} at {place_of_summary(reason.user_stack[-1])}" if reason.user_stack else said


@contextlib.contextmanager
def _fresh_dynamo(settings: Mapping[str, Any]) -> Iterator[None]:
    torch._dynamo.reset()
    try:
        with torch._dynamo.config.patch(**settings), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        torch._dynamo.reset()
