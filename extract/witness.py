"""The dispatch mode that sees what the function mode cannot: aten calls that no recorded call explains.

C++ functions, scripts, `x.real = y`, autograd and torch.func transforms reach aten past every function mode. The
witness lets such a call run (its Python kernels unrecorded), remembers what it made, and ends the trace when it writes
into a tensor that an unseen call did not make itself. While a recorded call runs it looks away.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from extract.arguments import map_tensors
from extract.exposed_memory import storage_of
from extract.failure import Reason, SubjectError
from extract.tensor_identity import TensorIdentity

_PYTHON = torch._C.DispatchKey.Python
_PYTHON_SNAPSHOT = torch._C.DispatchKey.PythonTLSSnapshot
_exclude = torch._C._dispatch_tls_set_dispatch_key_excluded

# Calls that hand out their operand under another object; torch makes them for `torch.Tensor(x)` and autograd.Function.
_ALIASING = (torch.ops.aten.alias.default, torch.ops.aten.detach.default)


class Witness(TorchDispatchMode):
    """Watches unless told not to; `failure` keeps a `SubjectError` that foreign code may swallow."""

    supports_higher_order_operators = True

    def __init__(self, identity: TensorIdentity, subject: str, is_meta: bool) -> None:
        super().__init__()
        self.failure: SubjectError | None = None
        self._identity = identity
        self._origins = identity.origins
        self._subject = subject
        self._is_meta = is_meta
        self._is_watching = True

    def watch(self, is_watching: bool) -> bool:
        """Watch or look away from here on; returns what it did before.

        Meta tensors need no Python below a recorded call, so dispatch leaves it out, which costs 0.3 us instead of
        8 us for each aten call; fake tensors need it.
        """
        before = self._is_watching
        if is_watching != before:
            self._is_watching = is_watching
            if self._is_meta:
                _exclude(_PYTHON, not is_watching)
                _exclude(_PYTHON_SNAPSHOT, not is_watching)
        return before

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if not self._is_watching:
            return func(*args, **kwargs)
        if not isinstance(func, torch._ops.OpOverload):
            raise self._fail(f"the higher-order operator {func} cannot be recorded", Reason.UNSUPPORTED_ARGUMENT)
        with torch._C.DisableTorchFunction():
            self._refuse_write(func, args, kwargs)
            returned = func(*args, **kwargs)
            self._note_outputs(func, (args, kwargs), returned)
        return returned

    def _refuse_write(self, func: torch._ops.OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not func._schema.is_mutable:
            return
        written: list[torch.Tensor] = []
        for position, parameter in enumerate(func._schema.arguments):
            if parameter.alias_info is not None and parameter.alias_info.is_write:
                value = args[position] if position < len(args) else kwargs.get(parameter.name)
                map_tensors(value, written.append)
        if not all(map(self._origins.is_unseen, written)):
            raise self._fail(f"{func} wrote into a tensor outside the recorded calls", Reason.UNTRACKED_TENSOR)

    def _note_outputs(self, func: torch._ops.OpOverload, arguments: Any, returned: Any) -> None:
        """A call's outcome is its own, but for aliases of operands; `lift_fresh` opens a tensor of plain numbers."""
        if func is torch.ops.aten.lift_fresh.default:
            self._origins.remember_plain(returned)
            return
        if func in _ALIASING and (ref := self._identity.find_own(arguments[0][0])) is not None:
            self._identity.bind(returned, ref)
            return
        operands: set[int] = set()
        map_tensors(arguments, lambda tensor: operands.add(_storage_address(tensor)))

        def note(tensor: torch.Tensor) -> None:
            if _storage_address(tensor) not in operands:
                self._origins.remember_unseen(tensor, str(func))

        map_tensors(returned, note)

    def _fail(self, detail: str, reason: Reason) -> SubjectError:
        self.failure = self.failure or SubjectError(self._subject, reason, detail)
        return self.failure


def _storage_address(tensor: torch.Tensor) -> int:
    storage = storage_of(tensor)
    return 0 if storage is None else storage.cdata
