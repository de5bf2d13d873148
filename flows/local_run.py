"""A flow run on this machine for a command: a Prefect server brought along, signals, and how a stop ends."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import typer
from rich.console import Console

from flows.progress import REPORTER, Reporter

INTERRUPTED_CODE = 130
TERMINATED_CODE = 143


@contextmanager
def local_prefect(corpus: Path | str, reporter: Reporter) -> Iterator[None]:
    """Bring a Prefect server along for the corpus; flows within tell `reporter` how far they are.

    Whatever loads Prefect is to be imported within: it takes the server's address when it is loaded.
    """
    from flows.server import prefect_server

    reporter.stage("starting Prefect")
    logging.disable(logging.WARNING)
    with prefect_server(Path(corpus).absolute() / ".prefect"):
        token = REPORTER.set(reporter)
        try:
            yield
        finally:
            REPORTER.reset(token)


@contextmanager
def ending_in_order(reporter: Reporter) -> Iterator[None]:
    """Close the reporter however a run ends; a stop becomes one line and the exit code of its signal."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        reporter.close()
        Console(stderr=True).print("passnet: stopped; run the same command again to go on", highlight=False)
        raise typer.Exit(TERMINATED_CODE if interrupt.args else INTERRUPTED_CODE) from None
    finally:
        reporter.close()


def stop_on_signals() -> None:
    """Make Ctrl-C and SIGTERM end the run in order; a second one ends it at once (its children die with it)."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, stop_at_once)
        signal.signal(signal.SIGTERM, stop_at_once)
        raise KeyboardInterrupt(*([number] if number == signal.SIGTERM else []))

    def stop_at_once(number: int, frame: FrameType | None) -> None:
        sys.stderr.write("passnet: stopped at once; run the same command again to go on\n")
        sys.stderr.flush()
        os._exit(INTERRUPTED_CODE)

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
