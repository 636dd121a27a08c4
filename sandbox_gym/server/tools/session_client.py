"""A session's sandbox as tools use it beyond its shell: files, and commands beside the shell's own state.

Everything here happens in the box, as its user. What comes back is the box's word, bounded.
"""

from __future__ import annotations

import posixpath
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sandbox_gym.errors import BoxLost, RequestError
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.session.manager import ToolReply
from sandbox_gym.server.protocol.resources import JudgingEngine, ToolCall

MAX_FILE_BYTES: Final = 16 * MIB
"""The most that one read or one write moves, and that one command beside the shell may answer."""
MAX_PATH: Final = 4096
FILE_TIMEOUT_S: Final = 30.0
_TIDY_S: Final = 20.0
_NOTE_BYTES: Final = 4096
# Stage one runs the script, stage two says what came of it and cuts what is too long: first half and last half. The
# spare file is room for that, should the script fill the disk.
_STAGES: Final = """case $1 in
run) head -c "$2" /dev/zero >./spare; ( . ./script ) <./in >./out 2>./err; printf %s "$?" >./code ;;
tell)
  rm -f ./spare
  for n in out err; do
    s=$(wc -c <"./$n"); [ "$n" = out ] && limit=$2 || limit=$3
    if [ "$s" -gt "$limit" ]; then
      { head -c "$((limit / 2))" "./$n"; tail -c "$((limit - limit / 2))" "./$n"; } >./cut && mv ./cut "./$n"
    fi
    eval "$n=\\$((s))"
  done
  { printf '%s %s %s\\n' "$(cat ./code 2>/dev/null || echo -)" "$out" "$err"; cat ./out ./err; } >./all ;;
esac
"""


class FileProblem(RequestError):
    """A file can't be read or written; `code` is the kernel's name for why, such as ENOENT."""

    def __init__(self, field: str, code: str, problem: str, remedy: str) -> None:
        super().__init__(field, problem, remedy)
        self.code = code


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command beside the shell did. Streams over their bounds have lost their middles: `*_cut_bytes`."""

    exit_code: int | None
    """None: its time was up, or it was killed with those that watched it."""
    stdout: bytes
    stderr: bytes
    stdout_cut_bytes: int
    stderr_cut_bytes: int

    @property
    def timed_out(self) -> bool:
        return self.exit_code is None


class SessionBox:
    """One tool call's way into its session's box. `restored` tells whether state was lost before it."""

    def __init__(self, engine: JudgingEngine, call: ToolCall) -> None:
        if engine.sessions is None:
            remedy = "serve with provider local or docker"
            raise RequestError("session", f"is needed, and provider {engine.provider_name} holds none", remedy)
        self._sessions, self._session_id = engine.sessions, call.session_id
        self.restored = False

    async def read(self, path: str, field: str = "path", *, max_bytes: int = MAX_FILE_BYTES) -> bytes:
        """A regular file, whole. Raises FileProblem, BoxLost and what `Sessions.call` raises."""
        request = {"op": "read", "path": path, "max_bytes": max_bytes}
        answer = await self._ask(request, b"", FILE_TIMEOUT_S)
        _check(answer.reply, field, path, max_bytes)
        return answer.body[:max_bytes]

    async def write(self, path: str, data: bytes, field: str = "path") -> None:
        """Write a file whole, its folders with it. Raises as `read`."""
        if len(data) > MAX_FILE_BYTES:
            raise RequestError(field, f"would have {len(data)} bytes", f"write at most {MAX_FILE_BYTES}")
        answer = await self._ask({"op": "write", "path": path}, data, FILE_TIMEOUT_S)
        _check(answer.reply, field, path)

    async def run(
        self,
        script: str,
        *,
        timeout_s: float,
        stdin: bytes = b"",
        stdout_bytes: int = MIB,
        stderr_bytes: int = _NOTE_BYTES,
    ) -> Ran:
        """A script in a bash of its own: neither the shell's folder, variables, aliases nor redirections touch it.

        Output goes through files, so that a background job's noise does not mix with it. Raises as `read`.
        """
        folder = f"/tmp/.sg-{secrets.token_hex(8)}"
        try:
            for name, data in (("stages", _STAGES.encode()), ("script", script.encode()), ("in", stdin)):
                await self.write(f"{folder}/{name}", data, "command")
            timed_out = await self._stage(folder, f"run {max(stdout_bytes, stderr_bytes)}", timeout_s)
            await self._stage(folder, f"tell {stdout_bytes} {stderr_bytes}", _TIDY_S)
            told = await self.read(f"{folder}/all", "command")
        except RequestError:
            await self._shell(f"\\command rm -rf {folder}", _TIDY_S)
            raise
        await self._shell(f"\\command rm -rf {folder}", _TIDY_S)
        ran = _ran(told, stdout_bytes, stderr_bytes)
        return replace(ran, exit_code=None) if timed_out else ran

    async def _stage(self, folder: str, stage: str, timeout_s: float) -> bool:
        return await self._shell(f"\\command bash -p -c 'cd {folder} && . ./stages' sg {stage}", timeout_s)

    async def _shell(self, line: str, timeout_s: float) -> bool:
        """Whether the line's time ran out. `if` keeps a shell with `set -e` alive."""
        request = {"op": "bash", "timeout_s": timeout_s, "output_bytes": _NOTE_BYTES}
        answer = await self._ask(request, f"if {line}; then :; fi".encode(), timeout_s)
        return answer.reply.get("timed_out") is True

    async def _ask(self, request: Mapping[str, object], body: bytes, timeout_s: float) -> ToolReply:
        answer = await self._sessions.call(self._session_id, request, body, timeout_s=timeout_s)
        if answer.lost:
            raise BoxLost(
                "the sandbox was lost during this call; it may not have run, files are as of the last snapshot"
            )
        self.restored = self.restored or answer.restored
        return answer


def place(folder: str, path: str, field: str = "path") -> str:
    """An absolute path inside the box. Raises RequestError for what is none."""
    if not path or "\0" in path or len(path) > MAX_PATH:
        problem = "is empty" if not path else "holds NUL" if "\0" in path else f"has {len(path)} characters"
        raise RequestError(field, problem, f"give a path relative to {folder} or an absolute one")
    encoded(path, field)
    return posixpath.normpath(posixpath.join(folder, path))


def encoded(text: str, field: str) -> bytes:
    """UTF-8. Raises RequestError for lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(field, f"holds a lone surrogate at {error.start}", "send characters") from None


def script(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> str:
    """A command as a script for `SessionBox.run`; ends as the command does."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in env.items())
    return f"cd -- {shlex.quote(cwd)} || exit 1\n{exports}exec -- {shlex.join(argv)}\n"


def _check(reply: Mapping[str, object], field: str, path: str, max_bytes: int = MAX_FILE_BYTES) -> None:
    if reply.get("ok") is True:
        return
    code, _, text = str(reply.get("error"))[:300].partition(": ")
    problem = f"{path[:200]!r} gives {code} ({text})"
    remedy = f"use bash for parts of what has over {max_bytes} bytes" if code == "EFBIG" else "give another path"
    raise FileProblem(field, code, problem, remedy)


def _ran(told: bytes, stdout_bytes: int, stderr_bytes: int) -> Ran:
    head, newline, streams = told.partition(b"\n")
    fields = head.decode("ascii", "replace").split(" ")
    if not newline or len(fields) != 3 or not all(_number(field) for field in fields[1:]):
        raise RequestError("command", "left no account of itself", "see with bash whether the sandbox still works")
    code = int(fields[0]) if _number(fields[0]) else None
    size, error_size = int(fields[1]), int(fields[2])
    kept = min(size, stdout_bytes)
    stderr = streams[kept : kept + stderr_bytes]
    return Ran(code, streams[:kept], stderr, size - kept, max(0, error_size - stderr_bytes))


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16
