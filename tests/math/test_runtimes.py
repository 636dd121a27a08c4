"""math-verify with each ANTLR runtime that the extra `math` allows: NeMo Gym's hydra asks for the oldest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.documented import ROOT
from tests.math.library import suite, through_ladder

RELEASED = ("4.9.2", "4.9.3", "4.10", "4.11.0", "4.11.1", "4.12.0", "4.13.0", "4.13.1", "4.13.2")
_JUDGED = """
import json
from importlib.metadata import version
from tests.math.library import suite, through_ladder
print(json.dumps([version("antlr4-python3-runtime"), [through_ladder(case).equal for case in suite()]]))
"""


def allowed() -> list[str]:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (found,) = (one for one in map(Requirement, extras["math"]) if one.name == "antlr4-python3-runtime")
    return [version for version in RELEASED if found.specifier.contains(version)]


def test_the_extra_allows_those_that_the_library_has_parsers_for() -> None:
    assert allowed() == ["4.9.3", "4.11.0", "4.11.1", "4.13.2"]


@pytest.mark.extended
@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", allowed())
def test_verdicts_are_the_same(version: str, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wanted = [f"antlr4-python3-runtime=={version}"]
    subprocess.run([*pip, "--target", str(tmp_path), *wanted], check=True, timeout=300)
    own = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", _JUDGED], cwd=ROOT, env=own, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [version, [through_ladder(case).equal for case in suite()]]
