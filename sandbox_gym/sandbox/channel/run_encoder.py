"""A run as the frames that tell a guest to start it. Pure; knows which files the guest has already."""

from __future__ import annotations

import re
from dataclasses import asdict
from functools import lru_cache
from typing import Final, Literal

import structlog.contextvars

from sandbox_gym.contract import Program, Run
from sandbox_gym.errors import RequestError
from sandbox_gym.guest.protocol import frames
from sandbox_gym.guest.python import libraries
from sandbox_gym.limits import Limits

Wiring = Literal["", "relay", "stdio", "direct"]
KEPT_BYTES: Final = 16 << 20
KEPT_FILES: Final = 256
"""Files beyond those of the next run that a guest keeps, in its box's memory: the ones that were used last."""
_LIBRARY: Final = re.compile(
    rb"^(?:from[ \t]+|import[ \t]+(?:[\w.]+(?:[ \t][\w. \t]*)?,[ \t]*)*)(?:%b)\b" % "|".join(libraries.NAMES).encode(),
    re.MULTILINE,
)
_SEES_IMPORTS: Final = re.compile(
    rb"\b(?:warnings|modules|environ|putenv|meta_path|path_hooks|__import__|addaudithook|settrace|setprofile)\b"
)
"""What a program may do before it imports numpy, of which the import then takes notice, or which takes notice of it."""


class Sending:
    """One guest's files, by content."""

    def __init__(self) -> None:
        self._blobs: dict[bytes, int] = {}  # the one used last is last
        self._bytes = self._made = 0

    def forget(self) -> None:
        """The guest was reset: it has nothing any more."""
        self._blobs, self._bytes = {}, 0

    def files_of(self, program: Program) -> list[bytes]:
        """What gives the guest those of the program's files that it has not yet, once for each content, and takes away
        what many runs' files would otherwise add up to."""
        made: list[bytes] = []
        wanted = dict.fromkeys(program.files.values())
        missing = [data for data in wanted if data not in self._blobs]
        for data in wanted:
            if data in self._blobs:
                self._blobs[data] = self._blobs.pop(data)
        made += self._dropped(missing, len(wanted) - len(missing))
        for data in missing:
            blob = self._blobs[data] = self._made
            self._made += 1
            self._bytes += len(data)
            made.append(frames.pack({"op": "put", "blob": blob, "size": len(data)}, data[: frames.CHUNK]))
            for start in range(frames.CHUNK, len(data), frames.CHUNK):
                made.append(frames.pack({"op": "data"}, data[start : start + frames.CHUNK]))
        return made

    def _dropped(self, coming: list[bytes], needed: int) -> list[bytes]:
        """Forget those used longest ago, but never the last `needed`, until what is coming has room."""
        dropped: list[int] = []
        size, count = KEPT_BYTES - sum(map(len, coming)), KEPT_FILES - len(coming)
        while (self._bytes > size or len(self._blobs) > count) and len(self._blobs) > needed:
            data = next(iter(self._blobs))
            self._bytes -= len(data)
            dropped.append(self._blobs.pop(data))
        return [frames.pack({"op": "drop", "blobs": dropped})] if dropped else []

    def frames_of(
        self, run: Run, run_id: int, channel: Wiring = "", *, before: Run | None = None, after: Run | None = None
    ) -> list[tuple[bytes, int]]:
        """What starts `run` in a guest that has its files, each frame with how much of the run's input it holds. Raises
        RequestError for a run that no guest takes.

        `before`, `after`: the runs beside it, one of whose processes it may share.

        `channel`: its fd 3 ("relay") or its standard input and output ("stdio") are carried as `chan` frames instead of
        being kept; beside "stdio" its fd 3 may be kept. "direct": its fd 3 is the descriptor that comes with the frame.
        """
        join, keep = _may_share(before, run), _may_share(run, after)
        header = (
            {"op": "again", "id": run_id, "keep": keep, "stdin_size": len(run.stdin)}
            if join
            else self._header(run, run_id, channel, keep)
        )
        first, *more = (
            run.stdin[start : start + frames.CHUNK] for start in range(0, len(run.stdin) or 1, frames.CHUNK)
        )
        made = [(frames.pack(header, first), len(first))]
        if len(made[0][0]) - len(first) - frames.HEAD.size > frames.MAX_HEADER:  # the guest would give up at it
            problem = f"has over {frames.MAX_HEADER} bytes of arguments, variables and names of files"
            raise RequestError("program", problem, "send fewer or shorter ones")
        return made + [(frames.pack({"op": "data", "id": run_id}, piece), len(piece)) for piece in more]

    def _header(self, run: Run, run_id: int, channel: Wiring, keep: bool) -> dict[str, object]:
        program = run.program
        return {
            "op": "run",
            "id": run_id,
            "mode": program.mode,
            "argv": list(program.argv),
            "requires": list(program.requires),
            "env": dict(program.env),
            "main": program.main,
            "entry_point": program.entry_point,
            "recursion_limit": program.recursion_limit,
            "implicit_imports": program.implicit_imports,
            "libraries": _imports_libraries(program),
            "files": {path: self._blobs[data] for path, data in program.files.items()},
            "limits": _limits(run.limits),
            "channel": channel or ("capture" if program.mode in ("call", "check") or program.captures else "none"),
            "captures": channel == "stdio" and program.captures,
            "workdir": program.workdir,
            "join": False,
            "keep": keep,
            "shared": keep or run.alone,
            "trace": str(structlog.contextvars.get_contextvars().get("request_id", "")),
            "stdin_size": len(run.stdin),
        }


def _may_share(first: Run | None, second: Run | None) -> bool:
    """Whether two runs that follow each other may be one process's."""
    if first is None or second is None or not (first.shared and second.shared) or first.alone:
        return False
    if first.program is second.program and first.limits is second.limits:
        return True
    return first.program == second.program and first.limits == second.limits


def _imports_libraries(program: Program) -> bool:
    """Whether one of the program's modules imports one of `libraries.NAMES`, in its first column. Not where it has
    modules of its own, which may go by the name of one that numpy imports, or variables that numpy may read, nor where
    it could tell that numpy was there before its import: numpy's filters of warnings go before those that are set
    already."""
    modules = {name: text for name, text in program.files.items() if name.endswith(".py")}
    if program.mode in ("exec", "session") or program.env or not modules.keys() <= {program.main, "test.py"}:
        return False
    return any(map(_LIBRARY.search, modules.values())) and not any(map(_SEES_IMPORTS.search, modules.values()))


@lru_cache(maxsize=256)
def _limits(limits: Limits) -> dict[str, object]:
    """Limits as the guest reads them; the runs of a task share theirs."""
    return asdict(limits)


def check_paths(program: Program) -> None:
    """Raises ValueError for a file name that is absolute or leads out of the scratch folder."""
    for path in program.files:
        if path.startswith("/") or ".." in path.split("/") or "\0" in path:
            raise ValueError(f"Program.files: {path!r} would escape the scratch folder; name a path below it")
