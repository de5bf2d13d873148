"""One call of a user's module, recorded while it runs: the tracer of `extract.tracer`, made harmless.

The differences to a trace: gradients stay as they are; what cannot be recorded ends the recording and not the call;
aliases that the recorder hands out (a call that returns its operand gets another object, so that both can be told
apart) carry gradients, and give way to the originals in what the call returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from extract.assembly import assemble
from extract.failure import Reason, SubjectError, describe
from extract.fast_paths import copied_call, may_be_fused, same_random_state
from extract.graph import Graph, Node, Ref
from extract.model_ref import ValueRead
from extract.recorder import Recorder
from extract.tensor_identity import TensorIdentity
from extract.tracer import flatten_tensors, named_arguments
from extract.witness import Witness


class CapturedCall:
    """What one call returned, and what was recorded of it.

    `assigned` names buffers that the call put another tensor in the place of: the graph does not return those.
    """

    def __init__(
        self,
        returned: Any,
        recorder: _HarmlessRecorder | None,
        outputs: list[Ref],
        why: SubjectError | None,
        assigned: tuple[str, ...] = (),
    ) -> None:
        self.returned = returned
        self.assigned = assigned
        self.value_reads: tuple[ValueRead, ...] = ()
        self._recorder = recorder
        self._outputs = outputs
        self._why = why

    def graph(self) -> Graph:
        """Return the graph of the call; raises `SubjectError` where it could not be recorded."""
        if self._why is not None or self._recorder is None:
            raise self._why or SubjectError("", Reason.UNTRACKED_TENSOR, "nothing was recorded")
        recorder = self._recorder
        metas = [lifted.meta for lifted in recorder.identity.lifted]
        graph, self.value_reads = assemble(recorder.nodes, metas, self._outputs, recorder.reads)
        return graph


def record_call(
    module: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, subject: str
) -> CapturedCall:
    """Run `forward(*args, **kwargs)` and return what it returns, with its recording; raises what forward does.

    Of a module that would run otherwise when watched (`extract.fast_paths`) a copy is recorded.
    """
    if not may_be_fused(module):
        return _record(module, forward, args, kwargs, subject)
    with same_random_state():
        try:
            twin, twin_args, twin_kwargs = copied_call(module, args, kwargs)
            recorded = _record(twin, twin.forward, twin_args, twin_kwargs, subject)
        except Exception as error:  # foreign code: the call below says the same, or there is no copy
            why = SubjectError(subject, Reason.FORWARD_FAILED, f"a copy of it cannot be called: {describe(error)}")
            recorded = CapturedCall(None, None, [], why)
    recorded.returned = forward(*args, **kwargs)
    return recorded


def _record(
    module: torch.nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], subject: str
) -> CapturedCall:
    try:
        recorder, witness = _prepare(module, args, kwargs, subject)
    except SubjectError as why:
        return CapturedCall(forward(*args, **kwargs), None, [], why)
    except Exception as error:  # foreign code: sparse, quantised and nested tensors lack what a plain one has
        return CapturedCall(forward(*args, **kwargs), None, [], _unsupported(subject, error))
    buffers = dict(module.named_buffers())
    with recorder, witness:
        returned = forward(*args, **kwargs)
    failure = recorder.failure or witness.failure
    assigned = tuple(name for name, buffer in module.named_buffers() if buffer is not buffers.get(name))
    outputs: list[Ref] = []
    if failure is None:
        try:
            recorder.finish(list(flatten_tensors(returned)))
            outputs = [recorder.identity.ref_of(tensor) for tensor in flatten_tensors(returned)]
            if not outputs:
                detail = f"forward returned {type(returned).__qualname__}"
                failure = SubjectError(subject, Reason.NO_TENSOR_OUTPUT, detail)
        except SubjectError as why:
            failure = why
        except Exception as error:  # foreign code: as above
            failure = _unsupported(subject, error)
    return CapturedCall(_with_originals(returned, recorder), recorder, outputs, failure, assigned)


def _prepare(
    module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], subject: str
) -> tuple[_HarmlessRecorder, _HarmlessWitness]:
    arguments = named_arguments(module, args, kwargs)
    tensors = [*(tensor for _, tensor in arguments), *module.parameters(), *module.buffers()]
    if any(tensor.is_meta or isinstance(tensor, FakeTensor) for tensor in tensors):
        raise SubjectError(subject, Reason.UNSUPPORTED_ARGUMENT, "tensors without values; call it on real ones")
    with torch.no_grad():
        identity = TensorIdentity(module, subject, None)
        for name, tensor in arguments:
            if identity.find(tensor) is None:
                identity.lift(tensor, "input", name)
        identity.origins.remember_existing()
    witness = _HarmlessWitness(identity, subject, is_meta=False)
    return _HarmlessRecorder(identity, [], subject, None, witness), witness


def _unsupported(subject: str, error: Exception) -> SubjectError:
    return SubjectError(subject, Reason.UNSUPPORTED_ARGUMENT, f"a tensor that is not a plain one: {describe(error)}")


class _HarmlessRecorder(Recorder):
    """Records until something cannot be recorded; from then on calls just run."""

    def __init__(
        self, identity: TensorIdentity, nodes: list[Node], subject: str, valueless: None, witness: Witness
    ) -> None:
        super().__init__(identity, nodes, subject, valueless, witness)
        self.identity = identity
        self.originals: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # id of an alias: it, and what it is of
        self._witness = witness
        self._called: Any = None  # what the program called, and what that returned once it ran
        self._ran: list[Any] = []

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self.failure is not None or self._witness.failure is not None:
            return func(*args, **(kwargs or {}))
        outer = self._called, self._ran
        self._called, self._ran = func, []
        try:
            return super().__torch_function__(func, types, args, kwargs)
        except SubjectError as failure:
            self.failure = self.failure or failure
            return self._ran[0] if self._ran else func(*args, **(kwargs or {}))
        except Exception as error:  # foreign code: its own error comes again here, another is of a tensor not plain
            returned = self._ran[0] if self._ran else func(*args, **(kwargs or {}))
            self.failure = self.failure or _unsupported(self._subject, error)
            return returned
        finally:
            self._called, self._ran = outer

    def _execute(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        ran = self._ran if func is self._called else []  # autocast's casts are calls of our own
        returned = super()._execute(func, args, kwargs)
        ran.append(returned)
        return returned

    def _deep_copy(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record `copy.deepcopy(x)` as a clone, and copy as Python does: a copy is a leaf, a clone is not."""
        tensor, memo = args

        def run() -> Any:
            self._ran.append(func(tensor, memo))
            return self._ran[0]

        return self._record_call(torch.Tensor.clone, (tensor,), {}, run)

    def _alias(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.requires_grad:
            with torch.enable_grad():
                alias = tensor.view_as(tensor)
        else:
            alias = tensor.detach()
        original = self.originals.get(id(tensor), (tensor, tensor))[1]
        self.originals[id(alias)] = (alias, original)
        return alias


class _HarmlessWitness(Witness):
    """Notes what cannot be recorded and lets it run."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if self.failure is not None:
            return func(*args, **(kwargs or {}))
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except SubjectError:  # kept in `failure`, and raised before anything ran
            return func(*args, **(kwargs or {}))


def _with_originals(returned: Any, recorder: _HarmlessRecorder) -> Any:
    """Return what the call returned with the originals in the place of their aliases."""
    return _replaced(returned, recorder.originals) if recorder.originals else returned


def _replaced(value: Any, originals: Mapping[int, tuple[torch.Tensor, torch.Tensor]]) -> Any:
    if isinstance(value, torch.Tensor):
        entry = originals.get(id(value))
        return entry[1] if entry is not None else value
    if isinstance(value, list):
        for position, element in enumerate(value):
            value[position] = _replaced(element, originals)
    elif isinstance(value, dict):
        for key, element in list(value.items()):
            found = _replaced(element, originals)
            if found is not element:
                value[key] = found
    elif isinstance(value, tuple):
        elements = [_replaced(element, originals) for element in value]
        if any(new is not old for new, old in zip(elements, value, strict=True)):
            if hasattr(value, "_fields"):
                return type(value)(*elements)
            return tuple(elements) if type(value) is tuple else type(value)(elements)
    elif is_dataclass(value) and not isinstance(value, type):
        return _replaced_fields(value, originals)
    return value


def _replaced_fields(value: Any, originals: Mapping[int, tuple[torch.Tensor, torch.Tensor]]) -> Any:
    for field in fields(value):
        element = getattr(value, field.name, None)
        found = _replaced(element, originals)
        if found is not element:
            object.__setattr__(value, field.name, found)
    return value
