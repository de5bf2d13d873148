"""A model that is traced again and again, each time as if it was just built: on meta tensors, or, where its program
depends on values, on real ones.

Real runs have seeded random weights and inputs, as the trace that the graph came from (`extract.real_tracing`): the
model's own sizes take its branch again, others take theirs, which may be another. Products of float16 are summed in
float32 (`extract.wide_products`): 30 runs of a vocoder took over ten minutes.
"""

from __future__ import annotations

import time

from extract.failure import Reason, SubjectError
from extract.model_tracing import TraceConfig, trace_prepared
from extract.module_state import ModuleState
from extract.program_prefix import Prefix
from extract.real_model import RealModel
from extract.real_tracing import check_real_size
from extract.shape_configs import Resize
from extract.sources import Preparation, Prepared, Weights, prepare
from extract.tracer import Recording
from extract.wide_products import WideProducts


class Deadline:
    """When to begin no more traces: `max_seconds` from now; None: never."""

    def __init__(self, max_seconds: float | None = None) -> None:
        self._max_seconds = max_seconds
        self._at = None if max_seconds is None else time.monotonic() + max_seconds

    def check(self, subject: str) -> None:
        """Raise `SubjectError` (timeout) when it has passed."""
        if self._at is not None and time.monotonic() > self._at:
            raise SubjectError(subject, Reason.TIMEOUT, f"the model's variants took over {self._max_seconds} s")


class Reruns:
    """Builds modules of a model, for its own sizes or others, and traces them until the deadline."""

    def __init__(self, model_id: str, max_params: int | None, deadline: Deadline) -> None:
        self._model_id = model_id
        self._config = TraceConfig(max_params=max_params)
        self._deadline = deadline
        self._weights: Weights = "meta"
        self._real: dict[int, RealModel] = {}

    def build(self, resize: Resize | None = None) -> tuple[Prepared, ModuleState]:
        """Return a module and its state before any run; raises `SubjectError`."""
        config = self._config
        preparation = Preparation(self._weights, config.seed, max_params=config.max_params, resize=resize)
        prepared = prepare(self._model_id, preparation)
        if self._weights == "random":
            self._real[id(prepared.module)] = RealModel(prepared, config.seed)
        return prepared, ModuleState(prepared.module)

    def begin(self) -> tuple[Prepared, ModuleState, Recording]:
        """Build the model and trace it at its own sizes: on real tensors where meta tensors do not do, and all others
        after it too. Raises `SubjectError`; knows no deadline."""
        prepared, state = self.build()
        try:
            return prepared, state, _trace(prepared, state)
        except SubjectError as failure:
            if failure.reason is not Reason.DATA_DEPENDENT:
                raise
        check_real_size(prepared.model, self._config)
        self._weights = "random"
        prepared, state = self.build()
        return prepared, state, self._run(prepared, state, None)

    def trace(self, prepared: Prepared, state: ModuleState, prefix: Prefix | None = None) -> Recording:
        """Trace a module that `build` returned, perhaps with other inputs or in another dtype since, and leave it as it
        was; raises what `trace_prepared` raises, and `SubjectError` (timeout)."""
        self._deadline.check(self._model_id)
        return self._run(prepared, state, prefix)

    def _run(self, prepared: Prepared, state: ModuleState, prefix: Prefix | None) -> Recording:
        real = self._real.get(id(prepared.module))
        if real is None:
            return _trace(prepared, state, prefix)
        real.pristine()
        with WideProducts():
            return _trace(prepared, state, prefix)


def _trace(prepared: Prepared, state: ModuleState, prefix: Prefix | None = None) -> Recording:
    try:
        return trace_prepared(prepared, prefix)
    finally:
        state.restore()
