"""The import prelude against plain CPython with LiveCodeBench's text before the program; programs are generated."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Program, Run, Status
from sandbox_gym.engine import open_engine
from sandbox_gym.guest.python import prelude
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from tests.conftest import make_real
from tests.languages.prelude_programs import PRELUDE, RIGHT, USES, generated

HERE = Path(__file__).parent
GUEST = Path(prelude.__file__)
DRIVER = HERE / "prelude_driver.py"


def check(text: str) -> None:
    """What the driver said: nothing differs, and the programs were worth running."""
    said = json.loads(text)
    assert said["differ"] == []
    assert said["errors"] > 0


def test_it_is_as_if_the_prelude_stood_before_the_program() -> None:
    given = json.dumps({"prelude": PRELUDE, "programs": generated(2500)})
    argv = [sys.executable, "-I", str(DRIVER), str(GUEST)]
    done = subprocess.run(argv, input=given, capture_output=True, text=True, check=True, timeout=300)
    check(done.stdout)


@pytest.mark.anyio
@pytest.mark.parametrize("image", ["python", "polyglot"])
async def test_on_the_pythons_of_the_images(image: str) -> None:
    provider = make_real("docker")
    box = await provider.create(SandboxSpec(image))
    try:
        driver = DRIVER.read_bytes().replace(b"sys.argv[1]", b"'prelude.py'")
        files = {"main.py": driver, "prelude.py": GUEST.read_bytes()}
        given = json.dumps({"prelude": PRELUDE, "programs": generated(500, seed=17)}).encode()
        run = Run("differ", Program("fork", files), given, Limits(cpu_time_s=60, wall_time_s=180))
        async with box.run_all([run]) as outcomes:
            (outcome,) = [outcome async for outcome in outcomes]
        assert outcome.status is Status.OK, outcome.stderr
        check(outcome.stdout.decode())
    finally:
        await box.aclose()
        await provider.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_in_a_verify(provider: str) -> None:
    settings = Settings.model_validate({"provider": provider})
    row = {"unit_tests": {"inputs": ["3\n"], "outputs": ["6\n"]}}
    task = parse_task(row, limits=settings.limits(), early_stop=True)
    async with open_engine(settings) as engine:
        for why, source in RIGHT.items():
            verdict = (await engine.verify(CodingVerifier(), task, Answer(f"```python\n{source}\n```"))).verdict
            assert verdict.reward == 1.0, (why, verdict.tests)
        wrong = (
            await engine.verify(CodingVerifier(), task, Answer("```python\nprint(nothing_of_that_name(6))\n```"))
        ).verdict
        assert wrong.reward == 0.0


def test_only_what_is_needed_is_imported() -> None:
    """A program that uses none of the dear modules does not pay for them."""
    source = (
        "import sys, time\nfrom collections import deque\ndef mode(sample):\n    mean = sample.count(1)\n"
        "    mean += 1\n    return mean\nprint(mode([1]))\n"
    )
    probe = (
        "import sys; sys.path.insert(0, sys.argv[1]); import prelude; before = set(sys.modules); n = {}\n"
        "s = sys.stdin.read(); prelude.bind(prelude.wanted(s.encode(), 'm', compile(s, 'm', 'exec')), n)\n"
        "print(sorted(n), sorted(set(sys.modules) - before))"
    )
    argv = [sys.executable, "-c", probe, str(GUEST.parent)]
    done = subprocess.run(argv, input=source, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "[] []\n"


def test_every_name_of_the_prelude_is_the_same_object() -> None:
    """But for typing's aliases of three classes, which are collections' own here."""
    real: dict[str, object] = {}
    exec(PRELUDE, real)
    source = "\n".join(name for name in real if name != "__builtins__")
    ours: dict[str, object] = {}
    wanted = prelude.wanted(source.encode(), "main.py", compile(source, "main.py", "exec"))  # type: ignore[no-untyped-call]
    prelude.bind(wanted, ours)  # type: ignore[no-untyped-call]
    builtin = set(real["__builtins__"])  # type: ignore[call-overload]
    other = {name for name in real if name not in builtin and ours.get(name) is not real[name]}
    assert other - {"__builtins__"} == {"Counter", "OrderedDict", "ChainMap"}
    assert set(USES) - {"typing", "nothing", "pow", "open"} <= set(ours)
