"""Datasets' images as E2B templates in a pool over docker: made by `swe template`, judged and worked in."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import parse_task
from tests.e2b.servers import PoolServer
from tests.load.servers import ServerProcess
from tests.swe.imitations.images import DOCKER, build
from tests.swe.imitations.rows import IMITATIONS, Imitation
from tests.swe.instance import Client, forget_images, serving_swe

pytestmark = [pytest.mark.timeout(1500), pytest.mark.extended]


def template_name(one: Imitation) -> str:
    """Two rows may be of one image."""
    return f"imitation-{next(other.label for other in IMITATIONS if other.image == one.image)}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("templates")
    pool = PoolServer("docker", folder, "--network", keys="")
    templates = {parse_task(one.row).image: f"{template_name(one)}:root" for one in IMITATIONS}
    templates |= {"python": "python:root"}
    given = {
        "SANDBOX_GYM_E2B_API_URL": pool.url,
        "SANDBOX_GYM_E2B_API_KEY": "any",
        "SANDBOX_GYM_E2B_CREATES_PER_S": "100",
        "SANDBOX_GYM_E2B_TEMPLATES": json.dumps(templates),
    }
    try:
        with serving_swe("e2b", folder, **given) as running:
            yield running
    finally:
        pool.stop()
        assert "unexpected_error" not in pool.log()
    forget_images(folder)


@pytest.fixture(params=IMITATIONS, ids=lambda one: one.label)
def imitation(request: pytest.FixtureRequest, tmp_path: Path) -> Imitation:
    one: Imitation = request.param
    build(one.image)
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(one.row) + "\n")
    command = [sys.executable, "-m", "sandbox_gym", "swe", "template", str(rows)]
    made = subprocess.run(command, capture_output=True, check=True, timeout=60).stdout
    tag = f"sandbox-gym/{template_name(one)}:latest"
    subprocess.run([DOCKER, "build", "-q", "-t", tag, "-"], input=made, capture_output=True, check=True, timeout=300)
    return one


@pytest.fixture
def client(server: ServerProcess, imitation: Imitation) -> Iterator[Client]:
    opened = Client(server.url, imitation.row)
    yield opened
    opened.close()


def test_a_template_is_as_good_as_the_image(client: Client, imitation: Imitation) -> None:
    found = client.verify(imitation.fix)
    assert found["reward"] == 1.0, found["failure_reason"]
    assert client.verify("")["reward"] == 0.0
    client.seed()
    tests = imitation.project.test_patch
    for patch in filter(None, (tests, imitation.fix)):
        if patch is imitation.fix:
            assert client.bash(imitation.command)["exit_code"] != 0
        assert client.bash(f"git apply <<'EOF'\n{patch}EOF")["exit_code"] == 0
    ran = client.bash(imitation.command)
    assert ran["exit_code"] == 0, ran
    assert client.verify()["reward"] == 1.0
