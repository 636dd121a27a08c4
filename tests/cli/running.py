"""The command in a process of its own, its output in pipes or on a terminal."""

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
import json, sys
from typer.testing import CliRunner
from sandbox_gym.cli import _app
runner = CliRunner()
for words in json.load(sys.stdin):
    done = runner.invoke(_app, words, prog_name="sandbox-gym")
    print(json.dumps([done.exit_code, done.stdout, done.stderr]))
"""


@dataclass(frozen=True)
class Said:
    """What a command said."""

    returncode: int
    stdout: str
    stderr: str


@cache
def said_by(names: tuple[str, ...], option: str) -> dict[str, Said]:
    """What each command says to an option with which it does nothing, in one process for all of them: a process of its
    own for each takes a second."""
    words = [[*name.split(), option] for name in names]
    argv, env = [sys.executable, "-c", _EACH], {**os.environ, "COLUMNS": "200"}
    done = subprocess.run(argv, env=env, input=json.dumps(words), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = [Said(*json.loads(line)) for line in done.stdout.splitlines()]
    return dict(zip(names, said, strict=True))


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
