"""Places in source code as text: file:line, short where the file belongs to an installed package."""

from __future__ import annotations

import sysconfig
from traceback import FrameSummary
from types import FrameType

_PACKAGES = sysconfig.get_paths()["purelib"] + "/"


def place_of_frame(frame: FrameType) -> str:
    """Return file:line of a running frame."""
    return _place(frame.f_code.co_filename, frame.f_lineno)


def place_of_summary(frame: FrameSummary) -> str:
    """Return file:line of a frame of a recorded stack."""
    return _place(frame.filename, frame.lineno or 0)


def _place(filename: str, line: int) -> str:
    return f"{filename.removeprefix(_PACKAGES)}:{line}"
