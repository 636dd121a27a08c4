"""Tools for programs that drive a session from outside: a command beside the shell, files as bytes.

What agents of the field are built on (sandbox_gym/agents); a model is better served by bash and the editor's tools.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from typing_extensions import TypedDict

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import MIB
from sandbox_gym.server.protocol.resources import JudgingEngine, Tool, ToolCall
from sandbox_gym.server.tools.session_client import SessionBox, encoded, place, script
from sandbox_gym.server.tools.shapes import tool

HOME: Final = "/workspace"
MAX_ARGUMENTS: Final = 3 * MIB
MAX_STREAM: Final = 7 * MIB
"""Two streams and their account fit in one read."""
Encoding = Literal["utf-8", "base64"]
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class Exec(BaseModel):
    """A command beside the shell: a string is for bash, a list is argv. `encoding`: of `stdin` and both streams."""

    model_config = ConfigDict(extra="ignore")

    command: str | list[str]
    stdin: str = ""
    cwd: str = HOME
    env: dict[_Name, str] = Field(default_factory=dict)
    timeout_s: float = Field(60.0, gt=0, le=3600)
    output_bytes: int = Field(64 * 1024, ge=2, le=MAX_STREAM)
    encoding: Encoding = "utf-8"


class ReadFile(BaseModel):
    """A file to read."""

    model_config = ConfigDict(extra="ignore")

    path: str
    encoding: Encoding = "utf-8"


class WriteFile(BaseModel):
    """A file to write whole."""

    model_config = ConfigDict(extra="ignore")

    path: str
    content: str
    encoding: Encoding = "utf-8"


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
    """A file, whole."""

    content: str
    size_bytes: int
    state_lost: bool


class FileWritten(TypedDict):
    """That it is there."""

    size_bytes: int
    state_lost: bool


@tool(Exec, ExecRan)
async def exec_command(engine: JudgingEngine, call: ToolCall, wanted: Exec) -> ExecRan:
    """Run one command beside the session's shell."""
    argv = ["bash", "-c", wanted.command] if isinstance(wanted.command, str) else wanted.command
    texts = [*argv, *wanted.env.values()]
    if not argv or sum(len(encoded(text, "command")) for text in texts) > MAX_ARGUMENTS or "\0" in "".join(texts):
        remedy = f"send one to {MAX_ARGUMENTS} bytes of arguments and variables, without NUL; longer ones by write_file"
        raise RequestError("command", "is empty, too long, or holds NUL", remedy)
    box = SessionBox(engine, call)
    ran = await box.run(
        script(argv, place(HOME, wanted.cwd, "cwd"), wanted.env),
        timeout_s=wanted.timeout_s,
        stdin=_bytes(wanted.stdin, wanted.encoding, "stdin"),
        stdout_bytes=wanted.output_bytes,
        stderr_bytes=wanted.output_bytes,
    )
    return {
        "stdout": _text(ran.stdout, wanted.encoding),
        "stderr": _text(ran.stderr, wanted.encoding),
        "stdout_cut_bytes": ran.stdout_cut_bytes,
        "stderr_cut_bytes": ran.stderr_cut_bytes,
        "exit_code": ran.exit_code,
        "timed_out": ran.timed_out,
        "state_lost": box.restored,
    }


@tool(ReadFile, FileRead)
async def read_file(engine: JudgingEngine, call: ToolCall, wanted: ReadFile) -> FileRead:
    """Read a file of at most 16 MiB, whole."""
    box = SessionBox(engine, call)
    data = await box.read(place(HOME, wanted.path))
    return {"content": _text(data, wanted.encoding), "size_bytes": len(data), "state_lost": box.restored}


@tool(WriteFile, FileWritten)
async def write_file(engine: JudgingEngine, call: ToolCall, wanted: WriteFile) -> FileWritten:
    """Write a file of at most 16 MiB; folders are made."""
    box = SessionBox(engine, call)
    data = _bytes(wanted.content, wanted.encoding, "content")
    await box.write(place(HOME, wanted.path), data)
    return {"size_bytes": len(data), "state_lost": box.restored}


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
