"""Commands and files in a session's sandbox, beside its shell and its Python: each is one call of its driver.

Everything happens in the sandbox, as its user. What comes back is the sandbox's word: types and bounds are checked
here, and nothing more is believed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from sandbox_gym.errors import RequestError, SandboxShort
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.session.manager import GRACE_S, NO_USER

MAX_FILE_BYTES: Final = 16 * MIB
"""The most that one read or one write moves, that a command reads, and that its streams hold together."""
MAX_ARGUMENT_BYTES: Final = 3 * MIB
"""Of a command's arguments and variables together."""
FILE_TIMEOUT_S: Final = 30.0
COMMAND_ENDED: Final = -1
OPENED_S: Final = 12.0
SHORT: Final = frozenset({"EAGAIN", "ENOMEM", "EMFILE", "ENFILE", "ENOSPC", "EIO"})
"""Errors of a driver that could start no process: EIO is a shell that ended as it began."""
_CODE: Final = re.compile(r"E[A-Z0-9]{1,20}")
_MAX_SIZE: Final = 1 << 50


class FileProblem(RequestError):
    """A file can't be read or written; `code` is the kernel's name for why, such as ENOENT."""

    def __init__(self, code: str, problem: str, remedy: str) -> None:
        super().__init__("path", problem, remedy)
        self.code = code


@dataclass(frozen=True, slots=True)
class Command:
    """A program and its arguments. It sees the variables that the session's shell exports, with `env` over them."""

    argv: Sequence[str]
    timeout_s: float
    """When it is over, the command and all that it started are interrupted, and killed soon after."""
    cwd: str = WORK
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    stdout_bytes: int = MIB
    """The most that comes back of standard output: its first half and its last."""
    stderr_bytes: int = 4096
    head_only: bool = False
    """What comes back of both streams are their beginnings."""
    keep_background: bool = False
    """Processes that the command leaves behind stay; else they are killed with it."""
    user: str = ""
    """Whose process it is: root, or a user that root has made. Unless empty, of a session with root."""

    def __post_init__(self) -> None:
        if self.stdout_bytes + self.stderr_bytes > MAX_FILE_BYTES:
            raise ValueError(f"a command's streams are given back up to {MAX_FILE_BYTES} bytes together")


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. Of streams over their bounds `*_cut_bytes` are left out."""

    exit_code: int
    """128 and the signal's number where a signal ended it."""
    timed_out: bool
    stdout: bytes
    stderr: bytes
    stdout_cut_bytes: int
    stderr_cut_bytes: int
    signal: int = 0
    not_begun: str = ""
    """The kernel's name for why there was no such program or folder to begin with, such as ENOENT."""


@dataclass(frozen=True, slots=True)
class TerminalResult:
    """What came of a command in a named shell, which goes on where neither `found` nor `shell_ended` says otherwise."""

    output: bytes
    sizes: tuple[int, int, int]
    """Of the output's head and tail, and of what is left out between them."""
    found: int | None = None
    """The number of the pattern that matched, what follows it is the next call's; COMMAND_ENDED: at the prompt."""
    exit_code: int | None = None
    shell_ended: bool = False


class TakesCalls(Protocol):
    """A session's primitive."""

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]: ...


class SessionClient:
    """What is asked of a session's driver. Every method raises what `session.call` raises, such as BoxLost."""

    def __init__(self, session: TakesCalls) -> None:
        self._session = session

    async def exec(self, command: Command) -> CommandResult:
        """Run a command; neither the shell nor Python feel it. Raises RequestError for a command that can't be sent,
        SandboxShort where the sandbox can make no process now."""
        arguments, variables = _joined(command.argv), _joined([f"{name}={text}" for name, text in command.env.items()])
        _check_size(command, len(arguments) + len(variables))
        request = {
            "op": "exec",
            "args_bytes": len(arguments),
            "env_bytes": len(variables),
            "cwd": command.cwd,
            "timeout_s": command.timeout_s,
            "stdout_bytes": command.stdout_bytes,
            "stderr_bytes": command.stderr_bytes,
            "head_only": command.head_only,
            "keep": command.keep_background,
        }
        if command.user:
            request["user"] = command.user
        body = arguments + variables + command.stdin
        reply, streams = await self._session.call(request, body, within_s=command.timeout_s + GRACE_S)
        if _code(reply) == NO_USER:
            why = f"{command.user[:80]!r}: {str(reply.get('error'))[:200].partition(': ')[2]}"
            raise RequestError("user", why, "leave it out, or ask /seed_session for root and have root make the user")
        check_started(reply, "command")
        return _result(reply, streams, command)

    async def open_terminal(self, name: str) -> bool:
        """Start a shell on a terminal of its own, in the folder and with the variables of the session's shell; False
        where there is one of that name. Raises SandboxShort, and RequestError beyond sixteen."""
        request = {"op": "terminal", "do": "open", "name": name}
        reply, _ = await self._session.call(request, within_s=OPENED_S + GRACE_S)
        if _code(reply) == "EEXIST":
            return False
        check_started(reply, "session")
        return True

    async def close_terminal(self, name: str) -> bool:
        """End a named shell and all that it started; False where there is none."""
        request = {"op": "terminal", "do": "close", "name": name}
        reply, _ = await self._session.call(request, within_s=OPENED_S + GRACE_S)
        return reply.get("ok") is True

    async def in_terminal(
        self,
        name: str,
        command: bytes | None,
        expect: Sequence[str] = (),
        *,
        timeout_s: float,
        output_bytes: int,
        tries: int = 0,
    ) -> TerminalResult | None:
        """Run a command in a named shell, or type it into the one that runs there; None: type up to `tries` interrupts,
        `timeout_s` apart, then kill. Until it ends, or one of `expect` (regular expressions) matches, or the time is
        up. None where there is no such shell. Raises RequestError, SandboxShort."""
        do = "run" if command is not None else "interrupt"
        request = {"op": "terminal", "do": do, "name": name, "expect": list(expect), "timeout_s": timeout_s,
                   "output_bytes": output_bytes, "tries": tries}  # fmt: skip
        within_s = timeout_s * (tries + 1) + 1 + GRACE_S
        reply, output = await self._session.call(request, command or b"", within_s=within_s)
        if _code(reply) == "ENOENT":
            return None
        check_started(reply, "command")
        found, code = reply.get("found"), reply.get("exit_code")
        return TerminalResult(
            output[:output_bytes],
            stream_sizes(reply.get("sizes")),
            found if type(found) is int and COMMAND_ENDED <= found < len(expect) else None,
            code if type(code) is int and 0 <= code < 256 else None,
            reply.get("ended") is True,
        )

    async def read_file(
        self, path: str, *, max_bytes: int = MAX_FILE_BYTES, offset: int = 0, part_bytes: int | None = None
    ) -> bytes:
        """A regular file from `offset` on: at most `part_bytes` of it, or else all. Raises FileProblem: EFBIG where all
        is more than `max_bytes`."""
        most = max_bytes if part_bytes is None else min(part_bytes, max_bytes)
        request = {"op": "read", "path": path, "offset": offset, "size": part_bytes, "max_bytes": most}
        reply, data = await self._session.call(request, within_s=FILE_TIMEOUT_S + GRACE_S)
        _check_file(reply, path, most)
        return data[:most]

    async def write_file(self, path: str, data: bytes, *, append: bool = False) -> None:
        """Write a regular file whole, or add to its end; its folders are made. Raises FileProblem, RequestError."""
        if len(data) > MAX_FILE_BYTES:
            raise RequestError("path", f"would have {len(data)} bytes", f"write at most {MAX_FILE_BYTES} at once")
        request = {"op": "write", "path": path, "append": append}
        reply, _ = await self._session.call(request, data, within_s=FILE_TIMEOUT_S + GRACE_S)
        _check_file(reply, path, MAX_FILE_BYTES)


def _code(reply: Mapping[str, object]) -> str:
    return "" if reply.get("ok") is True else str(reply.get("error"))[:200].partition(":")[0]


def check_started(reply: Mapping[str, object], field: str) -> None:
    """Raises SandboxShort for what the driver can't start now, RequestError for what it takes from no caller."""
    if reply.get("ok") is True:
        return
    error = str(reply.get("error"))[:200]
    if _code(reply) in SHORT:
        remedy = "end what runs in it, or ask again later"
        raise SandboxShort(f"the session's sandbox can't start it now ({error}); {remedy}")
    raise RequestError(field, f"was refused: {error}", "send less, and no NUL")


def stream_sizes(sizes: object) -> tuple[int, int, int]:
    """Of a stream as the driver clipped it: bytes of its head, of its tail, and between them. Zeros for nonsense."""
    if isinstance(sizes, list) and len(sizes) == 3 and all(type(size) is int for size in sizes):
        head, tail, dropped = sizes
        if all(0 <= size < _MAX_SIZE for size in (head, tail, dropped)):
            return head, tail, dropped
    return 0, 0, 0


def _joined(texts: Sequence[str]) -> bytes:
    """Each with a NUL after it. Raises RequestError for NUL, and for what is no UTF-8."""
    try:
        joined = "".join(f"{text}\0" for text in texts).encode()
    except UnicodeEncodeError:
        raise RequestError("command", "holds a lone surrogate", "send characters") from None
    if joined.count(b"\0") != len(texts):
        raise RequestError("command", "holds NUL", "leave it out")
    return joined


def _check_size(command: Command, size_bytes: int) -> None:
    if not command.argv or size_bytes > MAX_ARGUMENT_BYTES:
        remedy = f"send one to {MAX_ARGUMENT_BYTES} bytes of arguments and variables; longer ones by write_file"
        raise RequestError("command", "is empty or too long", remedy)
    if len(command.stdin) > MAX_FILE_BYTES:
        problem = f"has {len(command.stdin)} bytes of standard input"
        raise RequestError("command", problem, f"send at most {MAX_FILE_BYTES}; more by write_file")


def _check_file(reply: Mapping[str, object], path: str, max_bytes: int) -> None:
    if reply.get("ok") is True:
        return
    code, _, text = str(reply.get("error"))[:300].partition(": ")
    code = code if _CODE.fullmatch(code) else "EIO"
    remedy = f"use bash for parts of what has over {max_bytes} bytes" if code == "EFBIG" else "give another path"
    raise FileProblem(code, f"{path[:200]!r} gives {code} ({text})", remedy)


def _result(reply: Mapping[str, object], streams: bytes, command: Command) -> CommandResult:
    """Raises RequestError for a reply that contradicts itself, or what was asked."""
    code, timed_out = reply.get("exit_code"), reply.get("timed_out")
    head, tail, cut = stream_sizes(reply.get("sizes"))
    err_head, err_tail, err_cut = stream_sizes(reply.get("stderr_sizes"))
    bounded = head + tail <= command.stdout_bytes and err_head + err_tail <= command.stderr_bytes
    whole = len(streams) == head + tail + err_head + err_tail
    if type(code) is not int or not 0 <= code < 256 or type(timed_out) is not bool or not bounded or not whole:
        raise RequestError("command", "left no account of itself", "see with bash whether the sandbox still works")
    number, why = reply.get("signal"), str(reply.get("not_begun", ""))
    how = number if type(number) is int and 0 <= number <= 64 else 0, why if _CODE.fullmatch(why) else ""
    return CommandResult(code, timed_out, streams[: head + tail], streams[head + tail :], cut, err_cut, *how)
