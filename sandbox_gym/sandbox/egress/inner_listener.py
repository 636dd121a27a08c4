"""A socket that listens inside of a sandbox's network namespace, made by a process that enters it and hands it out.

Knows nothing of what is done with it.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox_gym.errors import ProviderDown

LISTEN_S: Final = 15.0
NOT_HERE: Final = (
    "a sandbox's allow-list needs its processes to be seen from here, by root or by the user who started them; "
    "let the server run on the Docker Engine's machine, outside of containers"
)
_LISTEN: Final = """
import ctypes, os, socket, sys
port, channel, *namespaces = map(int, sys.argv[1:])
libc = ctypes.CDLL(None, use_errno=True)
for namespace in namespaces:
    if libc.setns(namespace, 0):
        sys.exit(os.strerror(ctypes.get_errno()))
listener = socket.socket()
listener.bind(("127.0.0.1", port))
listener.listen(32)
socket.send_fds(socket.socket(fileno=channel), [b"."], [listener.fileno()])
"""
_NS_GET_USERNS: Final = 0xB701
"""ioctl_ns(2)"""


class NoWayOut(ProviderDown):
    """A sandbox's proxy can't be made here, nor could another sandbox's."""


def listen_inside(pid: int, port: int, *, below: bool) -> socket.socket:
    """A socket that listens on the loopback of the network namespace that `pid` is in, or, where `below`, the first
    process below it that is in another than ours. Blocking. Raises NoWayOut."""
    ours, theirs = socket.socketpair()
    with ours, theirs, _namespaces(_pid_inside(pid, below=below)) as (net, owner):
        # only root may enter it from outside of its owner, the user namespace that it was made in
        handles = [theirs.fileno(), net] if os.geteuid() == 0 else [theirs.fileno(), owner, net]
        argv = [sys.executable, "-I", "-S", "-c", _LISTEN, str(port), *map(str, handles)]
        try:
            done = subprocess.run(
                argv, pass_fds=handles, capture_output=True, timeout=LISTEN_S, stdin=subprocess.DEVNULL
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoWayOut(f"a sandbox's network namespace can't be entered: {error}") from error
        if done.returncode != 0:
            why = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise NoWayOut(f"a sandbox's network namespace can't be entered: {why}")
        ours.setblocking(False)
        _, passed, _, _ = socket.recv_fds(ours, 1, 1)
    if not passed:
        raise NoWayOut("this process has no more descriptors")
    listener = socket.socket(fileno=passed[0])
    listener.set_inheritable(False)
    listener.setblocking(False)
    return listener


@contextlib.contextmanager
def _namespaces(pid: int) -> Iterator[tuple[int, int]]:
    """Descriptors of a process's network namespace and of the user namespace that owns it. Raises NoWayOut."""
    import fcntl  # not on Windows

    handles: list[int] = []
    try:
        handles.append(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC))
        handles.append(fcntl.ioctl(handles[0], _NS_GET_USERNS))
        yield handles[0], handles[1]
    except OSError as error:
        raise NoWayOut(f"a sandbox's network namespace can't be opened: {error}") from error
    finally:
        for handle in handles:
            os.close(handle)


def _pid_inside(pid: int, *, below: bool) -> int:
    """`pid`, or where `below` the first process below it, that is in another network namespace than this process."""
    here = os.stat("/proc/self/ns/net").st_ino
    waiting = [pid]
    while waiting:
        one = waiting.pop(0)
        try:
            if os.stat(f"/proc/{one}/ns/net").st_ino != here:
                return one
        except OSError:
            continue
        waiting += _children(one) if below else []
    raise NoWayOut(NOT_HERE)


def _children(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                if int((entry / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
    return found
