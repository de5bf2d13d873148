"""Expected failures of one subject: the reasons there are, and the exception that carries one.

A step raises `SubjectError`; the task that runs it turns it into one row of table `failures` and goes on.
"""

from __future__ import annotations

from enum import StrEnum

_STARVED = ("can't allocate memory", "not enough memory", "bad_alloc", "out of memory")


class Reason(StrEnum):
    """Why a subject was dropped. Transient reasons are tried again by the next run, the others are not."""

    UNKNOWN_MODEL = "unknown_model"
    REPO_NOT_FOUND = "repo_not_found"
    GATED = "gated"
    CONFIG_MISSING = "config_missing"
    CONFIG_MALFORMED = "config_malformed"
    CONFIG_TOO_LARGE = "config_too_large"
    BASE_MISSING = "base_missing"
    HUB_UNAVAILABLE = "hub_unavailable"
    NEEDS_REMOTE_CODE = "needs_remote_code"
    UNSUPPORTED_CONFIG = "unsupported_config"
    UNSUPPORTED_ARCHITECTURE = "unsupported_architecture"
    BUILD_FAILED = "build_failed"
    OVER_MAX_PARAMS = "over_max_params"
    INPUTS_FAILED = "inputs_failed"
    FORWARD_FAILED = "forward_failed"
    DATA_DEPENDENT = "data_dependent"
    DYNAMO_FAILED = "dynamo_failed"
    SHAPE_REFUSED = "shape_refused"
    DTYPE_UNSUPPORTED = "dtype_unsupported"
    DUPLICATE_CONFIG = "duplicate_config"
    CURVE_FAILED = "curve_failed"
    TRACE_CHANGED = "trace_changed"
    UNTRACKED_TENSOR = "untracked_tensor"
    UNSUPPORTED_ARGUMENT = "unsupported_argument"
    NO_TENSOR_OUTPUT = "no_tensor_output"
    SAMPLE_INCOMPLETE = "sample_incomplete"
    TEXT_UNREADABLE = "text_unreadable"
    METADATA_UNREADABLE = "metadata_unreadable"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    EXITED = "exited"
    OUT_OF_MEMORY = "out_of_memory"
    OUTPUT_FLOOD = "output_flood"
    TOO_MANY_PROCESSES = "too_many_processes"
    BAD_REPLY = "bad_reply"
    KILLED = "killed"

    @property
    def is_transient(self) -> bool:
        """Whether the next run should try again: the cause may lie in the machine and not in the subject."""
        return self in (Reason.BAD_REPLY, Reason.KILLED, Reason.HUB_UNAVAILABLE)


class SubjectError(Exception):
    """One subject cannot be brought through one step; picklable."""

    def __init__(self, subject: str, reason: Reason, detail: str) -> None:
        super().__init__(subject, reason, detail)
        self.subject = subject
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}: {self.detail}"


def describe(error: BaseException) -> str:
    """Return type and message of an exception in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message[:500]}" if message else type(error).__name__


def is_starved(error: BaseException) -> bool:
    """Tell whether an exception says that memory ran out, as Python or as torch does."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and any(words in str(error) for words in _STARVED)
    )
