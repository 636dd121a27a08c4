"""What a program leaves behind is seen by no later test: shared processes give what a process per test gives."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import pytest

from sandbox_gym.contract import Outcome, Program, Run
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.coding.shared.cases import INPUTS, Case, cases
from tests.daily import part

CASES = cases()
PARTS = 12
PYTHON = "/usr/bin/python3"
"""The interpreter of the local provider's sandboxes."""
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"}


def test_there_are_three_hundred_programs() -> None:
    assert len(CASES) >= 300
    assert len({kind_of(case) for case in CASES}) >= 40
    assert {kind_of(case) for case in taken(whole=False)} == {kind_of(case) for case in CASES}
    assert taken(whole=True) == sorted(CASES, key=kind_of)


def kind_of(case: Case) -> str:
    return case.name.partition(" (")[0]


def taken(*, whole: bool) -> list[Case]:
    """Daily a third of each kind, of a small kind one case."""
    kinds = [list(group) for _, group in groupby(sorted(CASES, key=kind_of), kind_of)]
    return [case for kind in kinds for case in part(kind, min(3, len(kind)), whole=whole)]


@pytest.mark.anyio
@pytest.mark.parametrize("share", range(PARTS))
async def test_no_test_sees_what_another_left(share: int, tmp_path: Path, *, whole: bool) -> None:
    differing = []
    box = await LocalProvider().create(SandboxSpec())
    try:
        for number, case in enumerate(taken(whole=whole)[share::PARTS]):
            folder = tmp_path / str(number)
            own, shared = [await outcomes(box, case, shared=flag) for flag in (False, True)]
            found = [[(one.stdout, one.exit_code) for one in each] for each in (own, shared)]
            plain = [in_plain_python(case, folder / str(index), stdin) for index, stdin in enumerate(INPUTS)]
            if not found[0] == found[1] == plain:
                differing.append((case.name, *found, plain))
    finally:
        await box.aclose()
    assert not differing


async def outcomes(box: Sandbox, case: Case, *, shared: bool) -> Sequence[Outcome]:
    program = Program("fork", dict(case.files))
    runs = [Run(f"t{index}", program, stdin, Limits(), shared=shared) for index, stdin in enumerate(INPUTS)]
    async with box.run_all(runs) as results:
        return [outcome async for outcome in results]


def in_plain_python(case: Case, folder: Path, stdin: bytes) -> tuple[bytes, int]:
    """(standard output, exit code) in an interpreter and folders of its own."""
    for name in ("tmp", "shm"):
        (folder / name).mkdir(parents=True)
    for path, content in case.files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.replace(b"/tmp", bytes(folder / "tmp")).replace(b"/dev/shm", bytes(folder / "shm")))
    # a process that was started in the background ignores interrupts, and so do those that it starts
    done = subprocess.run(
        ["env", "--default-signal=INT", PYTHON, "main.py"],
        cwd=folder,
        input=stdin,
        capture_output=True,
        timeout=30,
        env=ENVIRONMENT,
        check=False,
    )
    return done.stdout, done.returncode
