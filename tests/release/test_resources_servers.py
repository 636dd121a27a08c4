"""What NeMo Gym's own checks want of a server's folder, without NeMo Gym; `tests/gym/test_ng_test.py` runs them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.documented import ROOT

SERVERS = sorted(path.parent for path in (ROOT / "resources_servers").glob("*/app.py"))


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(params=SERVERS, ids=lambda path: path.name)
def server(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def test_five_rows_with_their_metrics_and_rollouts(server: Path) -> None:
    examples, rollouts = rows(server / "data" / "example.jsonl"), rows(server / "data" / "example_rollouts.jsonl")
    metrics = json.loads((server / "data" / "example_metrics.json").read_text())
    assert (len(examples), metrics["Number of examples"], len(rollouts)) == (5, 5, 5)
    for number, (example, rollout) in enumerate(zip(examples, rollouts, strict=True)):
        assert (rollout["_ng_task_index"], rollout["_ng_rollout_index"]) == (number, 0)
        asked = [item["content"] for item in rollout["responses_create_params"]["input"]]
        assert asked == [item["content"] for item in example["responses_create_params"]["input"]]
        assert rollout["agent_ref"]["name"] == f"{server.name}_simple_agent"
        assert rollout["mask_sample"] is False
    assert {rollout["reward"] for rollout in rollouts} == {0.0, 1.0}


def test_requirements_name_the_package_and_no_place(server: Path) -> None:
    """Beside NeMo Gym, which strips lines with `../..` then, its own mcp is an older one than the extra's."""
    text = (server / "requirements.txt").read_text()
    for kept, extra in (
        (text.splitlines(), True),
        ([line for line in text.splitlines() if "../.." not in line], False),
    ):
        names = [line.partition("#")[0].strip() for line in kept]
        ours = [name for name in names if name.startswith("sandbox-gym")]
        assert all(re.fullmatch(r"sandbox-gym(?:\[[a-z,]+\])?>=[0-9.]+", name) for name in ours)
        assert any("mcp" in name for name in ours) is extra
        assert [name for name in names if name and name not in ours and not name.startswith("pytest")] == []


def test_configurations_name_files_of_their_own_folder(server: Path) -> None:
    for path in (server / "configs").glob("*.yaml"):
        for instance in yaml.safe_load(path.read_text()).values():
            for implementation in instance.get("responses_api_agents", {}).values():
                for dataset in implementation["datasets"]:
                    assert (ROOT / dataset["jsonl_fpath"]).is_relative_to(server)
                    assert (ROOT / dataset["jsonl_fpath"]).is_file()
            for name, fields in instance.get("resources_servers", {}).items():
                assert (name, fields["entrypoint"]) == (server.name, "app.py")
