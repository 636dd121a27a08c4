"""A file's rows by index, read from disk at each request. Knows no protocol."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Self

import anyio

from sandbox_gym.errors import ConfigurationError, RequestError
from sandbox_gym.server.protocol.envelope import messages_of, params_of
from sandbox_gym.server.protocol.wire import Document, loads


class Dataset:
    """A JSON-lines file of rows with prompts. Each row is checked once; only its offset stays in memory."""

    def __init__(self, path: Path, offsets: array[int]) -> None:
        self._path, self._offsets = path, offsets

    @classmethod
    def opened(cls, path: Path) -> Self:
        """Raises ConfigurationError naming the first line that is not a row or has no prompt."""
        offsets, offset = array("Q"), 0
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        _check(path, number, line)
                        offsets.append(offset)
                    offset += len(line)
        except OSError as error:
            raise ConfigurationError(f"dataset {path}: {error.strerror}") from None
        if not offsets:
            raise ConfigurationError(f"dataset {path} has no rows")
        return cls(path, offsets)

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self._path.stem

    def __len__(self) -> int:
        return len(self._offsets)

    async def row(self, index: int) -> Document:
        """Raises RequestError for an index beyond the last row."""
        if not 0 <= index < len(self):
            raise RequestError("idx", f"is {index}", f"give 0 to {len(self) - 1}")
        return loads(await anyio.to_thread.run_sync(self._line, self._offsets[index]))

    def _line(self, offset: int) -> bytes:
        with self._path.open("rb") as file:
            file.seek(offset)
            return file.readline()


def _check(path: Path, number: int, line: bytes) -> None:
    try:
        messages_of(params_of(loads(line)))
    except RequestError as error:
        raise ConfigurationError(f"dataset {path}, line {number}: {error}") from None
