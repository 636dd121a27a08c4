"""Which line ends a program sees: only `\\n` is one on standard input, as for `python3 main.py`."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.contract import Program, Run
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.local import LocalProvider
from tests.coding.shared.cases import Case
from tests.coding.shared.test_leaving import in_plain_python

INPUTS = (b"1\r\n2 3\r\n", b"a\rb\rc", b"x\n\r\ny", b"\xef\xbb\xbf1\r\n\r", b"", b"\xff\r\n")
PROGRAMS = {
    "input": "print(repr(input()))",
    "all": "import sys\nprint(ascii(sys.stdin.read()), sys.stdin.newlines)",
    "lines": "import sys\nprint([ascii(line) for line in sys.stdin])",
    "bytes": "import sys\nprint(sys.stdin.buffer.readlines())",
    "opened": "print(ascii(open(0, errors='replace').read()))",
    "opened as it is": "print(ascii(open(0, newline='', errors='replace').read()))",
    "fileinput": "import fileinput\nprint([ascii(line) for line in fileinput.input()])",
}


@pytest.mark.anyio
@pytest.mark.parametrize("shared", [False, True])
async def test_programs_see_the_line_ends_that_plain_python_sees(tmp_path: Path, *, shared: bool) -> None:
    box = await LocalProvider().create(SandboxSpec())
    differing = []
    try:
        for name, source in PROGRAMS.items():
            files = {"main.py": source.encode()}
            runs = [
                Run(f"t{n}", Program("fork", files), stdin, Limits(), shared=shared) for n, stdin in enumerate(INPUTS)
            ]
            async with box.run_all(runs) as results:
                found = [(one.stdout, one.exit_code) async for one in results]
            folders = [tmp_path / f"{name}{number}" for number in range(len(INPUTS))]
            plain = [in_plain_python(Case(name, files), *pair) for pair in zip(folders, INPUTS, strict=True)]
            if found != plain:
                differing.append((name, found, plain))
    finally:
        await box.aclose()
    assert not differing
