"""A session's sandbox as a plain sandbox: commands on their own, files in and out. What a remote provider is made of.

Unlike the agents' tools nothing is kept between commands but files and processes, and output comes whole.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from sandbox_gym.engine import Engine
from sandbox_gym.errors import BoxLost, RequestError
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.session.client import MAX_FILE_BYTES, Command, CommandResult
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.tools.session_client import ToolClient, absolute_path, held_sessions
from sandbox_gym.server.tools.shapes import tool

SHOWN_BYTES: Final = 8 * MIB
"""The most of each of a command's streams."""
_READY_S: Final = 60.0
_NAME: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class SandboxCommand(BaseModel):
    """A command in a shell of its own."""

    command: str
    cwd: str = WORK
    env: dict[str, str] = Field(default_factory=dict)
    timeout_s: float = Field(180.0, gt=0, le=3600)


class SandboxNothing(BaseModel):
    """No arguments."""


class SandboxRead(BaseModel):
    """A file to read: whole, or, with `max_bytes`, at most so many bytes from `offset` on."""

    path: str
    offset: int = Field(0, ge=0, lt=1 << 60)
    max_bytes: int | None = Field(None, ge=1, le=MAX_FILE_BYTES)


class SandboxWrite(BaseModel):
    """A file to write whole, or, with `append`, to add to; in base64."""

    path: str
    content: str
    append: bool = False


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
    """A file, or a part of it, in base64."""

    content: str
    lost: bool


class SandboxWritten(TypedDict):
    """That it is there."""

    lost: bool


@tool(SandboxNothing, SandboxMade)
async def create(engine: Engine, call: ToolCall, _: SandboxNothing) -> SandboxMade:
    """Make the cookie's sandbox ready."""
    await held_sessions(engine).call(call.session_id, {"op": "ping"}, timeout_s=_READY_S)
    return {"id": call.session_id}


@tool(SandboxNothing, SandboxHeld)
async def status(engine: Engine, call: ToolCall, _: SandboxNothing) -> SandboxHeld:
    """Whether the cookie's sandbox is held, awake or asleep."""
    return {"running": call.session_id in held_sessions(engine)}


@tool(SandboxNothing, SandboxClosed)
async def close(engine: Engine, call: ToolCall, _: SandboxNothing) -> SandboxClosed:
    """End the cookie's sandbox for good; again is fine."""
    await held_sessions(engine).close(call.session_id)
    return {}


@tool(SandboxCommand, SandboxRan)
async def run(engine: Engine, call: ToolCall, wanted: SandboxCommand) -> SandboxRan:
    """Run a command in the cookie's sandbox, in a shell of its own."""
    for name in wanted.env:
        if not _NAME.fullmatch(name):
            raise RequestError("env", f"has the name {name[:40]!r}", "use letters, digits and _")
    client = ToolClient(engine, call)
    command = Command(
        ["bash", "-c", _utf8(wanted.command)],
        wanted.timeout_s,
        absolute_path(WORK, wanted.cwd, "cwd"),
        {name: _utf8(text) for name, text in wanted.env.items()},
        stdout_bytes=SHOWN_BYTES,
        stderr_bytes=SHOWN_BYTES,
        head_only=True,
        keep_background=True,
    )
    try:
        return _ended(await client.exec(command), lost=client.restored)
    except BoxLost:
        return _ended(CommandResult(-1, False, b"", b"", 0, 0), lost=True)


@tool(SandboxRead, SandboxFile)
async def read(engine: Engine, call: ToolCall, wanted: SandboxRead) -> SandboxFile:
    """Read a file of the cookie's sandbox, in base64."""
    client, path = ToolClient(engine, call), absolute_path(WORK, wanted.path)
    try:
        data = await client.read_file(path, offset=wanted.offset, part_bytes=wanted.max_bytes)
    except BoxLost:
        return {"content": "", "lost": True}
    return {"content": base64.b64encode(data).decode(), "lost": client.restored}


@tool(SandboxWrite, SandboxWritten)
async def write(engine: Engine, call: ToolCall, wanted: SandboxWrite) -> SandboxWritten:
    """Write a file into the cookie's sandbox, out of base64, or add to it; its folders are made."""
    try:
        content = base64.b64decode(wanted.content, validate=True)
    except (binascii.Error, ValueError):
        raise RequestError("content", "is not base64", "encode the file's content in base64") from None
    client = ToolClient(engine, call)
    try:
        await client.write_file(absolute_path(WORK, wanted.path), content, append=wanted.append)
    except BoxLost:
        return {"lost": True}
    return {"lost": client.restored}


def _utf8(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _ended(done: CommandResult, *, lost: bool) -> SandboxRan:
    return {
        "stdout": done.stdout.decode("utf-8", "replace"),
        "stderr": done.stderr.decode("utf-8", "replace"),
        "exit_code": done.exit_code,
        "timed_out": done.timed_out,
        "truncated": done.stdout_cut_bytes > 0 or done.stderr_cut_bytes > 0,
        "lost": lost,
    }
