"""A way to die at the worst moment, for the tests of crash safety; inert unless PASSNET_FAULT is set.

`PASSNET_FAULT=commit:before_manifest:3` kills this process with SIGKILL in its third commit, after the shards have
their names and before a manifest names them.
"""

from __future__ import annotations

import itertools
import os
import signal

_COMMITS = itertools.count(1)


def reach(point: str) -> None:
    """Die here if the environment says so. `point` is passed once per commit."""
    number = next(_COMMITS)
    if os.environ.get("PASSNET_FAULT") == f"{point}:{number}":
        os.kill(os.getpid(), signal.SIGKILL)
