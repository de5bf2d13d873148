"""A user's own model to a sample directory, from one ordinary call of it.

    from extract.capture import capture

    @capture(name="my_net")                # every instance of the class shares the next call
    class Net(torch.nn.Module): ...

    model = capture(name="my_net")(model)  # or one instance

The next forward call leaves `./captured/my_net/` (or `path=`), from real tensors with measured statistics; with
`corpus=` the graph also becomes `user/my_net` there. The call is the user's own: it runs under the gradient and
training modes in force and returns what it always does. It is what is recorded, but for modules that have torch's
fused encoder in them, which torch would take another way when watched: of these a copy is. Where a program cannot be
recorded the call goes on as if nobody watched, and a `CaptureWarning` says why; one also says where the program
is only part of the model (it reads values of its input, or puts new tensors in the place of buffers). An exception of
the program is the caller's, and nothing is written. A captured module called inside another captured call is part of
that one.

With `num_calls` above 1 that many calls are recorded and the sample is a folder of `subgraph_0/`, `subgraph_1/`, ...:
one for each call that is another program, or the same at other shapes; a call seen before adds nothing.
"""

from __future__ import annotations

import copy
import functools
import threading
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import torch

from extract.capture_recorder import CapturedCall, record_call
from extract.custom_ops import collect_custom_ops
from extract.failure import SubjectError
from extract.graph import Graph
from extract.hashing import hash_graph
from extract.model_ref import ModelRef, Trace, ValueRead
from extract.sample_folder import graph_hashes_in, write_samples

Module = TypeVar("Module", bound=torch.nn.Module)

_FOLDER = Path("captured")
_capturing = threading.local()


class CaptureWarning(UserWarning):
    """A call that was asked for could not be captured, or not all of it; says why."""


@dataclass(frozen=True, slots=True)
class CaptureConfig:
    """What to capture: `num_calls` calls, into the folder `path`, and into the corpus at `corpus` where given."""

    name: str
    path: Path
    corpus: Path | None = None
    num_calls: int = 1


def capture(
    *misplaced: Any,
    name: str = "",
    path: str | Path | None = None,
    corpus: str | Path | None = None,
    num_calls: int = 1,
) -> Callable[[Any], Any]:
    """Return a decorator for a module class, or a function that takes a module and gives it back, armed.

    `name` names the model; `path` is the folder of its sample (default: `captured/<name>` in the working directory),
    which is replaced where it holds a sample; `corpus` a corpus that the graphs enter as `user/<name>`, made when
    missing; `num_calls` how many of the next calls are recorded. Raises ValueError for a name that is no plain relative
    path, or `num_calls` below 1, TypeError for anything given without a name.
    """
    if misplaced:
        raise TypeError('capture takes keywords alone: @capture(name="my_net"), or capture(name="my_net")(model)')
    parts = Path(name).parts
    if not name or Path(name).is_absolute() or any(not part.strip(".") for part in parts) or "\\" in name:
        raise ValueError(f"capture: name={name!r} is no plain name; use letters, digits and single slashes")
    if num_calls < 1:
        raise ValueError(f"capture: num_calls={num_calls}; ask for at least one call")
    config = CaptureConfig(
        name,
        Path(path) if path is not None else _FOLDER / name,
        Path(corpus) if corpus is not None else None,
        num_calls,
    )

    def arm(subject: Any) -> Any:
        if isinstance(subject, type) and issubclass(subject, torch.nn.Module):
            return _arm_class(subject, config)
        if isinstance(subject, torch.nn.Module):
            return _arm_module(subject, config)
        raise TypeError(f"capture: {subject!r} is neither a torch.nn.Module nor a class of them")

    return arm


def _arm_class(kind: type[Module], config: CaptureConfig) -> type[Module]:
    forward = kind.forward
    session = _Session(config)

    @functools.wraps(forward)
    def captured_forward(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        if session.is_done or not session.begin():
            return forward(module, *args, **kwargs)
        return session.call(module, functools.partial(forward, module), args, kwargs)

    kind.forward = captured_forward  # pyright: ignore[reportAttributeAccessIssue]
    return kind


def _arm_module(module: Module, config: CaptureConfig) -> Module:
    module.forward = _ArmedForward(module, config)  # pyright: ignore[reportAttributeAccessIssue]
    return module


class _ArmedForward:
    """Stands for the forward of one module until its calls are captured, then leaves the module as it was.

    A copy of the module, or one that was pickled, has its plain forward.
    """

    def __init__(self, module: torch.nn.Module, config: CaptureConfig) -> None:
        functools.update_wrapper(self, module.forward)
        self._module = module
        self._own = vars(module).get("forward")  # an instance may carry a forward of its own
        self._forward: Callable[..., Any] = module.forward
        self._session = _Session(config)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._session.begin():
            return self._forward(*args, **kwargs)
        returned = self._session.call(self._module, self._forward, args, kwargs)
        if self._session.is_done:
            self._disarm()
        return returned

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        module = memo.get(id(self._module), self._module)
        return copy.deepcopy(self._own, memo) if self._own is not None else _plain_forward(module)

    def __reduce__(self) -> tuple[Any, ...]:
        return _plain_forward, (self._module,)

    def _disarm(self) -> None:
        """Take this out of the module, unless something else took the place meanwhile."""
        if vars(self._module).get("forward") is self:
            if self._own is None:
                del self._module.forward
            else:
                self._module.forward = self._own


def _plain_forward(module: torch.nn.Module) -> Callable[..., Any]:
    return types.MethodType(type(module).forward, module)


class _Session:
    """The calls that one `capture` asked for; several threads may call the module."""

    def __init__(self, config: CaptureConfig) -> None:
        self._config = config
        self._left = config.num_calls
        self._lock = threading.Lock()
        self._traces: dict[str, tuple[Trace, datetime]] = {}

    @property
    def is_done(self) -> bool:
        """Whether no further call is wanted."""
        return self._left <= 0

    def begin(self) -> bool:
        """Claim one call; False when none is left, inside another captured call, or under a compiler's eyes."""
        if getattr(_capturing, "active", False) or torch.compiler.is_compiling():
            return False
        with self._lock:
            if self._left <= 0:
                return False
            self._left -= 1
            return True

    def call(self, module: torch.nn.Module, forward: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        """Run forward, it or a copy recorded, and keep what it was; the claimed call is given back when it raises."""
        _capturing.active = True
        try:
            recorded = record_call(module, forward, args, kwargs, subject=f"user/{self._config.name}")
        except BaseException:
            with self._lock:
                self._left += 1
            raise
        finally:
            _capturing.active = False
        try:
            findings = self._keep(module, recorded)
        except SubjectError as failure:
            findings = [f"was not captured: {failure.reason}: {failure.detail}", *self._keep_failure(failure)]
        except Exception as error:  # foreign code: a disk or corpus that refuses must not cost the user the result
            findings = [f"was not captured: {type(error).__name__}: {error}"]
        for finding in findings:
            text = f"{self._config.name} {' '.join(finding.split())}"
            warnings.warn(text, CaptureWarning, stacklevel=3)
        return recorded.returned

    def _keep(self, module: torch.nn.Module, recorded: CapturedCall) -> list[str]:
        """Write what was recorded and return what there is to say about it; raises `SubjectError`."""
        graph = recorded.graph()
        hashes = hash_graph(graph)
        with self._lock:
            if hashes.signature_sha256 in self._traces:
                return []
            trace = _trace(self._config, module, graph, recorded.value_reads, len(self._traces))
            self._traces[hashes.signature_sha256] = trace, datetime.now(UTC)
            traces = list(self._traces.values())
        config, findings = self._config, _findings(recorded)
        if trace.part == 0 and (replaced := set(graph_hashes_in(config.path)) - {hashes.graph_sha256}):
            findings.append(f"replaced the sample of another program in {config.path} (graph {min(replaced)[:12]})")
        write_samples(config.path, traces, several=config.num_calls > 1, model_name=config.name, source="user")
        if config.corpus is not None:
            from storage.user_models import add_user_model  # only who asks for a corpus needs what it is made of

            add_user_model(config.corpus, trace, collect_custom_ops(graph))
        return findings

    def _keep_failure(self, failure: SubjectError) -> list[str]:
        """Add a row of failures to the corpus, if there is one, and return what there is to say about that."""
        if self._config.corpus is None:
            return []
        try:
            from storage.user_models import add_failure

            add_failure(self._config.corpus, f"user/{self._config.name}", failure)
        except Exception as error:  # foreign code: as above
            return [f"has no row of failures: {type(error).__name__}: {error}"]
        return []


def _findings(recorded: CapturedCall) -> list[str]:
    """Say in what the recorded program is less than the model; to be asked once its graph is made."""
    found: list[str] = []
    read = [one for one in recorded.value_reads if one.depends_on_input]
    if read:
        methods = ", ".join(dict.fromkeys(one.method for one in read))
        found.append(
            f"is captured for this input alone: the program reads values that depend on it ({methods}, first before op "
            f"{read[0].op_index}); what it made of them are constants"
        )
    if recorded.assigned:
        names = ", ".join(recorded.assigned[:5])
        found.append(
            f"is captured without the new values of the buffers {names}: they were assigned, not written in place, so "
            "the program does not return them"
        )
    return found


def _trace(
    config: CaptureConfig, module: torch.nn.Module, graph: Graph, value_reads: tuple[ValueRead, ...], part: int
) -> Trace:
    model = ModelRef(
        model_id=f"user/{config.name}",
        source="user",
        architecture=type(module).__qualname__,
        num_parameters=sum(parameter.numel() for parameter in module.parameters()),
        inputs=tuple(tensor.original_name for tensor in graph.tensors if tensor.kind == "input"),
    )
    return Trace(model, graph, "function_mode", "real", value_reads, torch.__version__, None, None, part)
