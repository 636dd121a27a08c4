"""A numpy that can't be loaded for all programs of a sandbox: each imports it for itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.channel import bundle
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.sandbox import Sandbox

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(60)]
FINDER = """
import os, signal, sys, threading, time
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            sys.meta_path.remove(self)
            try:
                {doing}
            finally:
                sys.meta_path.insert(0, self)
sys.meta_path.insert(0, Finder())
"""
USES = "import numpy\nprint(numpy.ones(1))\n"
LIMITS = Limits(wall_time_s=2)


async def ran(box: Sandbox, source: str) -> Outcome:
    async with box.run_all([Run("t", Program("fork", {"main.py": source.encode()}), b"", LIMITS)]) as results:
        (outcome,) = [outcome async for outcome in results]
    return outcome


@pytest.mark.parametrize(
    ("doing", "status"),
    [
        ("raise ModuleNotFoundError('numpy')", Status.RUNTIME_ERROR),
        ("raise SystemExit(1)", Status.RUNTIME_ERROR),
        ("os._exit(1)", Status.RUNTIME_ERROR),
        ("os.kill(os.getpid(), signal.SIGSEGV)", Status.RUNTIME_ERROR),
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True).start()", Status.OK),
        ("time.sleep(60)", Status.WALL_TIME_LIMIT),
    ],
    ids=["missing", "exits", "ends", "crashes", "thread", "hangs"],
)
async def test_programs_import_it_for_themselves(doing: str, status: Status, monkeypatch: pytest.MonkeyPatch) -> None:
    _with_finder(doing, monkeypatch)
    provider = LocalProvider()
    for _ in range(3 if status is Status.RUNTIME_ERROR else 1):
        box = await provider.create(SandboxSpec())
        try:
            assert (await ran(box, USES)).status is status
            assert await box.reset(), "nothing is left of the process that could not load it"
            assert (await ran(box, "print(1)\n")).status is Status.OK
            assert (await ran(box, USES)).status is status
            assert await box.reset()
        finally:
            await box.aclose()
    await provider.aclose()


async def test_one_that_was_stopped_while_it_loads_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_finder("os.kill(os.getpid(), signal.SIGSTOP)", monkeypatch)
    provider = LocalProvider()
    box = await provider.create(SandboxSpec())
    outcome = await ran(box, USES)
    assert (outcome.status, outcome.stdout) == (Status.OK, b"[1.]\n")
    await box.aclose()
    await provider.aclose()


async def test_what_loading_takes_is_no_run_s(monkeypatch: pytest.MonkeyPatch) -> None:
    _with_finder("time.sleep(3)", monkeypatch)
    provider = LocalProvider()
    box = await provider.create(SandboxSpec())
    assert (await ran(box, USES)).status is Status.OK, "it takes longer than the run may"
    await box.aclose()
    await provider.aclose()


def _with_finder(doing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real, text = bundle.guest_bundle, FINDER.format(doing=doing).encode()

    def made(python: Path | None = None) -> bytes:
        whole = text + real(python)[4:]
        return len(whole).to_bytes(4, "big") + whole

    monkeypatch.setattr("sandbox_gym.sandbox.local.jails.guest_bundle", made)
