"""Stateful tools of a session: a bash and a Python that live between calls, in a sandbox of the session's own.

Answers go to a model as they are, so they are short and plain, and say when state was lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from sandbox_gym.engine import Engine
from sandbox_gym.sandbox.session.client import check_started, stream_sizes
from sandbox_gym.sandbox.session.manager import ToolReply
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.tools.session_client import WAIT_S, held_sessions
from sandbox_gym.server.tools.shapes import tool

SHOWN_BYTES: Final = 64 * 1024
"""The most of one stream that goes back to the model: the first half and the last."""
RESTORED: Final = "[the sandbox was lost; files are as of its last snapshot, variables and background jobs are gone]\n"
LOST: Final = "[the sandbox was lost during this call; it may not have run. Files go back to the last snapshot]\n"
SHELL_RESET: Final = "[a new shell was started; variables and functions of the earlier one are gone]\n"
ROLLED_BACK: Final = "variables are as before it"
GONE: Final = "variables are gone"
PYTHON_RESET: Final = "[a new Python was started; variables of the earlier one are gone]\n"


class Bash(BaseModel):
    """Run a command in the session's shell, which keeps its folder, variables and background jobs between calls."""

    command: str
    timeout_s: float = Field(60.0, gt=0, le=3600)


class Python(BaseModel):
    """Run a cell in the session's Python, which keeps its names between calls; a last expression is shown."""

    code: str
    timeout_s: float = Field(60.0, gt=0, le=3600)


class BashRan(TypedDict):
    """What the shell printed and where it stands now; `exit_code` is null where it ended or was killed."""

    output: str
    exit_code: int | None
    timed_out: bool
    cwd: str
    state_lost: bool


class CellRan(TypedDict):
    """What a cell printed. `status`: ok, error, interrupted, killed, died or lost."""

    output: str
    stdout: str
    stderr: str
    status: str
    state_lost: bool


@tool(Bash, BashRan)
async def bash(engine: Engine, call: ToolCall, wanted: Bash) -> BashRan:
    """Run a command in the session's shell: what it printed, its exit code and where the shell stands now."""
    answer = await _call(engine, call, "bash", wanted.command, wanted.timeout_s)
    reply = answer.reply
    _check_started(answer, "command")
    output = shown(answer.body, reply.get("sizes"))
    if _flag(reply, "ended") and not _flag(reply, "timed_out"):
        output += "[the shell ended; the next call starts a new one]\n"
    if _flag(reply, "timed_out"):
        how = "the shell was killed" if _flag(reply, "ended") else "interrupted"
        output += f"[timed out after {wanted.timeout_s:g} s: {how}]\n"
    return {
        "output": _said(answer, _flag(reply, "reset"), SHELL_RESET) + output,
        "exit_code": _integer(reply.get("exit_code")),
        "timed_out": _flag(reply, "timed_out"),
        "cwd": str(reply.get("cwd", ""))[:4096],
        "state_lost": answer.lost or answer.restored or _flag(reply, "reset"),
    }


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell did. `said`: of the state, before the output; `note`: how the cell ended, after it."""

    stdout: str
    stderr: str
    status: str
    """ok, error, interrupted, killed, died or lost."""
    value: str | None
    said: str
    note: str
    state_lost: bool

    @property
    def output(self) -> str:
        return self.said + self.stdout + self.stderr + self.note


async def run_cell(
    engine: Engine,
    call: ToolCall,
    code: str,
    timeout_s: float,
    *,
    echo: bool = True,
    shown_bytes: int = SHOWN_BYTES,
    preload: Sequence[tuple[str, str]] = (),
) -> Cell:
    """One cell of the session's Python. `echo`: the last value goes to stdout, else it is `value`."""
    options = {"echo": echo, "preload": [list(pair) for pair in preload]}
    answer = await _call(engine, call, "python", code, timeout_s, shown_bytes, options)
    reply = answer.reply
    _check_started(answer, "code")
    stdout, stderr = _split(answer.body, reply, shown_bytes)
    status = str(reply.get("status", "lost"))[:20]
    value = reply.get("value")
    reset = _flag(reply, "reset")
    return Cell(
        stdout,
        stderr,
        status,
        value[:shown_bytes] if isinstance(value, str) else None,
        _said(answer, reset, PYTHON_RESET),
        _ended(status, timeout_s, rolled_back=_flag(reply, "rolled_back")),
        answer.lost or answer.restored or reset,
    )


def _ended(status: str, timeout_s: float, *, rolled_back: bool) -> str:
    """A line on a cell that did not end by itself, and on what is left of the variables."""
    state = ROLLED_BACK if rolled_back else GONE
    if status == "interrupted":
        return f"[timed out after {timeout_s:g} s: interrupted; variables are kept]\n"
    if status == "killed":
        return f"[timed out after {timeout_s:g} s: killed; {state}]\n"
    return f"[the Python process died during this call; {state}]\n" if status == "died" else ""


@tool(Python, CellRan)
async def python(engine: Engine, call: ToolCall, wanted: Python) -> CellRan:
    """Run a cell in the session's Python: what it printed, its last expression's value with it, and its traceback."""
    cell = await run_cell(engine, call, wanted.code, wanted.timeout_s)
    return {
        "output": cell.output,
        "stdout": cell.stdout,
        "stderr": cell.stderr,
        "status": cell.status,
        "state_lost": cell.state_lost,
    }


async def _call(
    engine: Engine,
    call: ToolCall,
    op: str,
    text: str,
    timeout_s: float,
    shown_bytes: int = SHOWN_BYTES,
    options: Mapping[str, object] | None = None,
) -> ToolReply:
    request = {"op": op, "timeout_s": timeout_s, "output_bytes": shown_bytes, **(options or {})}
    body = text.encode("utf-8", "surrogatepass" if op == "bash" else "replace")
    sessions = held_sessions(engine)
    return await sessions.call(call.session_id, request, body, timeout_s=timeout_s, deadline_s=timeout_s + WAIT_S)


def _check_started(answer: ToolReply, field: str) -> None:
    if not answer.lost:
        check_started(answer.reply, field)


def _said(answer: ToolReply, reset: bool, reset_line: str) -> str:
    if answer.lost:
        return LOST
    if answer.restored:
        return RESTORED
    return reset_line if reset else ""


def _split(body: bytes, reply: Mapping[str, object], shown_bytes: int) -> tuple[str, str]:
    sizes = reply.get("sizes")
    own = sum(stream_sizes(sizes)[:2])
    return shown(body[:own], sizes, shown_bytes), shown(body[own:], reply.get("stderr_sizes"), shown_bytes)


def shown(body: bytes, sizes: object, shown_bytes: int = SHOWN_BYTES, errors: str = "replace") -> str:
    """Head and tail, and between them how much was left out. The sizes are the sandbox's word, and bounded."""
    head, _tail, dropped = stream_sizes(sizes)
    body = body[:shown_bytes]
    if not dropped:
        return body.decode("utf-8", errors)
    head = min(head, len(body))
    middle = f"\n[... {dropped} bytes left out ...]\n"
    return body[:head].decode("utf-8", errors) + middle + body[head:].decode("utf-8", errors)


def _flag(reply: Mapping[str, object], name: str) -> bool:
    return reply.get(name) is True


def _integer(value: object) -> int | None:
    return value if type(value) is int and abs(value) < 1 << 31 else None
