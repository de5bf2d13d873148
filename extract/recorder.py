"""The function mode that records calls: spells each, executes it, and binds what it returns to a ref.

How a call is executed depends on the tensors: real ones simply run; for meta and fake ones `extract.valueless` stands
between. Behaviour by function is a table: facts about tensors are answered, value reads noted, the rest recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy
import torch
from torch.overrides import TorchFunctionMode

from extract import autocast
from extract.arguments import UnsupportedArgument, encode, map_tensors
from extract.assembly import RecordedRead
from extract.canonical import canonical_op, has_effect, written_operands
from extract.custom_ops import declare_op
from extract.custom_schemas import is_custom
from extract.exposed_memory import EXPOSING_NAMES
from extract.failure import Reason, SubjectError
from extract.graph import Arg, ArgSlice, Node, OpRef, OutputMeta, Ref, iter_refs
from extract.program_prefix import EndOfPrefix
from extract.spelling import UnknownCallable, spell_call
from extract.statistics import dtype_name
from extract.tensor_identity import TensorIdentity
from extract.valueless import EXECUTION_ERRORS, Valueless
from extract.witness import Witness

# Facts about a tensor, and switches: answered, never recorded.
_FACT_METHODS = (
    "dim size stride numel nelement element_size is_contiguous is_floating_point is_complex is_signed storage_offset "
    "requires_grad_ retain_grad register_hook ndimension is_pinned is_inference is_conj is_neg is_shared "
    "has_names is_set_to is_same_size is_coalesced __len__ __hash__ __repr__ __format__ "
    "__dir__"
).split()
_FACT_PROPERTIES = (
    "shape dtype ndim requires_grad layout is_leaf grad grad_fn names is_sparse is_sparse_csr is_quantized is_mkldnn "
    "is_nested is_mps is_xpu is_cuda output_nr _version itemsize nbytes is_vulkan is_ipu is_xla is_mtia "
    "retains_grad name volatile _backward_hooks"
).split()

# Answers that depend on a tensor's values.
_READ_METHODS = (
    "item tolist numpy equal allclose is_nonzero __bool__ __int__ __float__ __complex__ __index__ __contains__ "
    "__array__ __dlpack__"
).split()
_READ_FUNCTIONS = ("equal", "allclose", "is_nonzero")

# Ops whose output shape depends on values.
_VALUE_SHAPED = frozenset(
    {"nonzero", "argwhere", "unique", "unique_consecutive", "masked_select", "bincount", "torchvision.nms"}
)
_MASK_DTYPES = (torch.bool, torch.uint8)

# A Python function that dispatches itself from its own body is not followed more often than this.
_MAX_RECURSION = 4


class NeedsFakeTensors(Exception):
    """The program uses autocast, which meta tensors do not follow: trace it on fake tensors."""


class Recorder(TorchFunctionMode):
    """Records into `nodes` and `reads`; `failure` keeps a `SubjectError` that foreign code may have swallowed.

    `valueless` is None when the run is on real tensors. `witness` watches whenever no recorded call runs. After
    `last_call` calls the run is ended by `EndOfPrefix`.
    """

    def __init__(
        self,
        identity: TensorIdentity,
        nodes: list[Node],
        subject: str,
        valueless: Valueless | None,
        witness: Witness,
        last_call: int | None = None,
    ) -> None:
        super().__init__()
        self.nodes = nodes
        self.reads: list[RecordedRead] = []
        self.failure: SubjectError | None = None
        self._identity = identity
        self._subject = subject
        self._valueless = valueless
        self._watch = witness.watch
        self._exposed = identity.origins.exposed
        self._behaviours = behaviours()
        self._inlining: list[FunctionType] = []
        self._last_call = last_call

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        behaviour = self._behaviours.get(func, Recorder._record)
        if behaviour is None:
            return func(*args, **(kwargs or {}))
        was_watching = self._watch(False)
        try:
            return behaviour(self, func, args, kwargs or {})
        except SubjectError as failure:
            self.failure = self.failure or failure
            raise
        finally:
            self._watch(was_watching)

    def _record(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda"):
            return self._record_autocast(func, args, kwargs)
        return self._record_call(func, args, kwargs)

    def _record_call(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], run: Callable[[], Any] | None = None
    ) -> Any:
        """Record one call; `run` executes it instead of `func` itself where given."""
        try:
            target, spelled_args, spelled_kwargs = spell_call(func, args, kwargs)
        except UnknownCallable as unknown:
            return self._call_unspelled(func, args, kwargs, unknown)
        try:
            node_args, node_kwargs = self._encode(spelled_args, spelled_kwargs)
        except UnsupportedArgument as unsupported:
            return self._call_unencodable(func, args, kwargs, target, unsupported)
        op = canonical_op(target, node_args, dict(node_kwargs))
        try:
            returned = run() if run is not None else self._execute(func, args, kwargs)
        except EXECUTION_ERRORS as error:
            if self._valueless is None:
                raise
            numbers = self._valueless.with_numbers(func, args, kwargs)
            if numbers is not None:
                self.reads.append(RecordedRead(len(self.nodes), "__index__", numbers.refs))
                return self._record_call(func, numbers.args, numbers.kwargs)
            returned = self._valueless.rescue(Node(op, target, node_args, node_kwargs), args, error, self._subject)
        if op in _VALUE_SHAPED or op == "getitem" or op == "where" or op == "repeat_interleave":
            self._note_value_shape(op, args, node_args, node_kwargs)
        return self._append(op, target, node_args, node_kwargs, returned)

    def _encode(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[tuple[Arg, ...], tuple[tuple[str, Arg], ...]]:
        ref_of = self._identity.ref_of
        node_args = tuple([encode(arg, ref_of) for arg in args])
        if not kwargs:
            return node_args, ()
        device = kwargs.get("device")
        if isinstance(device, str):
            kwargs = {**kwargs, "device": torch.device(device)}
        return node_args, tuple([(name, encode(arg, ref_of)) for name, arg in kwargs.items()])

    def _execute(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._valueless is not None:
            return self._valueless.execute(func, args, kwargs)
        self._check_exposed((args, kwargs))
        returned = func(*args, **kwargs)
        self._exposed.look_again((args, kwargs))
        return returned

    def _append(
        self,
        op: str,
        target: str,
        node_args: tuple[Arg, ...],
        node_kwargs: tuple[tuple[str, Arg], ...],
        returned: Any,
    ) -> Any:
        outputs: list[OutputMeta] = []
        mutates = op.endswith("_") or any(name == "out" for name, _ in node_kwargs)
        if target.startswith("torch.ops.") and is_custom(target):
            declare_op(target)
            mutates = bool(written_operands(Node(op, target, node_args, node_kwargs)))
        returned = self._bind(returned, (), outputs, mutates)
        node = Node(op, target, node_args, node_kwargs, tuple(outputs))
        if outputs or has_effect(node):
            self.nodes.append(node)
            if len(self.nodes) == self._last_call:
                raise EndOfPrefix
        return returned

    def _bind(self, returned: Any, path: tuple[int, ...], outputs: list[OutputMeta], mutates: bool) -> Any:
        """Bind the tensors in a returned structure to the op about to be appended; return what the program gets."""
        if isinstance(returned, torch.Tensor):
            if not mutates and self._identity.find(returned) is not None:
                returned = self._alias(returned)
            shape, stride = tuple(returned.shape), returned.stride()
            outputs.append(OutputMeta(path, shape, stride, dtype_name(returned.dtype)))
            return self._identity.bind(returned, OpRef(len(self.nodes), path))
        if not isinstance(returned, tuple | list) or isinstance(returned, torch.Size):
            return returned
        elements = [
            self._bind(element, (*path, position), outputs, mutates) for position, element in enumerate(returned)
        ]
        if all(new is old for new, old in zip(elements, returned, strict=True)):
            return returned
        return elements if isinstance(returned, list) else _rebuild_tuple(returned, elements)

    def _alias(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return another object for the same memory: the outcome of a call that returned its operand."""
        return tensor.detach()

    def _note_value_shape(
        self, op: str, args: tuple[Any, ...], node_args: tuple[Arg, ...], node_kwargs: tuple[tuple[str, Arg], ...]
    ) -> None:
        refs = [ref for arg in (*node_args, *(arg for _, arg in node_kwargs)) for ref in iter_refs(arg)]
        if op == "getitem":
            self._note_index(args[1], node_args[1])
            return
        if op == "where" and len(node_args) + len(node_kwargs) > 1:
            return
        if op == "repeat_interleave" and (len(refs) < 2 or any(name == "output_size" for name, _ in node_kwargs)):
            return
        self.reads.append(RecordedRead(len(self.nodes), op, tuple(refs)))

    def _note_index(self, index: Any, node_index: Arg) -> None:
        elements = index if isinstance(index, tuple) else (index,)
        masks = [e for e in elements if isinstance(e, torch.Tensor) and e.dtype in _MASK_DTYPES]
        if masks:
            refs = tuple(self._identity.ref_of(mask) for mask in masks)
            self.reads.append(RecordedRead(len(self.nodes), "nonzero", refs))
        bounds = node_index if isinstance(node_index, tuple) else (node_index,)
        refs = tuple(ref for bound in bounds if isinstance(bound, ArgSlice) for ref in iter_refs(bound))
        if refs:
            self.reads.append(RecordedRead(len(self.nodes), "__index__", refs))

    def _call_unspelled(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: UnknownCallable) -> Any:
        """Follow a Python function into its body; run a built-in one, which must then return no tensor."""
        if isinstance(func, FunctionType) and self._inlining.count(func) < _MAX_RECURSION:
            return self._inline(func, args, kwargs)
        returned = self._watched(lambda: self._execute(func, args, kwargs))
        made: list[torch.Tensor] = []
        map_tensors(returned, made.append)
        if any(self._identity.find(tensor) is None for tensor in made):
            raise SubjectError(self._subject, Reason.UNSUPPORTED_ARGUMENT, str(error))
        return returned

    def _inline(self, func: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        self._inlining.append(func)
        try:
            with self:
                return self._watched(lambda: autocast.inlined(func)(*args, **kwargs))
        finally:
            self._inlining.pop()

    def _watched(self, run: Callable[[], Any]) -> Any:
        was_watching = self._watch(True)
        try:
            return run()
        finally:
            self._watch(was_watching)

    def _call_unencodable(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], target: str, error: UnsupportedArgument
    ) -> Any:
        """Make a constant of what a call on foreign arrays alone returns; refuse the call when it has operands."""
        operands: list[torch.Tensor] = []
        map_tensors((args, kwargs), operands.append)
        if operands or func not in (torch.tensor, torch.as_tensor, torch.asarray):
            raise SubjectError(self._subject, Reason.UNSUPPORTED_ARGUMENT, f"{target}: {error}") from error
        made = func(*args, **{name: value for name, value in kwargs.items() if name != "device"})
        self._identity.origins.remember_plain(made)
        return made

    def _record_autocast(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands: list[torch.Tensor] = []
        map_tensors((args, kwargs), operands.append)
        if self._valueless is not None and self._valueless.is_meta:
            raise NeedsFakeTensors(self._subject)
        device_type = operands[0].device.type if operands else "cpu"
        if not operands or not torch.is_autocast_enabled(device_type):
            return self._record_call(func, args, kwargs)
        casts = autocast.find_casts(func, args, kwargs, device_type)
        if casts is None and isinstance(func, FunctionType):
            return self._inline(func, args, kwargs)
        if casts is None:
            detail = f"autocast casts inside {getattr(func, '__name__', func)}"
            raise SubjectError(self._subject, Reason.UNSUPPORTED_ARGUMENT, detail)

        def cast(tensor: torch.Tensor) -> torch.Tensor:
            dtype = casts.get(id(tensor))
            return tensor if dtype is None else self._record_call(torch.Tensor.to, (tensor, dtype), {})

        with autocast.autocast_off(device_type):
            if casts:
                args, kwargs = map_tensors(args, cast), map_tensors(kwargs, cast)
            return self._record_call(func, args, kwargs)

    def _read(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        refs: list[Ref] = []
        map_tensors((args, kwargs), lambda tensor: refs.append(self._identity.ref_of(tensor)))
        if self._valueless is None:
            self._check_exposed((args, kwargs))
        else:
            args, kwargs = self._valueless.values_of((args, kwargs), func.__name__, self._subject)
        answer = func(*args, **kwargs)
        if func.__name__ in EXPOSING_NAMES:
            self._expose(args, answer)
        self.reads.append(RecordedRead(len(self.nodes), func.__name__, tuple(refs)))
        return answer

    def _answer_address(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer where a tensor's memory is: whoever knows can write there."""
        answer = func(*args, **kwargs)
        self._expose(args, None)
        return answer

    def _expose(self, args: tuple[Any, ...], array: Any) -> None:
        """Watch the memory that was handed out; an array of known values is a copy, so writes to it must fail."""
        if self._valueless is None:
            self._exposed.expose(args[0])
        elif isinstance(array, numpy.ndarray):
            array.flags.writeable = False

    def _check_exposed(self, arguments: Any) -> None:
        if self._exposed.has_changed(arguments):
            detail = "memory that numpy, a pointer or a storage shares was written outside the recorded calls"
            raise SubjectError(self._subject, Reason.UNTRACKED_TENSOR, detail)

    def finish(self, outputs: Any) -> None:
        """Check what can only be seen at the end; raises `SubjectError`."""
        if self._valueless is None:
            self._check_exposed(outputs)

    def _answer_as_cpu(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer where a tensor lives: valueless tensors pose as CPU tensors."""
        if self._valueless is None:
            return func(*args, **kwargs)
        name = getattr(func.__self__, "__name__", "") if func.__name__ == "__get__" else func.__name__
        return {"device": torch.device("cpu"), "is_cpu": True, "is_meta": False, "get_device": -1}[name]

    def _move(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record `to`, `cpu` and `cuda`; valueless tensors stay where they are."""
        valueless = self._valueless
        run = None if valueless is None else lambda: valueless.move(func, args, kwargs)
        return self._record_call(func, args, kwargs, run)

    def _deep_copy(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record `copy.deepcopy(x)` as the clone that it is."""
        tensor, memo = args
        if id(tensor) not in memo:
            memo[id(tensor)] = self._record_call(torch.Tensor.clone, (tensor,), {})
        return memo[id(tensor)]

    def _set_data(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Record no call for `x.data = y`: from here on x shares y's storage, so it stands for y's ref."""
        tensor, source = args
        ref = self._identity.ref_of(source)
        self._identity.ref_of(tensor)
        self._execute(func, args, kwargs)
        self._identity.bind(tensor, ref)

    def _assert(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Leave asserts out; on real tensors they are still checked."""
        if self._valueless is None:
            func(*args, **kwargs)


def _rebuild_tuple(original: tuple[Any, ...], elements: list[Any]) -> Any:
    return type(original)(*elements) if hasattr(original, "_fields") else type(original)(elements)


Behaviour = Callable[[Recorder, Any, tuple[Any, ...], dict[str, Any]], Any]


@lru_cache(maxsize=1)
def behaviours() -> dict[Any, Behaviour | None]:
    """Behaviour by function; None answers without recording, and a function not listed is recorded."""
    tensor: Any = torch.Tensor
    table: dict[Any, Any] = {}
    for name in _FACT_METHODS:
        table[getattr(tensor, name, None)] = None
    for name in _FACT_PROPERTIES:
        attribute = getattr(tensor, name, None)
        for accessor in ("__get__", "__set__", "__delete__"):
            table[getattr(attribute, accessor, None)] = None
    for function in (torch.is_floating_point, torch.is_complex, torch.numel, torch._C._set_grad_enabled):
        table[function] = None
    for owner, names in ((tensor, _READ_METHODS), (torch, _READ_FUNCTIONS)):
        table.update({getattr(owner, name): Recorder._read for name in names if hasattr(owner, name)})
    for name in ("device", "is_cpu", "is_meta"):
        table[getattr(tensor, name).__get__] = Recorder._answer_as_cpu
    table[tensor.get_device] = Recorder._answer_as_cpu
    table.update({tensor.to: Recorder._move, tensor.cpu: Recorder._move, tensor.cuda: Recorder._move})
    table[tensor.data.__set__] = Recorder._set_data
    table[tensor.__deepcopy__] = Recorder._deep_copy
    for name in ("data_ptr", "storage", "untyped_storage", "_typed_storage"):
        table[getattr(tensor, name)] = Recorder._answer_address
    table.update({torch._assert: Recorder._assert, torch._assert_async: Recorder._assert})  # pyright: ignore[reportPrivateImportUsage]
    table.pop(None, None)
    return table
