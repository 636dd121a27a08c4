"""Listing and searching a session's files: a folder, files by name, lines by content. Bounded, and says so.

Makes commands for the sandbox and reads what they printed; the names in it are the sandbox's word.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Final, Literal, Self

from sandbox_gym.errors import RequestError
from sandbox_gym.sandbox.session.client import Command, CommandResult

Kind = Literal["name", "content"]
MAX_ENTRIES: Final = 400
MAX_HITS: Final = 100
MAX_COUNTED: Final = 20_000
SHOWN_CHARS: Final = 300
TIMEOUT_S: Final = 30.0
_SKIPPED: Final = "\\( -name .git -o -name __pycache__ -o -name node_modules \\) -prune"


def list_command(path: str) -> Command:
    """Prints names below a folder to two levels, with a slash after folders; NUL between them."""
    where = shlex.quote(path)
    return _script(
        f"cd -- {where} || exit 1\n"
        "find . -mindepth 1 -maxdepth 2 -name '.*' -prune -o -type d -printf '%P/\\0' -o -printf '%P\\0'"
        f" | head -z -n {MAX_COUNTED}\n"
    )


def listed(ran: CommandResult, path: str) -> str:
    """The listing for a model. Raises RequestError for what is no folder."""
    if ran.exit_code != 0 and not ran.timed_out and not ran.stdout:
        said = ran.stderr.decode("utf-8", "replace").strip()[:300]
        raise RequestError("path", f"is neither a file nor a folder that can be read: {said}", "give another path")
    names = sorted(_texts(ran.stdout))
    shown = "".join(f"{name[:SHOWN_CHARS]}\n" for name in names[:MAX_ENTRIES])
    return f"{path}, two levels, without hidden entries:\n{shown}{_left_out(len(names), MAX_ENTRIES, ran)}"


def find_command(pattern: str, path: str, kind: Kind) -> Command:
    """Prints, for `name`, paths, NUL between them; for `content`, grep's lines, NUL after each path."""
    where = shlex.quote(path)
    if kind == "name":
        glob = pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"
        test = "-path" if "/" in pattern else "-name"
        glob = f"*/{glob.removeprefix('./').lstrip('/')}" if test == "-path" and not glob.startswith("*") else glob
        return _script(
            f"[ -e {where} ] || {{ echo 'no such path' >&2; exit 2; }}\n"
            f"find {where} {_SKIPPED} -o {test} {shlex.quote(glob)} -print0 | head -z -n {MAX_COUNTED}\n"
        )
    skip = "--exclude-dir=.git --exclude-dir=__pycache__ --exclude-dir=node_modules"
    return _script(
        f"LC_ALL=C.UTF-8 grep -rHInEZ {skip} -e {shlex.quote(pattern)} -- {where} | head -n {MAX_COUNTED}"
        " | cut -c 1-1000\n"
        "code=${PIPESTATUS[0]}; [ $code = 141 ] && code=0; exit $code\n"
    )


def _script(text: str) -> Command:
    return Command(("/bin/bash", "-p", "-c", text), TIMEOUT_S)


@dataclass(frozen=True, slots=True)
class FoundInFiles:
    """What was found, in order of path; lines of one file in order."""

    kind: Kind
    hits: tuple[str, ...]
    note: str

    @classmethod
    def read(cls, ran: CommandResult, path: str, kind: Kind) -> Self:
        """Raises RequestError where the search could not begin, such as for a wrong expression."""
        if ran.exit_code not in (0, 1) and not ran.timed_out and not ran.stdout:
            said = ran.stderr.decode("utf-8", "replace").strip()[:300]
            raise RequestError("pattern" if "no such path" not in said.lower() else "path", f"does not work: {said}",
                               "give a glob for names, an extended regular expression for content")  # fmt: skip
        if kind == "name":
            hits = sorted(_relative(name, path) for name in _texts(ran.stdout))
        else:
            lines = [line for line in ran.stdout.decode("utf-8", "replace").split("\n") if "\0" in line]
            pairs = (line.split("\0", 1) for line in lines)
            hits = [f"{_relative(name, path)}:{rest}" for name, rest in sorted(pairs, key=lambda pair: pair[0])]
        return cls(kind, tuple(hits[:MAX_HITS]), _left_out(len(hits), MAX_HITS, ran))

    def text(self) -> str:
        """The answer for a model."""
        return "".join(f"{hit[:SHOWN_CHARS]}\n" for hit in self.hits) + self.note or "[nothing found]\n"


def _texts(stdout: bytes) -> list[str]:
    return [name for name in stdout.decode("utf-8", "replace").split("\0") if name]


def _relative(name: str, path: str) -> str:
    """As seen from the folder that was searched; the path itself where that was a file."""
    short = name.removeprefix(path.rstrip("/") + "/")
    return short.replace("\n", "?")


def _left_out(count: int, most: int, ran: CommandResult) -> str:
    note = ""
    if count > most:
        over = "over " if count >= MAX_COUNTED or ran.stdout_cut_bytes else ""
        note = f"[... {over}{count - most} more left out; narrow it down]\n"
    return note + ("[stopped: it took too long, there may be more]\n" if ran.timed_out else "")
