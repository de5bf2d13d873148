"""What can go wrong with a corpus as a whole: one line that says what, with which value, and what to do.

The command line prints `str(error)` and exits with `exit_code`; nothing here is ever one subject's failure.
"""

from __future__ import annotations

import errno

_DISK_ERRNOS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_ACCESS_ERRNOS = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class CorpusError(Exception):
    """A command cannot go on; `what` names the value at fault, `remedy` the next step. Picklable."""

    exit_code = 1

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what, remedy)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return " ".join(f"{self.what}; {self.remedy}".split())


class UsageError(CorpusError):
    """The user's input is at fault; nothing was written."""

    exit_code = 2


class WriteError(CorpusError):
    """The disk refused a write; the corpus is as it was at the last commit."""


def from_os_error(error: OSError, path: str) -> CorpusError | None:
    """Say in the user's words what the system's refusal to write `path` means; None when it means something else."""
    if error.errno in _DISK_ERRNOS:
        return WriteError(
            f"no space left to write {path} ({error.strerror or error})",
            "the corpus is intact: free some space and run the same command again",
        )
    if error.errno in _ACCESS_ERRNOS:
        return UsageError(
            f"{path} cannot be written ({error.strerror or error})", "make it writable or name another --corpus"
        )
    return None
