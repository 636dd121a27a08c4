"""The files of `verify`: reads rows one at a time, writes responses in whole lines, reads what OUT has already.

Knows nothing of engines or screens.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO, Self

from sandbox_gym.errors import ConfigurationError, RequestError
from sandbox_gym.server.protocol.envelope import body_of
from sandbox_gym.server.protocol.wire import Document, dumps, loads


def lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """(row, line) of every line that is not blank; rows count from 0 over all lines. The file may be a pipe or
    packed by gzip. Raises ConfigurationError."""
    source = path if path.is_file() else Path(_kept(path).name)
    with source.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        try:
            for row, line in enumerate(gzip.GzipFile(fileobj=file) if packed else file):
                if line.strip():
                    yield row, line
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ConfigurationError(f"{path} is packed by gzip, but not whole ({error}): pack it again") from error


@cache
def _kept(pipe: Path) -> IO[bytes]:
    """A copy of what a pipe holds, which gives it only once."""
    copy = tempfile.NamedTemporaryFile(prefix="sandbox-gym-")  # noqa: SIM115  # kept until the process ends
    with pipe.open("rb") as file:
        shutil.copyfileobj(file, copy)
    copy.flush()
    return copy


def as_request(row: int, line: bytes) -> Document:
    """A verify request of a line: a row with `response`, or with a plain `answer` string.

    Raises RequestError.
    """
    return {"responses_create_params": {"input": []}, **body_of(loads(line), str(row))}


def take_up(out: Path, *, retry: bool = False) -> set[int]:
    """The rows that OUT has responses for. A torn last line is removed from the file. `retry`: lines without a verdict
    are removed too, and their rows count as not done.

    Raises ConfigurationError when another line was not written by `verify`.
    """
    rows: set[int] = set()
    if not out.exists():
        return rows
    whole_bytes, without = 0, False
    for row, line, judged in _answers(out):
        whole_bytes += len(line)
        if judged or not retry:
            rows.add(row)
        else:
            without = True
    if without:
        _keep_judged(out)
    elif whole_bytes < out.stat().st_size:
        os.truncate(out, whole_bytes)
    return rows


def _answers(out: Path) -> Iterator[tuple[int, bytes, bool]]:
    """(row, line, whether it has a verdict) of OUT's whole lines. Raises ConfigurationError."""
    with out.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                answer = loads(line)
            except RequestError:
                answer = {}
            row = answer.get("row")
            if not isinstance(row, int):
                raise ConfigurationError(f"{out}, line {number}: not written by sandbox-gym verify; give another --out")
            yield row, line, not answer.get("mask_sample")


def _keep_judged(out: Path) -> None:
    """Replace OUT atomically by a copy without the lines that have no verdict."""
    rewritten = out.with_name(f"{out.name}.{os.getpid()}.tmp")
    try:
        with rewritten.open("wb") as file:
            file.writelines(line for _row, line, judged in _answers(out) if judged)
            file.flush()
            os.fsync(file.fileno())
        rewritten.replace(out)
    finally:
        rewritten.unlink(missing_ok=True)


class Lines:
    """OUT, opened for appending whole lines; only a crash can tear a line, and only the last one."""

    def __init__(self, out: Path) -> None:
        self._file = open(  # noqa: SIM115  # closed below
            out, "ab", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o644)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, document: Document) -> None:
        """Append one line; a cancellation can't interrupt it. Raises ConfigurationError, as where the disk is full."""
        rest = memoryview(dumps(document) + b"\n")
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            why = f"{self._file.name}: {error.strerror}; its whole lines are valid: make room, then go on with --resume"
            raise ConfigurationError(why) from None
