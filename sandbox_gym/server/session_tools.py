"""Stateful tools of a session: a bash and a Python that live between calls, in a sandbox of the session's own.

Answers go to a model as they are, so they are short and plain, and say when state was lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from sandbox_gym.errors import RequestError
from sandbox_gym.sandbox.sessions import ToolReply
from sandbox_gym.server.resources import JudgingEngine, ToolCall
from sandbox_gym.server.wire import Document, check_shape

SHOWN_BYTES: Final = 64 * 1024
"""The most of one stream that goes back to the model: the first half and the last."""
RESTORED: Final = "[the sandbox was lost; files are as of its last snapshot, variables and background jobs are gone]\n"
LOST: Final = "[the sandbox was lost during this call; it may not have run. Files go back to the last snapshot]\n"
SHELL_RESET: Final = "[a new shell was started; variables and functions of the earlier one are gone]\n"
PYTHON_RESET: Final = "[a new Python was started; variables of the earlier one are gone]\n"


class _Bash(BaseModel):
    model_config = ConfigDict(extra="ignore")

    command: str
    timeout_s: float = Field(60.0, gt=0, le=3600)


class _Python(BaseModel):
    model_config = ConfigDict(extra="ignore")

    code: str
    timeout_s: float = Field(60.0, gt=0, le=3600)


async def bash(engine: JudgingEngine, call: ToolCall) -> Document:
    """POST /bash {command, timeout_s?}: what the session's shell printed, its exit code and where it stands now."""
    wanted = check_shape(_Bash, call.arguments)
    answer = await _call(engine, call, "bash", wanted.command, wanted.timeout_s)
    reply = answer.reply
    _refused(answer, "command")
    output = _shown(answer.body, reply.get("sizes"))
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


async def python(engine: JudgingEngine, call: ToolCall) -> Document:
    """POST /python {code, timeout_s?}: what a cell printed, its last expression's value with it, and its traceback."""
    wanted = check_shape(_Python, call.arguments)
    answer = await _call(engine, call, "python", wanted.code, wanted.timeout_s)
    reply = answer.reply
    _refused(answer, "code")
    stdout, stderr = _split(answer.body, reply)
    status = str(reply.get("status", "lost"))[:20]
    note = f"[timed out after {wanted.timeout_s:g} s: {status}]\n" if status in ("interrupted", "killed") else ""
    return {
        "output": _said(answer, _flag(reply, "reset"), PYTHON_RESET) + stdout + stderr + note,
        "stdout": stdout,
        "stderr": stderr,
        "status": status,
        "state_lost": answer.lost or answer.restored or _flag(reply, "reset"),
    }


async def _call(engine: JudgingEngine, call: ToolCall, op: str, text: str, timeout_s: float) -> ToolReply:
    if engine.sessions is None:
        remedy = "serve with provider local or docker"
        raise RequestError(op, f"needs a session, and provider {engine.provider_name} holds none", remedy)
    request = {"op": op, "timeout_s": timeout_s, "output_bytes": SHOWN_BYTES}
    body = text.encode("utf-8", "surrogatepass" if op == "bash" else "replace")
    return await engine.sessions.call(call.session_id, request, body, timeout_s=timeout_s)


def _refused(answer: ToolReply, field: str) -> None:
    if not answer.lost and answer.reply.get("ok") is not True:
        raise RequestError(field, f"was refused: {str(answer.reply.get('error'))[:200]}", "send less, and no NUL")


def _said(answer: ToolReply, reset: bool, reset_line: str) -> str:
    if answer.lost:
        return LOST
    if answer.restored:
        return RESTORED
    return reset_line if reset else ""


def _split(body: bytes, reply: Mapping[str, object]) -> tuple[str, str]:
    sizes = reply.get("sizes")
    own = sum(_sizes(sizes)[:2])
    return _shown(body[:own], sizes), _shown(body[own:], reply.get("stderr_sizes"))


def _shown(body: bytes, sizes: object) -> str:
    """Head and tail, and between them how much was left out. The sizes are the sandbox's word, and bounded."""
    head, _tail, dropped = _sizes(sizes)
    body = body[:SHOWN_BYTES]
    if not dropped:
        return body.decode("utf-8", "replace")
    head = min(head, len(body))
    middle = f"\n[... {dropped} bytes left out ...]\n"
    return body[:head].decode("utf-8", "replace") + middle + body[head:].decode("utf-8", "replace")


def _sizes(sizes: object) -> tuple[int, int, int]:
    if isinstance(sizes, list) and len(sizes) == 3 and all(type(size) is int and 0 <= size < 1 << 50 for size in sizes):
        return sizes[0], sizes[1], sizes[2]
    return 0, 0, 0


def _flag(reply: Mapping[str, object], name: str) -> bool:
    return reply.get(name) is True


def _integer(value: object) -> int | None:
    return value if type(value) is int and abs(value) < 1 << 31 else None
