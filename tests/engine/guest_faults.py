"""Faults inside a box: one step of the guest's own code fails, in whichever process of the box it is, and no program's.

Owns what is put into the guest's source for that, and how a test names a step and reads which ones there were. Each of
the guest's modules sees `os`, `socket` and the like through a stand-in that counts a call and may raise instead of
making it. A program has the true modules.
"""

from __future__ import annotations

import errno
import mmap
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_gym.sandbox.channel import bundle

SLOTS, SLOT = 4096, 128
_TABLE = f"guest-faults-{os.getpid()}"
_INSIDE = """
import binascii, builtins, fcntl, mmap, os, selectors, socket, sys, types
target, number, nth, SLOTS, SLOT, TABLE = None, 0, 0, 0, 0, ""
_STEPS = {
    "os": "open read write pread pipe pipe2 fork dup dup2 memfd_create mkdir makedirs chown fchown chmod sendfile "
    "listdir scandir stat lstat fstat chdir access symlink replace unlink rmdir utime posix_spawn execve execvpe "
    "fdopen openpty readlink link truncate setgroups setresuid setresgid setsid".split(),
    "fcntl": ["fcntl", "ioctl"],
    "resource": ["getrlimit", "setrlimit"],
    "select": ["select", "poll"],
    "socket": ["socket", "socketpair", "recv", "send", "sendall", "recvmsg", "sendmsg"],
    "selectors": ["DefaultSelector", "register", "modify", "unregister"],
    "kernel": "fork unshare setns mount unmount prctl close_from drop_bounding_set drop_capabilities".split(),
    "importlib": [],
}
_held = []
def _count():
    low = os.memfd_create(TABLE)
    fd = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 90)
    os.close(low)
    os.ftruncate(fd, SLOTS * SLOT)
    _held.append(mmap.mmap(fd, SLOTS * SLOT))
def _step(module, what):
    frame = sys._getframe(2)
    while "guest/" not in frame.f_code.co_filename:
        frame = frame.f_back
    place = frame.f_code.co_filename.rpartition("guest/")[2].strip(">").replace("/", ".")
    place = place[:-3] if place.endswith(".py") else place
    step = "%s:%d:%s:%s" % (place, frame.f_lineno, frame.f_code.co_name, what)
    key = step.encode()
    table, at = _held[0], SLOT * (binascii.crc32(key) % SLOTS)
    seen = int.from_bytes(table[at : at + 4], "big") + 1
    table[at : at + 4 + len(key)] = seen.to_bytes(4, "big") + key
    if step == target and seen == nth:
        raise OSError(number, os.strerror(number)) if number else MemoryError()
def _failing(module, what, call):
    def made(*given, **named):
        _step(module, what)
        try:
            return call(*given, **named)
        finally:
            del given, named  # an exception's frames hold no buffers then
    return made
def _socket(module):
    class Socket(socket.socket):
        def __init__(self, *given, **named):
            if given or not named:
                _step(module, "socket.socket")
            super().__init__(*given, **named)
    for name in _STEPS["socket"][2:]:
        setattr(Socket, name, _failing(module, "socket." + name, getattr(socket.socket, name)))
    def pair(*given, **named):
        _step(module, "socket.socketpair")
        return tuple(Socket(fileno=end.detach()) for end in socket.socketpair(*given, **named))
    return {"socket": Socket, "socketpair": pair}
def _selector(module):
    class Selector(selectors.DefaultSelector):
        def __init__(self):
            _step(module, "selectors.DefaultSelector")
            super().__init__()
    for name in _STEPS["selectors"][1:]:
        setattr(Selector, name, _failing(module, "selectors." + name, getattr(selectors.DefaultSelector, name)))
    return {"DefaultSelector": Selector}
class _StandIn(types.ModuleType):
    def __init__(self, real, name, module):
        super().__init__(real.__name__)
        made = {"socket": _socket, "selectors": _selector}.get(name)
        steps = [step for step in _STEPS[name] if hasattr(real, step)]
        self.__dict__.update(
            made(module) if made else {step: _failing(module, name + "." + step, getattr(real, step)) for step in steps}
        )
        self.__dict__["_real"] = real
    def __getattr__(self, name):
        return getattr(self._real, name)
def enter(space):
    if not _held:
        _count()
    module = space["__name__"]
    for name in _STEPS:
        real = space.get(name)
        if isinstance(real, types.ModuleType) and not isinstance(real, _StandIn) and not (
            name == "kernel" and module.endswith(".kernel")):
            space[name] = _StandIn(real, name, module)
    space["open"] = _failing(module, "open", builtins.open)
"""


@dataclass(frozen=True)
class Fault:
    """`step` fails at its `nth` call in the box, once; errno 0: a MemoryError."""

    step: str
    number: int
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.step}#{self.nth}={errno.errorcode.get(self.number, 'MemoryError')}"


NONE = Fault("", 0)


class FaultyGuests:
    """Boxes that are started from now on have a guest with `fault`."""

    def __init__(self) -> None:
        self.fault = NONE

    def bundle(self, python: Path | None = None) -> bytes:
        text = head(self.fault).encode() + _whole(python)
        return len(text).to_bytes(4, "big") + text


def head(fault: Fault) -> str:
    """Source that makes the module of which the guest's modules call `enter`."""
    given = fault.step or None, fault.number, fault.nth, SLOTS, SLOT, _TABLE
    return (
        "import sys, types; F = types.ModuleType('sandbox_faults'); sys.modules['sandbox_faults'] = F\n"
        f"exec(compile({_INSIDE!r}, '<faults>', 'exec'), F.__dict__)\n"
        f"F.target, F.number, F.nth, F.SLOTS, F.SLOT, F.TABLE = {given}\n"
    )


_made: dict[Path | None, bytes] = {}


def _whole(python: Path | None) -> bytes:
    """The guest's source with a line more at the end of each module."""
    if python not in _made:
        line = "\n__import__('sandbox_faults').enter(globals())\n"
        real = bundle.source
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(bundle, "source", lambda name: real(name) + line)
            _made[python] = bundle.guest_bundle.__wrapped__(python)[4:]
    return _made[python]


@contextmanager
def faulty_guests() -> Iterator[FaultyGuests]:
    made = FaultyGuests()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("sandbox_gym.sandbox.local.jails.guest_bundle", made.bundle)
        patched.setattr("sandbox_gym.sandbox.channel.guest_channel.guest_bundle", made.bundle)
        yield made


def _tables() -> Iterator[Path]:
    """The tables of this process's boxes."""
    for fd in Path("/proc").glob("[0-9]*/fd/9[0-9]"):
        with suppress(OSError):
            if _TABLE in os.readlink(fd):
                yield fd


def steps_of_boxes() -> Counter[str]:
    """How often each step was taken in the boxes of this process that live now."""
    found: Counter[str] = Counter()
    for path in _tables():
        with suppress(FileNotFoundError), open(path, "r+b") as file, mmap.mmap(file.fileno(), SLOTS * SLOT) as table:
            for at in range(0, SLOTS * SLOT, SLOT):
                seen = int.from_bytes(table[at : at + 4], "big")
                if seen:
                    step = table[at + 4 : at + SLOT].rstrip(b"\0").decode()
                    found[step] = max(found[step], seen)
    return found
