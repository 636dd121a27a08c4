"""One build's log: all that its steps printed, in a file that grows while the build goes on; and out of it why a step
failed. Bounded by its steps'."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

import anyio.to_thread
import structlog

from sandbox_gym.observe.sanitize import spelled
from sandbox_gym.private import make_private

MAX_LOGS: Final = 5000
"""In a folder; the oldest go."""
_log = structlog.get_logger(__name__)


class BuildLog:
    """Begun anew with the first note. `path`: None for a build without a log."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._flags = os.O_TRUNC

    async def note(self, text: str) -> None:
        """Add lines, with control characters spelled out. What can't be written fails no build."""
        if self.path is None:
            return
        try:
            await anyio.to_thread.run_sync(self._write, self.path, f"{spelled(text, breaks=True).rstrip()}\n")
        except OSError as error:
            _log.warning("build_log_unwritable", path=str(self.path), why=str(error))

    def _write(self, path: Path, text: str) -> None:
        if self._flags:
            _make_room(make_private(path.parent))
        with open(path, "a", encoding="utf-8", errors="replace", opener=self._open) as file:
            file.write(text)
        self._flags = 0

    def _open(self, name: str, flags: int) -> int:
        return os.open(name, flags | self._flags, 0o600)


def _make_room(folder: Path) -> None:
    logs = [entry for entry in os.scandir(folder) if entry.name.endswith(".log")]
    if len(logs) >= MAX_LOGS:
        for entry in sorted(logs, key=lambda one: one.stat().st_mtime)[: MAX_LOGS // 10]:
            Path(entry.path).unlink(missing_ok=True)


MAX_CAUSE: Final = 600
MAX_LINE: Final = 200
MAX_LINES: Final = 3
_NOISE: Final = re.compile(
    r"WARNING: |\[notice\]|note: |hint: |\[end of output\]|See above for output|exit code: \d+$"
    r"|\[\d+ lines? of output\]|bash: .*tcsetattr: |ERROR: Operation cancelled by user"
    r"|Traceback \(most recent|KeyboardInterrupt$|ERROR: Exception:$"
    r"|(?:ERROR|error): (?:subprocess-exited-with-error|metadata-generation-failed|failed-wheel-build-for-install)$"
    r"|This is an issue with the package|If you did intend to build this package"
)
_FRAME: Final = re.compile(r"[\s│╰─>×|]*")
_ATTEMPT: Final = re.compile(r"(.+) did not run successfully\.?$")
_ERROR: Final = re.compile(
    r"ERROR: |error: |E: |fatal: |\S*: fatal error: |Errno "
    r"|[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|NotFound)\b"
    r"|.*(?:No space left on device|Permission denied|No such file or directory|command not found|Killed)"
)
_SUMMARY: Final = re.compile(
    r"ERROR: (?:Failed building|Could not build wheels|No matching distribution)"
    r"|error: [Cc]ommand .* (?:failed|returned)"
)
"""Errors that say only that there was one."""
_VERSIONS: Final = re.compile(r"\(from versions: .*?, ?((?:[^,()]+, ){2}[^,()]+)\)")
_UNREACHED: Final = re.compile(r"Retrying .*after connection broken by '?(\w+)")


def cause_of(text: str) -> str:
    """One line: what was tried, and the errors it gave; the last words where none looks like an error. pip prints the
    same failure once a level, and the innermost is the cause."""
    lines = [_FRAME.sub("", line, count=1).rstrip() for line in text.splitlines()]
    unreached = next((found for line in lines if (found := _UNREACHED.search(line))), None)
    said = [line for line in lines if line and not _NOISE.match(line)]
    tried = next((found[1] for line in said if (found := _ATTEMPT.match(line))), "")
    errors = [line for line in said if _ERROR.match(line)]
    telling = [line for line in errors if not _SUMMARY.match(line)]
    shown = _each(telling or errors or [line for line in said if not _ATTEMPT.match(line)])
    parts = [f"{tried} failed"] if tried else []
    if unreached is not None:
        parts.append(f"the package index was not reached ({unreached[1]})")
    return _cut("; ".join([*parts, *shown])) or "it printed nothing"


def last_words(text: str) -> str:
    """The end of what a step printed, for one that was stopped."""
    lines = [_FRAME.sub("", line, count=1).rstrip() for line in text.splitlines()]
    return _cut("; ".join(_each([line for line in lines if line and not _NOISE.match(line)]))) or "nothing"


def _each(lines: list[str]) -> list[str]:
    """The last few, each once and short."""
    bare = (line.removeprefix("ERROR: ").removeprefix("error: ") for line in lines)
    short = (_cut(_VERSIONS.sub(r"(from versions: …, \1)", line), MAX_LINE) for line in bare)
    return list(dict.fromkeys(short))[-MAX_LINES:]


def _cut(text: str, limit: int = MAX_CAUSE) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
