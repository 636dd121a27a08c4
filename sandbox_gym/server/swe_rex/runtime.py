"""What SWE-ReX asks of a sandbox: shells by their names, commands beside them, files.

Each operation takes its request's body and gives its answer's. Raises what is in wire.py, and what sessions raise.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from encodings.aliases import aliases
from typing import Final

import anyio
from starlette.datastructures import UploadFile

from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.session.client import COMMAND_ENDED, MAX_FILE_BYTES, Command, TerminalResult
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.wire import Document, check_shape
from sandbox_gym.server.swe_rex.wire import (
    Action,
    CloseSession,
    CreateSession,
    Execute,
    Raised,
    ReadFile,
    WriteFile,
    os_error,
    swerex,
)
from sandbox_gym.server.tools.files import MAX_STREAM
from sandbox_gym.server.tools.session_client import ToolClient, absolute_path, held_sessions
from sandbox_gym.server.tools.session_tools import RESTORED, SHELL_RESET, shown

MAX_WAIT_S: Final = 3600.0
MAX_SHELLS: Final = 32
"""Of one sandbox, that are remembered; in it at most half as many run."""
MAX_INTERRUPT_S: Final = 60.0
"""Between one Ctrl-C and the next."""
OUTPUT_BYTES: Final = MIB
"""The most of one command's output in a shell: its first half and its last."""
_ERRORS: Final = "backslashreplace"  # as SWE-ReX decodes output
_CONTROL: Final = re.compile(r"\x1b[@-_][0-?]*[ -/]*[@-~]")
_CODECS: Final = frozenset(
    {"utf_8", "utf_8_sig", "ascii", "latin_1", "iso8859_15", "cp1252", "utf_16", "utf_16_le", "utf_16_be", "utf_32"}
)
"""Of which none takes long for a file of the largest size."""
_UNZIP: Final = 'python3 -m zipfile -e "$1" "$2" || unzip -qo "$1" -d "$2"'


@dataclass(slots=True)
class Runtime:
    """What is known of one sandbox here; what is in it is the sandbox's."""

    lock: anyio.Lock = field(default_factory=anyio.Lock)
    shells: dict[str, list[str]] = field(default_factory=dict)
    """What each shell sources when it starts."""
    unready: Unavailable | None = None
    """Why the row that it was to begin with is not there."""

    def check_ready(self) -> None:
        """Raises what its seed raised: an empty sandbox is not what its caller wants."""
        if self.unready is not None:
            raise self.unready


Operation = Callable[[Runtime, Engine, ToolCall], Awaitable[Document]]


async def is_alive(engine: Engine, _: ToolCall) -> Document:
    held_sessions(engine)
    return {"is_alive": True, "message": ""}


async def create_session(runtime: Runtime, engine: Engine, call: ToolCall) -> Document:
    wanted, client = check_shape(CreateSession, call.arguments), ToolClient(engine, call)
    if not await client.open_terminal(wanted.session):
        raise swerex("SessionExistsError", f"session {wanted.session} already exists")
    output = await _started(client, wanted)
    runtime.shells[wanted.session] = wanted.startup_source
    while len(runtime.shells) > MAX_SHELLS:  # those that ended by themselves, or the oldest
        del runtime.shells[next(iter(runtime.shells))]
    return {"output": output, "session_type": "bash"}


async def _started(client: ToolClient, wanted: CreateSession) -> str:
    """What the files that a new shell sources print."""
    if not wanted.startup_source:
        return ""
    command = "; ".join(f"source {shlex.quote(path)}" for path in wanted.startup_source)
    timeout_s = min(max(wanted.startup_timeout, 1.0), MAX_WAIT_S)
    result = await client.in_terminal(
        wanted.session, command.encode("utf-8", "replace"), timeout_s=timeout_s, output_bytes=OUTPUT_BYTES
    )
    if result is None or result.found is None:
        await client.close_terminal(wanted.session)
        raise swerex("SwerexException", f"{command} has not ended after {timeout_s:g} s, or has ended the shell")
    return _text(result)


async def run_in_session(runtime: Runtime, engine: Engine, call: ToolCall) -> Document:
    wanted, client = check_shape(Action, call.arguments), ToolClient(engine, call)
    typed = wanted.is_interactive_command or wanted.is_interactive_quit
    said = ""
    if wanted.action_type == "bash" and not typed:
        await _check_syntax(client, wanted.command)
    result = await _acted(client, wanted)
    if result is None:
        if wanted.session not in runtime.shells:
            raise swerex("SessionDoesNotExistError", f"session {wanted.session!r} does not exist")
        said = RESTORED if client.restored else SHELL_RESET
        again = CreateSession(session=wanted.session, startup_source=runtime.shells[wanted.session])
        await client.open_terminal(wanted.session)
        await _started(client, again)
        result = await _acted(client, wanted)
    if result is None or (result.found is None and not result.shell_ended):
        late = f"timeout after {wanted.timeout} seconds while running command"
        raise swerex("CommandTimeoutError", f"{late} {wanted.command[:1000]!r}")
    return _observed(wanted, result, said, typed)


async def _acted(client: ToolClient, wanted: Action) -> TerminalResult | None:
    interrupts = wanted.action_type == "bash_interrupt"
    default_s, most_s = (0.2, MAX_INTERRUPT_S) if interrupts else (MAX_WAIT_S, MAX_WAIT_S)
    return await client.in_terminal(
        wanted.session,
        None if interrupts else wanted.command.encode("utf-8", "surrogatepass"),
        wanted.expect,
        timeout_s=min(default_s if wanted.timeout is None else wanted.timeout, most_s),
        output_bytes=OUTPUT_BYTES,
        tries=wanted.n_retry if interrupts else 0,
    )


def _observed(wanted: Action, result: TerminalResult, said: str, typed: bool) -> Document:
    output = _text(result)
    if result.shell_ended:
        output += "[the shell ended; the next command starts a new one]\n"
    code, matched = result.exit_code, wanted.expect[result.found] if result.found not in (None, COMMAND_ENDED) else ""
    if wanted.action_type == "bash_interrupt" or typed:
        echoed = wanted.command if wanted.is_interactive_command else ""
        output, code = output.strip().removeprefix(echoed).strip(), 0
    elif wanted.check == "ignore":
        code = None
    elif wanted.check == "raise" and code != 0:
        kind = "NoExitCodeError" if code is None else "NonZeroExitCodeError"
        raise swerex(kind, _unsuccessful(wanted, f"exit code {code}. Here is the output:\n{said + output!r}"))
    return {
        "output": said + output, "exit_code": code, "failure_reason": "", "expect_string": matched,
        "session_type": "bash",
    }  # fmt: skip


def _unsuccessful(wanted: Action | Execute, how: str) -> str:
    why = f"Command {wanted.command!r} failed with {how}"
    return f"{wanted.error_msg}: {why}" if wanted.error_msg else why


async def _check_syntax(client: ToolClient, command: str) -> None:
    source = command.encode("utf-8", "surrogatepass")
    done = await client.exec(Command(["bash", "-n"], 20.0, stdin=source, stdout_bytes=4096, head_only=True))
    if done.exit_code and not done.timed_out:
        said, why = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        problem = f"bash does not take {command[:2000]!r}:\n{why}{said}"
        raise Raised("swerex.exceptions.BashIncorrectSyntaxError", problem, bash_stdout=said, bash_stderr=why)


async def close_session(runtime: Runtime, engine: Engine, call: ToolCall) -> Document:
    name = check_shape(CloseSession, call.arguments).session
    closed = await ToolClient(engine, call).close_terminal(name)
    if runtime.shells.pop(name, None) is None and not closed:
        raise swerex("SessionDoesNotExistError", f"session {name!r} does not exist")
    return {"session_type": "bash"}


async def execute(_: Runtime, engine: Engine, call: ToolCall) -> Document:
    wanted = check_shape(Execute, call.arguments)
    argv = [wanted.command] if isinstance(wanted.command, str) else wanted.command
    argv = ["/bin/sh", "-c", *argv] if wanted.shell else argv
    argv = ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *argv] if wanted.merge_output_streams else argv
    timeout_s = MAX_WAIT_S if wanted.timeout is None else min(wanted.timeout, MAX_WAIT_S)
    cwd = absolute_path(WORK, wanted.cwd, "cwd") if wanted.cwd else WORK
    command = Command(argv, timeout_s, cwd, wanted.env or {}, b"", MAX_STREAM, MAX_STREAM, keep_background=True)
    done = await ToolClient(engine, call).exec(command)
    if done.timed_out:
        raise swerex("CommandTimeoutError", f"Timeout ({wanted.timeout}s) exceeded while running command")
    stdout = _stream(done.stdout, done.stdout_cut_bytes)
    stderr = _stream(done.stderr, done.stderr_cut_bytes)
    if done.not_begun:
        raise os_error(done.not_begun, repr(cwd if done.exit_code == 1 else argv[0]))
    code = -done.signal if done.signal else done.exit_code
    if wanted.check and code != 0:
        how = f"exit code {code}. Stdout:\n{stdout[-4000:]!r}\nStderr:\n{stderr[-4000:]!r}"
        raise swerex("NonZeroExitCodeError", _unsuccessful(wanted, how))
    return {"stdout": stdout, "stderr": stderr, "exit_code": code}


def _stream(data: bytes, cut_bytes: int) -> str:
    return shown(data, [len(data) // 2, len(data) - len(data) // 2, cut_bytes], MAX_STREAM, _ERRORS)


async def read_file(_: Runtime, engine: Engine, call: ToolCall) -> Document:
    wanted = check_shape(ReadFile, call.arguments)
    encoding = re.sub("[- ]", "_", (wanted.encoding or "utf-8").lower())
    encoding = aliases.get(encoding, encoding)
    if encoding not in _CODECS:  # Python's own look-up keeps every name that it is asked for
        raise Raised("builtins.LookupError", f"unknown encoding: {str(wanted.encoding)[:80]}")
    data = await ToolClient(engine, call).read_file(absolute_path(WORK, wanted.path))
    try:
        return {"content": data.decode(encoding, wanted.errors or "strict")}
    except UnicodeDecodeError as error:
        raise Raised("builtins.UnicodeDecodeError", str(error)) from None


async def write_file(_: Runtime, engine: Engine, call: ToolCall) -> Document:
    wanted, client = check_shape(WriteFile, call.arguments), ToolClient(engine, call)
    path = absolute_path(WORK, wanted.path)
    try:
        data = wanted.content.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise RequestError("content", f"holds a lone surrogate at {error.start}", "send characters") from None
    for start in range(0, max(len(data), 1), MAX_FILE_BYTES):
        await client.write_file(path, data[start : start + MAX_FILE_BYTES], append=start > 0)
    return {}


async def put(file: UploadFile, target: str, unzip: bool, engine: Engine, call: ToolCall) -> Document:
    """An uploaded file; a folder comes as an archive, which is opened in the sandbox."""
    client, path = ToolClient(engine, call), f"{target}.zip" if unzip else target
    part, append = await file.read(MAX_FILE_BYTES), False
    while part or not append:
        await client.write_file(path, part, append=append)
        part, append = await file.read(MAX_FILE_BYTES), True
    if unzip:
        done = await client.exec(Command(["sh", "-c", f'{_UNZIP} && rm -f -- "$1"', "sh", path, target], 300.0))
        if done.exit_code:
            raise Raised("builtins.OSError", f"{target}: {done.stderr.decode('utf-8', 'replace')[-2000:]}")
    return {}


def _text(result: TerminalResult) -> str:
    """What a terminal showed, without its control sequences."""
    text = shown(result.output, list(result.sizes), OUTPUT_BYTES, _ERRORS)
    return _CONTROL.sub("", text).replace("\r\n", "\n")
