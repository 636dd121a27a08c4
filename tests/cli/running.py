"""The command in a process of its own, or several in one; its output in pipes or on a terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROGRAM = [sys.executable, "-m", "sandbox_gym"]


def command(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PROGRAM, *map(str, words)],
        env={**os.environ, "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


_EACH = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from sandbox_gym.cli import main
for words in json.load(sys.stdin):
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    sys.argv, code = ["sandbox-gym", *words], 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()]), flush=True)
"""


@dataclass(frozen=True)
class Said:
    """What a command said."""

    returncode: int
    stdout: str
    stderr: str


def commands(each: Sequence[Sequence[str | Path]], **environment: str) -> list[Said]:
    """What commands say, one after the other in one process: for each one alone the imports take a second."""
    argv, env = [sys.executable, "-c", _EACH], {**os.environ, "COLUMNS": "200", **environment}
    given = json.dumps([[str(word) for word in words] for words in each])
    done = subprocess.run(argv, env=env, input=given, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    said = [Said(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(said) == len(each), done
    return said


@cache
def said_by(names: tuple[str, ...], option: str) -> dict[str, Said]:
    """What each command says to an option with which it does nothing."""
    return dict(zip(names, commands([[*name.split(), option] for name in names]), strict=True))


class Terminal:
    """A program on a pseudo-terminal, and what it showed there."""

    def __init__(self, words: list[str], **environment: str) -> None:
        self._end, other = pty.openpty()
        env = {**os.environ, "COLUMNS": "120", "LINES": "40", **environment}
        self.process = subprocess.Popen(words, stdin=other, stdout=other, stderr=other, env=env, start_new_session=True)
        os.close(other)
        self.seen = b""

    def read(self, until: bytes = b"", within_s: float = 60) -> bytes:
        """What is shown from now on: up to `until`, or to the program's end."""
        found, deadline = b"", time.monotonic() + within_s
        while time.monotonic() < deadline and not (until and until in found):
            if not select.select([self._end], [], [], 0.2)[0]:
                continue
            try:
                piece = os.read(self._end, 1 << 16)
            except OSError:  # nobody has the other end any more
                break
            if not piece:
                break
            found += piece
        self.seen += found
        return found

    def type(self, keys: bytes) -> None:
        os.write(self._end, keys)

    def close(self) -> int:
        """The program's exit code; it is killed where it does not end."""
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait(20)
        finally:
            os.close(self._end)


def rows_file(path: Path, rows: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def coding_row(answer: str = "print(1)", expected: str = "1") -> dict[str, object]:
    return {"answer": answer, "verifier_metadata": {"unit_tests": {"inputs": [""], "outputs": [expected]}}}
