"""Take network, other processes and the right to write files from a process: Linux namespaces, no privilege needed.

Standard library alone: the guard calls it in the forked child, which has one thread, before it executes the worker.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from typing import Final, NoReturn

# include/uapi/linux/sched.h, mount.h, prctl.h; a system call's number is the same on all architectures since 5.1.
_CLONE_NEWNS: Final = 0x00020000
_CLONE_NEWIPC: Final = 0x08000000
_CLONE_NEWUSER: Final = 0x10000000
_CLONE_NEWNET: Final = 0x40000000
_CLONE_NEWPID: Final = 0x20000000
_MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 2, 4, 8
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_SYS_MOUNT_SETATTR: Final = 442  # Linux 5.12
_AT_FDCWD: Final = -100
_AT_RECURSIVE: Final = 0x8000
_MOUNT_ATTR_RDONLY: Final = 0x1
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_NO_NEW_PRIVS: Final = 38
NOT_ISOLATED: Final = "no process can be cut off from network and files here"
_INNER_ID: Final = 1000  # not 0: executing a program as another user than root drops the namespace's capabilities


class _MountAttr(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("attr_set", "attr_clr", "propagation", "userns_fd")]


def isolate(directory: str) -> None:
    """Go on in a process that has no network, sees no process but its own, and writes no file but below `directory`.

    What it executes next has no capability left to undo that. Of the two processes that stand between it and the
    caller's parent, the outer one ends as it ends. Raises OSError where the system forbids it.
    """
    if platform.system() != "Linux":
        raise OSError(f"{platform.system()} has no namespaces")
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.getuid(), os.getgid()
    _check("unshare", libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS | _CLONE_NEWNET | _CLONE_NEWIPC | _CLONE_NEWPID))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_INNER_ID} {uid} 1"),
        ("gid_map", f"{_INNER_ID} {gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as stream:
            stream.write(text)
    read_fd, write_fd = os.pipe()
    first = os.fork()  # the first process of the new namespace: when it ends, so do all in it
    if first:
        _keep_only(read_fd)
        _end_alike(read_fd)
    _check("prctl", libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    _hide(libc, directory)
    worker = os.fork()
    if worker:
        _keep_only(write_fd)
        os.write(write_fd, b"%d" % _wait_for(worker))
        os._exit(0)
    os.close(read_fd)
    os.close(write_fd)


def _hide(libc: ctypes.CDLL, directory: str) -> None:
    """Make all files read-only but those below `directory`, and /proc that of this namespace."""
    own, root = os.fsencode(directory), b"/"
    _check("mount private", libc.mount(None, root, None, _MS_REC | _MS_PRIVATE, None))
    _check("mount /proc", libc.mount(b"proc", b"/proc", b"proc", _MS_NOSUID | _MS_NODEV | _MS_NOEXEC, None))
    _check("mount bind", libc.mount(own, own, None, _MS_BIND, None))
    _set_attributes(libc, root, _MountAttr(attr_set=_MOUNT_ATTR_RDONLY), _AT_RECURSIVE)
    _set_attributes(libc, own, _MountAttr(attr_clr=_MOUNT_ATTR_RDONLY), 0)
    os.chdir(directory)  # the working directory so far lies below the bind
    _check("prctl", libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def _keep_only(fd: int) -> None:
    """Close all descriptors but one: the pipes to the worker must end with it."""
    null_fd = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null_fd, standard)
    os.closerange(3, fd)
    os.closerange(fd + 1, 1 << 16)


def _wait_for(worker: int) -> int:
    """Reap what ends in this namespace until the worker does; return its wait status."""
    while True:
        pid, status = os.wait()
        if pid == worker:
            return status


def _end_alike(read_fd: int) -> NoReturn:
    """End as the worker ends: with its exit code, or by its signal."""
    text = os.read(read_fd, 32)
    status = int(text) if text else signal.SIGKILL
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


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
