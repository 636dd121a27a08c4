"""Why a build step failed, out of all that it printed. Pure.

pip prints what it ran, what that ran, and the same failure once a level; the cause is the innermost error and what was
tried when it came.
"""

from __future__ import annotations

import re
from typing import Final

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
    """One line: what was tried, and the errors it gave; the last words where none looks like an error."""
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
