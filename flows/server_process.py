"""The Prefect server that a run on one machine brings along: `python -m flows.server_process FD`.

Serves the API on an already listening socket and dies with the process that started it, however that ends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys

_PR_SET_PDEATHSIG = 1


def main(fd: int, parent: int) -> None:
    """Serve on the listening socket `fd` until SIGTERM, or the end of process `parent`."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    import uvicorn

    config = uvicorn.Config(
        "prefect.server.api.server:create_app",
        factory=True,
        log_level="error",
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=fd)])


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
