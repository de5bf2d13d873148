"""How far a run is, on stderr: a bar with rate and time left on a terminal, a line every ten seconds elsewhere."""

from __future__ import annotations

import threading
import time
from contextvars import ContextVar
from typing import Protocol

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

LINE_SECONDS = 10.0


class Reporter(Protocol):
    """Is told what a run does; every method may be called from any thread."""

    def stage(self, text: str) -> None:
        """Say what the run does now."""
        ...

    def begin(self, total: int, doing: str = "tracing", done: str = "traced", unit: str = "models") -> None:
        """Start counting towards `total` subjects."""
        ...

    def advance(self, model_id: str, failed: bool) -> None:
        """Count one subject, by the model that it belongs to."""
        ...

    def close(self) -> None:
        """Take the display away."""
        ...


class SilentReporter:
    """Shows nothing: for deployments, whose runs are watched in Prefect."""

    def stage(self, text: str) -> None:
        """Do nothing."""

    def begin(self, total: int, doing: str = "tracing", done: str = "traced", unit: str = "models") -> None:
        """Do nothing."""

    def advance(self, model_id: str, failed: bool) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class BarReporter:
    """A rich progress bar."""

    def __init__(self, console: Console) -> None:
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        self._progress = Progress(*columns, console=console, transient=True)
        self._row = self._progress.add_task("starting", total=None, unit="models")
        self._num_failed, self._doing = 0, "tracing"
        self._progress.start()

    def stage(self, text: str) -> None:
        """Say what the run does now."""
        self._progress.update(self._row, description=text)

    def begin(self, total: int, doing: str = "tracing", done: str = "traced", unit: str = "models") -> None:
        """Start counting towards `total` subjects."""
        self._doing, self._num_failed = doing, 0
        self._progress.reset(self._row, total=total, description=doing, unit=unit)

    def advance(self, model_id: str, failed: bool) -> None:
        """Count one subject."""
        self._num_failed += failed
        suffix = f" ({self._num_failed} failed)" if self._num_failed else ""
        self._progress.update(self._row, advance=1, description=f"{self._doing}{suffix}")

    def close(self) -> None:
        """Take the bar away."""
        self._progress.stop()


class LineReporter:
    """Plain lines, for logs and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lock = threading.Lock()
        self._total = self._num_done = self._num_failed = 0
        self._started = self._shown = time.monotonic()
        self._done, self._unit = "traced", "models"

    def stage(self, text: str) -> None:
        """Say what the run does now."""
        self._console.print(text, highlight=False)

    def begin(self, total: int, doing: str = "tracing", done: str = "traced", unit: str = "models") -> None:
        """Start counting towards `total` subjects."""
        self._done, self._unit, self._num_done, self._num_failed = done, unit, 0, 0
        self._total, self._started = total, time.monotonic()
        self._shown = self._started

    def advance(self, model_id: str, failed: bool) -> None:
        """Count one subject; prints when the last line is ten seconds old, and for the last one."""
        with self._lock:
            self._num_done += 1
            self._num_failed += failed
            now = time.monotonic()
            if now - self._shown < LINE_SECONDS and self._num_done < self._total:
                return
            self._shown = now
            rate = self._num_done / max(now - self._started, 1e-9)
            left = (self._total - self._num_done) / rate
            self._console.print(
                f"{self._done} {self._num_done}/{self._total}, {self._num_failed} failed, "
                f"{rate:.2f} {self._unit}/s, {left:.0f} s left",
                highlight=False,
            )

    def close(self) -> None:
        """Do nothing: lines stay."""


class _RateColumn(ProgressColumn):
    def render(self, task: Task) -> Text:
        """Show finished subjects per second."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:.2f} {task.fields['unit']}/s" if speed else "", style="progress.data.speed")


REPORTER: ContextVar[Reporter] = ContextVar("reporter", default=SilentReporter())  # noqa: B039  stateless


def reporter_for(console: Console) -> Reporter:
    """Return the display that fits where `console` writes."""
    return BarReporter(console) if console.is_terminal else LineReporter(console)
