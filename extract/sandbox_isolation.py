"""Take the network, and the right to write files, from the process that calls: Linux namespaces, no privilege needed.

Standard library alone: the guard calls it in the forked child, which has one thread, before it executes the worker.
"""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final

# include/uapi/linux/sched.h, mount.h, prctl.h; a system call's number is the same on all architectures since 5.1.
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWIPC: Final = 0x08000000
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_SYS_MOUNT_SETATTR: Final = 442  # Linux 5.12
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_MOUNT_ATTR_RDONLY: Final = 0x1
_PR_SET_NO_NEW_PRIVS: Final = 38
NOT_ISOLATED: Final = "no process can be cut off from network and files here"
_INNER_ID: Final = 1000  # not 0: executing a program as another user than root drops the namespace's capabilities


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def isolate(directory: str) -> None:
    """Leave this process no network, and all files read-only but those below `directory`, for good.

    What it executes next has no capability left to undo that. Raises OSError where the system forbids it.
    """
    if platform.system() != "Linux":
        raise OSError(f"{platform.system()} has no namespaces")
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    _check("unshare", libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_INNER_ID} {uid} 1"),
        ("gid_map", f"{_INNER_ID} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
            stream.write(text)
    own, root = os.fsencode(directory), b"/"
    _check("mount private", libc.mount(None, root, None, _MS_REC | _MS_PRIVATE, None))
    _check("mount bind", libc.mount(own, own, None, _MS_BIND, None))
    _set_attributes(libc, root, _MountAttr(attr_set=_MOUNT_ATTR_RDONLY), _AT_RECURSIVE)
    _set_attributes(libc, own, _MountAttr(attr_clr=_MOUNT_ATTR_RDONLY), 0)
    os.chdir(directory)  # the working directory so far lies below the bind
    _check("prctl", libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _set_attributes(libc: ctypes.CDLL, path: bytes, attributes: _MountAttr, flags: int) -> None:
    result = libc.syscall(
        ctypes.c_long(_SYS_MOUNT_SETATTR),
        ctypes.c_int(_AT_FDCWD),
        ctypes.c_char_p(path),
        ctypes.c_uint(flags),
        ctypes.byref(attributes),
        ctypes.c_size_t(ctypes.sizeof(attributes)),
    )
    _check(f"mount_setattr {os.fsdecode(path)}", result)


def _check(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
