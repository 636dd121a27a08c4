"""Tools for programs that drive a session from outside: a command beside the shell, files as bytes.

What agents of the field are built on (sandbox_gym/agents); a model is better served by bash and the editor's tools.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field, StringConstraints
from typing_extensions import TypedDict

from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.session.client import MAX_FILE_BYTES, Command
from sandbox_gym.server.protocol.resources import Tool, ToolCall
from sandbox_gym.server.tools.session_client import ToolClient, absolute_path, encoded
from sandbox_gym.server.tools.shapes import tool

MAX_STREAM: Final = 7 * MIB
"""Two streams fit into one reply."""
Encoding = Literal["utf-8", "base64"]
_Name = Annotated[str, StringConstraints(pattern=r"^[^=\x00]+$")]


class Exec(BaseModel):
    """A command beside the shell: a string is for bash, a list is argv. `encoding`: of `stdin` and both streams.
    `user`: root, or a user that root has made, in a session that was seeded with root."""

    command: str | list[str]
    stdin: str = ""
    cwd: str = WORK
    env: dict[_Name, str] = Field(default_factory=dict)
    timeout_s: float = Field(60.0, gt=0, le=3600)
    output_bytes: int = Field(64 * 1024, ge=2, le=MAX_STREAM)
    encoding: Encoding = "utf-8"
    user: str = Field("", max_length=256)


class ReadFile(BaseModel):
    """A file to read: whole, or, with `max_bytes`, at most so many bytes from `offset` on."""

    path: str
    encoding: Encoding = "utf-8"
    offset: int = Field(0, ge=0, lt=1 << 60)
    max_bytes: int | None = Field(None, ge=1, le=MAX_FILE_BYTES)


class WriteFile(BaseModel):
    """A file to write whole, or, with `append`, to add to."""

    path: str
    content: str
    encoding: Encoding = "utf-8"
    append: bool = False


class ExecRan(TypedDict):
    """How the command ended; of streams over `output_bytes` the middle is left out. No exit code: it was killed."""

    stdout: str
    stderr: str
    stdout_cut_bytes: int
    stderr_cut_bytes: int
    exit_code: int | None
    timed_out: bool
    state_lost: bool


class FileRead(TypedDict):
    """A file, or the part of it that was asked for. `size_bytes`: of `content` as bytes."""

    content: str
    size_bytes: int
    state_lost: bool


class FileWritten(TypedDict):
    """That it is there."""

    size_bytes: int
    state_lost: bool


@tool(Exec, ExecRan)
async def exec_command(engine: Engine, call: ToolCall, wanted: Exec) -> ExecRan:
    """Run one command beside the session's shell."""
    client = ToolClient(engine, call)
    ran = await client.exec(
        Command(
            ["bash", "-c", wanted.command] if isinstance(wanted.command, str) else wanted.command,
            wanted.timeout_s,
            absolute_path(WORK, wanted.cwd, "cwd"),
            wanted.env,
            _bytes(wanted.stdin, wanted.encoding, "stdin"),
            wanted.output_bytes,
            wanted.output_bytes,
            keep_background=True,
            user=wanted.user,
        )
    )
    return {
        "stdout": _text(ran.stdout, wanted.encoding),
        "stderr": _text(ran.stderr, wanted.encoding),
        "stdout_cut_bytes": ran.stdout_cut_bytes,
        "stderr_cut_bytes": ran.stderr_cut_bytes,
        "exit_code": None if ran.timed_out else ran.exit_code,
        "timed_out": ran.timed_out,
        "state_lost": client.restored,
    }


@tool(ReadFile, FileRead)
async def read_file(engine: Engine, call: ToolCall, wanted: ReadFile) -> FileRead:
    """Read a file of at most 16 MiB, or such a part of a file."""
    client, path = ToolClient(engine, call), absolute_path(WORK, wanted.path)
    data = await client.read_file(path, offset=wanted.offset, part_bytes=wanted.max_bytes)
    return {"content": _text(data, wanted.encoding), "size_bytes": len(data), "state_lost": client.restored}


@tool(WriteFile, FileWritten)
async def write_file(engine: Engine, call: ToolCall, wanted: WriteFile) -> FileWritten:
    """Write a file of at most 16 MiB, or add as much to its end; folders are made."""
    client = ToolClient(engine, call)
    data = _bytes(wanted.content, wanted.encoding, "content")
    await client.write_file(absolute_path(WORK, wanted.path), data, append=wanted.append)
    return {"size_bytes": len(data), "state_lost": client.restored}


FILE_TOOLS: Final[Mapping[str, Tool]] = {"exec": exec_command, "read_file": read_file, "write_file": write_file}


def _bytes(text: str, encoding: Encoding, field: str) -> bytes:
    if encoding == "utf-8":
        return encoded(text, field)
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise RequestError(field, "is no base64", "send base64, or encoding utf-8") from None


def _text(data: bytes, encoding: Encoding) -> str:
    return base64.b64encode(data).decode() if encoding == "base64" else data.decode("utf-8", "replace")
