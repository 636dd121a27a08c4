"""A session's sandbox as a plain sandbox: commands on their own, files in and out. What a remote provider is made of.

Unlike the agents' tools nothing is kept between commands but files and processes, and output comes whole.
"""

from __future__ import annotations

import base64
import binascii
import re
import secrets
import shlex
from typing import Final

from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from sandbox_gym.engine import HeldSessions
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.session.manager import ToolReply
from sandbox_gym.server.protocol.resources import JudgingEngine, ToolCall
from sandbox_gym.server.tools.session_tools import refused
from sandbox_gym.server.tools.shapes import tool

SHOWN_BYTES: Final = 8 * MIB
"""The most of each of a command's streams."""
FILE_BYTES: Final = 16 * MIB
"""The most of one file in one call."""
_FILE_S: Final = 60.0
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class SandboxCommand(BaseModel):
    """A command in a shell of its own."""

    model_config = ConfigDict(extra="ignore")

    command: str
    cwd: str = "/workspace"
    env: dict[str, str] = Field(default_factory=dict)
    timeout_s: float = Field(180.0, gt=0, le=3600)


class SandboxNothing(BaseModel):
    """No arguments."""

    model_config = ConfigDict(extra="ignore")


class SandboxRead(BaseModel):
    """A file to read."""

    model_config = ConfigDict(extra="ignore")

    path: str


class SandboxWrite(BaseModel):
    """A file to write, in base64."""

    model_config = ConfigDict(extra="ignore")

    path: str
    content: str


class SandboxMade(TypedDict):
    """The cookie's sandbox."""

    id: str


class SandboxHeld(TypedDict):
    """Whether it is held, awake or asleep."""

    running: bool


class SandboxClosed(TypedDict):
    """Nothing is left."""


class SandboxRan(TypedDict):
    """How the command ended. `lost`: the sandbox was, in this call or before; its files are as of its last snapshot."""

    stdout: str
    stderr: str
    exit_code: int
    timed_out: bool
    truncated: bool
    lost: bool


class SandboxFile(TypedDict):
    """A file in base64."""

    content: str
    lost: bool


class SandboxWritten(TypedDict):
    """That it is there."""

    lost: bool


@tool(SandboxNothing, SandboxMade)
async def create(engine: JudgingEngine, call: ToolCall, _: SandboxNothing) -> SandboxMade:
    """Make the cookie's sandbox ready."""
    await _sessions(engine).call(call.session_id, {"op": "ping"}, timeout_s=_FILE_S)
    return {"id": call.session_id}


@tool(SandboxNothing, SandboxHeld)
async def status(engine: JudgingEngine, call: ToolCall, _: SandboxNothing) -> SandboxHeld:
    """Whether the cookie's sandbox is held, awake or asleep."""
    return {"running": call.session_id in _sessions(engine)}


@tool(SandboxNothing, SandboxClosed)
async def close(engine: JudgingEngine, call: ToolCall, _: SandboxNothing) -> SandboxClosed:
    """End the cookie's sandbox for good; again is fine."""
    await _sessions(engine).close(call.session_id)
    return {}


@tool(SandboxCommand, SandboxRan)
async def run(engine: JudgingEngine, call: ToolCall, wanted: SandboxCommand) -> SandboxRan:
    """Run a command in the cookie's sandbox, in a shell of its own."""
    sessions, place = _sessions(engine), f"/tmp/.command-{secrets.token_hex(8)}"
    request = {"op": "bash", "timeout_s": wanted.timeout_s, "output_bytes": 4096}
    body = _script(wanted, place).encode("utf-8", "replace")
    done = await sessions.call(call.session_id, request, body, timeout_s=wanted.timeout_s)
    if done.lost or done.restored:
        return _ended(done, "", "", truncated=False)
    refused(done, "command")
    streams = []
    for name in ("out", "err"):
        read = {"op": "read", "path": f"{place}/{name}", "max_bytes": FILE_BYTES}
        streams.append((await sessions.call(call.session_id, read, timeout_s=_FILE_S)).body)
    tidy = {"op": "bash", "timeout_s": _FILE_S, "output_bytes": 4096}
    await sessions.call(call.session_id, tidy, f"rm -rf {place}".encode(), timeout_s=_FILE_S)
    texts = [stream[:SHOWN_BYTES].decode("utf-8", "replace") for stream in streams]
    return _ended(done, *texts, truncated=any(len(stream) > SHOWN_BYTES for stream in streams))


@tool(SandboxRead, SandboxFile)
async def read(engine: JudgingEngine, call: ToolCall, wanted: SandboxRead) -> SandboxFile:
    """Read a file of the cookie's sandbox, in base64."""
    path = wanted.path
    request = {"op": "read", "path": path, "max_bytes": FILE_BYTES}
    answer = await _sessions(engine).call(call.session_id, request, timeout_s=_FILE_S)
    return {"content": base64.b64encode(_served(answer, path)).decode(), "lost": answer.lost or answer.restored}


@tool(SandboxWrite, SandboxWritten)
async def write(engine: JudgingEngine, call: ToolCall, wanted: SandboxWrite) -> SandboxWritten:
    """Write a file into the cookie's sandbox, out of base64; its folders are made."""
    try:
        content = base64.b64decode(wanted.content, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError("content", "is not base64", "encode the file's content in base64") from None
    if len(content) > FILE_BYTES:
        raise RequestError("content", f"has {len(content)} bytes", f"send at most {FILE_BYTES} at once")
    request = {"op": "write", "path": wanted.path}
    answer = await _sessions(engine).call(call.session_id, request, content, timeout_s=_FILE_S)
    _served(answer, wanted.path)
    return {"lost": answer.lost or answer.restored}


def _sessions(engine: JudgingEngine) -> HeldSessions:
    if engine.sessions is None:
        remedy = "serve with provider local or docker"
        raise RequestError("sandbox", f"needs a session, and provider {engine.provider_name} holds none", remedy)
    return engine.sessions


def _served(answer: ToolReply, path: str) -> bytes:
    """What a file's call gave. Raises RequestError where the sandbox refused it."""
    if not answer.lost and answer.reply.get("ok") is not True:
        raise RequestError("path", f"{path[:200]!r}: {str(answer.reply.get('error'))[:200]}", "give another path")
    return answer.body


def _script(wanted: SandboxCommand, place: str) -> str:
    """The command in a shell of its own: nothing it sets outlives it, nothing it prints is cut below the cap."""
    for name in wanted.env:
        if not _NAME.fullmatch(name):
            raise RequestError("env", f"has the name {name[:40]!r}", "use letters, digits and _")
    exports = "".join(f"export {name}={shlex.quote(value)}; " for name, value in wanted.env.items())
    cwd, command = shlex.quote(wanted.cwd), shlex.quote(wanted.command)
    inner = f"cd -- {cwd} || exit 1; {exports}exec bash -c {command}"
    cut = f"for each in {place}/*; do truncate -s '<{SHOWN_BYTES + 1}' $each; done"
    return (
        f"( mkdir -p {place}; exec >{place}/out 2>{place}/err </dev/null; {inner} )\n__code=$?; {cut}; ( exit $__code )"
    )


def _ended(done: ToolReply, stdout: str, stderr: str, *, truncated: bool) -> SandboxRan:
    code = done.reply.get("exit_code")
    return {
        "stdout": stdout,
        "stderr": stderr,
        "exit_code": code if type(code) is int else -1,
        "timed_out": done.reply.get("timed_out") is True,
        "truncated": truncated,
        "lost": done.lost or done.restored,
    }
