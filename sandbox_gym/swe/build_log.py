"""One build's log: all that its steps printed, in a file that grows while the build goes on. Bounded by its steps'."""

from __future__ import annotations

import os
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
