"""Rows of each dataset's form: parsed to the image, folder and tests of its harness, or refused with what lacks."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.swe.building import instance_key
from sandbox_gym.swe.published import adoption, enter
from sandbox_gym.verifiers.swe import parse_task
from sandbox_gym.verifiers.swe.datasets.conventions import CONVENTIONS
from tests.swe.imitations.rows import IMITATIONS, Imitation

FAMILIES = {
    "swebench": "swebench",
    "multilingual": "swebench",
    "pro": "swe_bench_pro",
    "multi-swe": "multi_swe_bench",
    "swe-gym": "swe_gym",
    "swe-smith": "swe_smith",
    "swe-rebench": "swe_rebench",
    "r2e": "r2e_gym",
    "nemotron-swerl": "swe_gym",
    "nemotron-anyswe": "r2e_gym",
}
ROWS = {one.label: one.row for one in IMITATIONS}


@pytest.mark.parametrize("one", IMITATIONS, ids=lambda one: one.label)
def test_each_form_is_read(one: Imitation) -> None:
    task = parse_task(one.row)
    assert task.family == next(FAMILIES[name] for name in sorted(FAMILIES, key=len, reverse=True) if name in one.label)
    assert task.image.removesuffix(":latest") == one.image.name.removesuffix(":latest")
    assert task.workdir == one.image.workdir
    if task.family == "r2e_gym":
        assert len(task.expected) == 2
    else:
        assert (task.fail_to_pass, task.pass_to_pass) == (one.project.fail_to_pass, one.project.pass_to_pass)
    adopted = adoption(task)
    assert adopted.owned == (one.image.workdir,)
    assert ("conda activate testbed" in enter(task)) == bool(task.layout.conda_env)


def test_each_dataset_has_two_imitations() -> None:
    told = [parse_task(one.row).family for one in IMITATIONS]
    assert all(told.count(family) >= 2 for family in CONVENTIONS)


def test_what_shows_the_fix_is_for_no_session() -> None:
    multi, r2e = (parse_task(ROWS[label]) for label in ("multi-swe", "r2e-calc"))
    assert "/home/fix.patch" in adoption(multi).removed
    assert ("/r2e_tests", "/root/r2e_tests") in adoption(r2e).moved


def test_rows_that_make_their_bug_share_no_instance() -> None:
    row = ROWS["swe-smith-calc"]
    other = {**row, "patch": row["patch"].replace("n // 2", "n // 3")}
    assert instance_key(parse_task(row)) != instance_key(parse_task(other))
    assert instance_key(parse_task(row)) == instance_key(parse_task({**row, "problem_statement": "Else."}))


def without(label: str, *names: str, **more: Any) -> dict[str, Any]:
    return {key: value for key, value in ROWS[label].items() if key not in names} | more


DEEPSWE = ("verifier_metadata", "deepswe")
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (without("pro-other", "test_command"), "row.test_command", "run_script.sh and parser.py"),
    (without("pro-python", "dockerhub_tag"), "row.dockerhub_tag", "what the row's tests run in"),
    (without("pro-python", dockerhub_tag="a b"), "row.dockerhub_tag", "letters"),
    (without("pro-python", fail_to_pass="['a' + 'b']"), "row.fail_to_pass", "as Python writes it"),
    (without("pro-python", fail_to_pass="[" * 100_000), "row.fail_to_pass", "as Python writes it"),
    (without("pro-python", fail_to_pass="[]"), "row.FAIL_TO_PASS", "empty patch"),
    (without("multi-swe", "number"), "row.number", "pull request"),
    (without("multi-swe", number=True), "row.number", "pull request"),
    (without("multi-swe", "org"), "row.org", "pull request"),
    (without("multi-swe", n2p_tests=[1], fixed_tests={}), "row.n2p_tests", "by name"),
    (without("multi-swe", n2p_tests={}, fixed_tests={}), "row.FAIL_TO_PASS", "empty patch"),
    (without("swebench", dataset="Multi-SWE"), "row.image", "number of the pull request"),
    (without("multi-swe", base="main"), "row.base", "sha"),
    (without("swe-rebench", "image", "image_name", "docker_image", language="go"), "row.docker_image", "run in"),
    (without("swe-smith-calc", FAIL_TO_PASS=["a b c"]), "row.test_command", "test_cmd and log_parser"),
    (
        {"uuid": "1", "expected_action": {}, "pivot_tags": [], "metadata": {}},
        "row",
        "swe_pivot",
    ),
    ({"image": "a/b:1", "task_id": "1", "subset": "x", "verifier_metadata": {"task_id": "1"}}, *DEEPSWE),
    ({"instance_id": "x__y-1", "question": "?", "answer": "!"}, "row", "no form that is known"),
]


@pytest.mark.parametrize(("row", "field", "word"), REFUSED, ids=[f"{n}-{one[1]}" for n, one in enumerate(REFUSED)])
def test_what_is_missing_is_named(row: dict[str, Any], field: str, word: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_task(row)
    assert caught.value.field == field, caught.value
    assert word in str(caught.value)
    assert len(str(caught.value)) < 700
