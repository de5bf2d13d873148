"""The versions of torch whose planning is known here, and how to tell that it is as known."""

from __future__ import annotations

import sys

import torch

TESTED = ("2.14",)
WRITTEN_FOR = ("2.11", *TESTED)


def check_torch() -> None:
    """Write one line on stderr where this torch was not tested; raises RuntimeError where its parts are missing."""
    from torch._inductor.graph import GraphLowering

    version = ".".join(torch.__version__.split(".")[:2])
    for name in ("compile_to_module", "init_wrapper_code", "_update_scheduler"):
        if not hasattr(GraphLowering, name):
            raise RuntimeError(f"torch {torch.__version__} plans otherwise (no GraphLowering.{name}); use {TESTED[-1]}")
    if version not in TESTED:
        known = "written for but not tested with" if version in WRITTEN_FOR else "not written for"
        sys.stderr.write(f"kernel counts: {known} torch {torch.__version__}; tested with {', '.join(TESTED)}\n")
