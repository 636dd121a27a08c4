"""The release workflow keeps GitHub's schema, publishes on tags alone, and gives each job no more than it needs."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, Final

import pytest
import yaml

from tests.documented import ROOT

FILE: Final = ROOT / ".github" / "workflows" / "release.yml"
PUBLISHING: Final = {"pypi", "images", "image-provenance", "release"}


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(FILE.read_text())
    return found


def test_it_is_a_workflow() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", str(FILE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_action_is_one_commit(workflow: dict[Any, Any]) -> None:
    used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []
    assert re.findall(r"uses: \S+(?! # v\d)$", FILE.read_text(), re.MULTILINE) == []  # and says of which version


def test_no_job_has_more_than_it_needs(workflow: dict[Any, Any]) -> None:
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {}
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read", "id-token": "write", "attestations": "write"},
        "install": {"contents": "read"},
        "pypi": {"id-token": "write"},
        "images": {"contents": "read", "packages": "write"},
        "image-provenance": {"packages": "write", "id-token": "write", "attestations": "write"},
        "release": {"contents": "write"},
    }
    assert all("timeout-minutes" in job for job in jobs.values())
    assert "secrets.PYPI" not in FILE.read_text()  # a trusted publisher has no token


def test_what_publishes_waits_for_a_tag_and_for_the_installations(workflow: dict[Any, Any]) -> None:
    jobs = workflow["jobs"]

    def before(name: str) -> set[str]:
        needed = jobs[name].get("needs", [])
        direct = {needed} if isinstance(needed, str) else set(needed)
        return direct | {one for each in direct for one in before(each)}

    for name in PUBLISHING:
        above = before(name) | {name}
        assert "install" in above
        assert any(jobs[each].get("if") == "github.ref_type == 'tag'" for each in above)
    assert set(jobs) - PUBLISHING == {"build", "install"}


def test_scripts_are_bash_and_have_no_expressions(workflow: dict[Any, Any]) -> None:
    """An expression in a script would be text that others may have written."""
    scripts = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert len(scripts) > 5
    for script in scripts:
        assert "${{" not in script
        checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_it_installs_what_the_package_names(workflow: dict[Any, Any]) -> None:
    named = re.findall(r"Programming Language :: Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert workflow["jobs"]["install"]["strategy"]["matrix"]["python"] == named
