"""Rows of each dataset read; rows with mistakes refused with the field, the value and the remedy."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import MIB
from sandbox_gym.verifiers.swe import CaseStatus, SweLimits, parse_task, read_patch, restore_plan
from tests.swe.rows import GOLD, SWEBENCH, TEST_PATCH

GYM: dict[str, object] = {
    "instance_id": "getmoto__moto-7365",
    "repo": "getmoto/moto",
    "version": "5.0",
    "base_commit": "7f6c9cb1deafb280fe7fcc7c38e397f11a706a8b",
    "patch": GOLD,
    "test_patch": TEST_PATCH,
    "FAIL_TO_PASS": ["tests/test_dynamodb/test_update.py::test_update_item_add_float"],
    "PASS_TO_PASS": [],
    "subset": "gym",
    "split": "train",
    "responses_create_params": {"input": []},
}
SMITH: dict[str, object] = {
    "instance_id": "oauthlib__oauthlib.1fd52536.combine_file__0fceycuu",
    "repo": "swesmith/oauthlib__oauthlib.1fd52536",
    "patch": GOLD,
    "image_name": "jyangballin/swesmith.x86_64.oauthlib__oauthlib.1fd52536",
    "FAIL_TO_PASS": ["tests/test_a.py::Test::test_a"],
    "PASS_TO_PASS": ["tests/test_a.py::Test::test_b"],
}
REBENCH: dict[str, object] = {
    **{key: SWEBENCH[key] for key in ("repo", "patch", "test_patch", "base_commit")},
    "instance_id": "tobymao__sqlglot-1177",
    "FAIL_TO_PASS": ["tests/test_a.py::test_a"],
    "PASS_TO_PASS": ["tests/test_a.py::test_b"],
    "environment": "name: sqlglot\nchannels:\n  - defaults\n",
    "requirements": "pytest==8.0\n",
    "install_config": {"python": "3.9", "test_cmd": "pytest --no-header -rA", "log_parser": "parse_log_pytest"},
}
R2E: dict[str, object] = {
    "docker_image": "namanjain12/orange3new:2ed3b5e0",
    "repo_name": "orange3",
    "problem_statement": "Mend it.",
    "expected_output_json": json.dumps(
        {"\x1b[1mTestTable.test_a\x1b[0m - seen": "PASSED", "TestTable.test_b": "FAILED", "": "PASSED"}
    ),
}
OWN: dict[str, object] = {
    "instance_id": "mako__mako-1.2.2",
    "repo": "sqlalchemy/mako",
    "FAIL_TO_PASS": ["test/test_lexer.py::LexerTest::test_tag_many_quotes"],
    "environment": {
        "python": "3.12",
        "source": "mako==1.2.1",
        "packages": ["pytest<8.4", "cryptography[ssh]", "x >= 1, < 2"],
        "system_packages": ["libxml2-dev"],
        "install": ["pip install -e ."],
        "test_command": "python -m pytest -q",
        "env": {"SETUPTOOLS_SCM_PRETEND_VERSION": "1.2.1"},
    },
}


def test_swebench() -> None:
    task = parse_task(SWEBENCH)
    assert (task.family, task.runner, task.rule) == ("swebench", "pytest", "full")
    assert task.image == "swebench/sweb.eval.x86_64.astropy_1776_astropy-12907:latest"
    assert task.workdir == "/testbed"
    assert task.fail_to_pass == ("tests/test_a.py::test_a[compound_model6-result6]",)
    assert task.pass_to_pass == ("tests/test_a.py::test_b", "tests/test_a.py::test_c")
    assert task.test_files == ("tests/test_a.py",)
    assert task.ids_may_be_cut
    assert not task.patch_is_bug


def test_nemo_gyms_swebench_server() -> None:
    """A verify request of it is the flat row with the response in it."""
    row = {**SWEBENCH, "subset": "verified", "split": "test", "responses_create_params": {}, "response": {"id": "x"}}
    assert parse_task(row) == parse_task(SWEBENCH)


@pytest.mark.parametrize("wrap", ["instance", "instance_dict", "verifier_metadata"])
@pytest.mark.parametrize("as_json", [True, False])
def test_rows_inside_rows(wrap: str, as_json: bool) -> None:
    """swerl_gen's `instance`, anyswe's `instance_dict`, and our own wire's metadata."""
    assert parse_task({wrap: json.dumps(SWEBENCH) if as_json else SWEBENCH, "mode": "eval"}) == parse_task(SWEBENCH)


def test_errors_inside_rows_name_where() -> None:
    with pytest.raises(RequestError) as caught:
        parse_task({"instance": {**SWEBENCH, "FAIL_TO_PASS": 7}})
    assert caught.value.field == "instance.FAIL_TO_PASS"


def test_swe_gym() -> None:
    task = parse_task(GYM)
    assert task.family == "swe_gym"
    assert task.image == "xingyaoww/sweb.eval.x86_64.getmoto_s_moto-7365:latest"
    assert parse_task({**GYM, "subset": None, "dataset_name": "SWE-Gym/SWE-Gym"}).image == task.image


def test_swe_smith() -> None:
    task = parse_task(SMITH)
    assert (task.family, task.patch_is_bug) == ("swe_smith", True)
    assert task.image == "jyangballin/swesmith.x86_64.oauthlib_1776_oauthlib.1fd52536"
    without = {key: value for key, value in SMITH.items() if key != "image_name"}
    assert parse_task(without).image == "swebench/swesmith.x86_64.oauthlib_1776_oauthlib.1fd52536:latest"


def test_swe_rebench() -> None:
    """Its `environment` is the text of a conda file, no recipe."""
    task = parse_task(REBENCH)
    assert (task.family, task.recipe, task.runner) == ("swe_rebench", None, "pytest")
    assert task.image == "swerebench/sweb.eval.x86_64.tobymao_1776_sqlglot-1177:latest"
    assert task.test_command == "pytest --no-header -rA"
    second = parse_task({**REBENCH, "language": "python", "docker_image": "docker.io/swerebenchv2/x:1"})
    assert (second.workdir, second.image) == ("/astropy", "docker.io/swerebenchv2/x:1")


def test_r2e_gym() -> None:
    task = parse_task(R2E)
    assert (task.family, task.rule, task.runner) == ("r2e_gym", "expected_map", "log")
    assert task.instance_id == "orange3new-2ed3b5e0"
    assert task.image == "namanjain12/orange3new:2ed3b5e0"
    assert task.expected == {"TestTable.test_a": CaseStatus.PASSED, "TestTable.test_b": CaseStatus.FAILED}
    assert task.test_command == "bash /root/run_tests.sh"


def test_a_recipe() -> None:
    task = parse_task(OWN)
    assert task.recipe is not None
    assert (task.image, task.family, task.ids_may_be_cut) == ("", "own", False)
    assert task.recipe.packages == ("pytest<8.4", "cryptography[ssh]", "x >= 1, < 2")
    assert task.test_command == "python -m pytest -q"
    again = parse_task(json.loads(json.dumps(OWN)))
    assert again.recipe is not None
    assert again.recipe.key() == task.recipe.key()
    other = json.loads(json.dumps(OWN))
    other["environment"]["packages"].append("attrs")
    changed = parse_task(other).recipe
    assert changed is not None
    assert changed.key() != task.recipe.key()


def test_every_real_instance(data_folder: Path) -> None:
    rows = [json.loads(line) for line in (data_folder / "swe_instances.jsonl").read_text("utf-8").splitlines()]
    assert rows
    for row in rows:
        task = parse_task(row)
        assert list(task.fail_to_pass) == row["FAIL_TO_PASS"]
        assert list(task.pass_to_pass) == row["PASS_TO_PASS"]
        assert task.runner == "pytest"
        recipe = task.recipe
        assert recipe is not None
        assert recipe.source == row["base"]
        assert recipe.python == row["python"]
        assert recipe.install == ("pip install -e .",)
        assert recipe.packages[0] == "pytest<8.4"
        assert dict(recipe.env) == row["env"]
        assert set(row["test_files"]) <= set(task.test_files)
        gold = read_patch(task.patch.encode())
        assert not gold.damage
        assert gold.changes
        plan = restore_plan(task, gold.changes)
        assert plan.signs == {}
        assert not set(gold.paths) & set(plan.restore)


def test_limits_only_tighten() -> None:
    most = SweLimits(test_time_s=60, run_time_s=600, memory_bytes=1024 * MIB)
    looser = {**SWEBENCH, "timeout_s": 9999, "run_timeout_s": 9999, "memory_limit_mb": 99999}
    assert parse_task(looser, limits=most).limits == most
    tighter = {**SWEBENCH, "test_timeout_s": 5, "evaluation_timeout": 50, "memory_limit_mb": 512}
    assert parse_task(tighter, limits=most).limits == SweLimits(5, 50, 512 * MIB)


def test_runners() -> None:
    django = {**SWEBENCH, "repo": "django/django", "FAIL_TO_PASS": ["test_x (a.tests.B)"]}
    assert parse_task(django).runner == "log"
    assert parse_task({**SWEBENCH, "PASS_TO_PASS": ["[100%]"]}).runner == "log"
    assert parse_task({**SWEBENCH, "log_parser": "parse_log_seaborn"}).runner == "log"
    assert parse_task({**SWEBENCH, "runner": "unittest"}).runner == "unittest"
    eslint = {**SWEBENCH, "repo": "eslint/eslint", "FAIL_TO_PASS": ["a b"]}
    assert (parse_task(eslint).rule, parse_task(eslint).runner) == ("fail_only", "log")
    assert parse_task({**eslint, "eval_type": "pass_and_fail"}).rule == "full"


def test_each_id_counts_once() -> None:
    task = parse_task({**SWEBENCH, "FAIL_TO_PASS": ["a.py::a", "a.py::a"], "PASS_TO_PASS": ["a.py::a", "a.py::b"]})
    assert (task.fail_to_pass, task.pass_to_pass) == (("a.py::a",), ("a.py::b",))


@pytest.mark.parametrize(
    "test", ["t.py::a[x y]", "t.py::a[[]", "t.py::ü[é]", "t.py::a[b::c]", " t.py::a ", "t.py::a[\ud800]"]
)
def test_ids_are_kept_exactly(test: str) -> None:
    assert parse_task({**SWEBENCH, "FAIL_TO_PASS": json.dumps([test])}).fail_to_pass == (test,)


def without(row: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in row.items() if key != name}


def environment(**more: object) -> dict[str, object]:
    given = OWN["environment"]
    assert isinstance(given, dict)
    return {**OWN, "environment": {**given, **more}}


WRONG: list[tuple[object, str, str]] = [
    (None, "row", "object"),
    ([], "row", "object"),
    ({}, "row.instance_id", "name"),
    ({"instance": "{"}, "instance", "JSON"),
    ({"instance": "[" * 100_000}, "instance", "JSON"),
    ({"instance": []}, "instance", "object"),
    (without(SWEBENCH, "FAIL_TO_PASS"), "row.FAIL_TO_PASS", "empty patch would resolve"),
    ({**SWEBENCH, "FAIL_TO_PASS": "[]"}, "row.FAIL_TO_PASS", "empty patch would resolve"),
    ({**SWEBENCH, "FAIL_TO_PASS": "tests/a.py::b"}, "row.FAIL_TO_PASS", "JSON"),
    ({**SWEBENCH, "FAIL_TO_PASS": '{"a": 1}'}, "row.FAIL_TO_PASS", "list"),
    ({**SWEBENCH, "PASS_TO_PASS": [1]}, "row.PASS_TO_PASS[0]", "test id"),
    ({**SWEBENCH, "PASS_TO_PASS": ["a", "b\nc"]}, "row.PASS_TO_PASS[1]", "one line"),
    ({**SWEBENCH, "PASS_TO_PASS": ["a" * 20_000]}, "row.PASS_TO_PASS[0]", "characters"),
    ({**SWEBENCH, "PASS_TO_PASS": ["a"] * 200_001}, "row.PASS_TO_PASS", "at most"),
    ({**SWEBENCH, "instance_id": "../../etc"}, "row.instance_id", "letters"),
    ({**SWEBENCH, "instance_id": 5}, "row.instance_id", "string"),
    ({**SWEBENCH, "image": "--privileged"}, "row.image", "registry"),
    ({**SWEBENCH, "image": "a b"}, "row.image", "registry"),
    ({**SWEBENCH, "workdir": "testbed"}, "row.workdir", "absolute"),
    ({**SWEBENCH, "workdir": "/a/../b"}, "row.workdir", "absolute"),
    ({**SWEBENCH, "runner": "nose"}, "row.runner", "pytest"),
    ({**SWEBENCH, "eval_type": "most"}, "row.eval_type", "fail_only"),
    ({**SWEBENCH, "timeout_s": 0}, "row.timeout_s", "greater"),
    ({**SWEBENCH, "timeout_s": float("nan")}, "row.timeout_s", "finite"),
    ({**SWEBENCH, "memory_limit_mb": 1}, "row.memory_limit_mb", "64"),
    ({**SWEBENCH, "patch": "mend it"}, "row.patch", "unified diff"),
    ({**SWEBENCH, "patch": ["x"]}, "row.patch", "unified diff"),
    ({**SWEBENCH, "test_patch": TEST_PATCH.replace("tests/", "../")}, "row.test_patch", "unified diff"),
    ({**SWEBENCH, "test_files": ["/etc/passwd"]}, "row.test_files[0]", "absolute"),
    ({**R2E, "expected_output_json": "{}"}, "row.expected_output_json", "every test"),
    ({**R2E, "expected_output_json": '{"a": "OK"}'}, "row.expected_output_json['a']", "PASSED"),
    (without(R2E, "docker_image"), "row.instance_id", "name"),
    ({**without(R2E, "docker_image"), "instance_id": "x"}, "row.docker_image", "image"),
    ({**SMITH, "image_name": None, "dataset": "SWE-smith", "repo": "x", "instance_id": "x"}, "row.repo", "swesmith/"),
    (environment(source="", base_image=""), "row.environment", "source"),
    (environment(source="mako"), "row.environment.source", "name==version"),
    (environment(source="--index-url=x"), "row.environment.source", "name==version"),
    (environment(packages="pytest"), "row.environment.packages", "list"),
    (environment(packages=["pytest", "-r evil.txt"]), "row.environment.packages[1]", "requirement"),
    (environment(packages=["pytest; rm -rf /"]), "row.environment.packages[0]", "requirement"),
    (environment(system_packages=["-o=x"]), "row.environment.system_packages[0]", "Debian"),
    (environment(python="latest"), "row.environment.python", "3.12"),
    (environment(env={"A=B": "c"}), "row.environment.env", "letters"),
    (environment(env={"A": 1}), "row.environment.env.A", "string"),
    (environment(sdist="../x.tar.gz"), "row.environment.sdist", "folder"),
    (environment(comands=[]), "row.environment.comands", "give only"),
    ({**OWN, "environment": None, "base": "mako==1", "install": ['pip install "x']}, "row.install[0]", "shell"),
]


@pytest.mark.parametrize(
    ("row", "field", "remedy"), WRONG, ids=[f"{n}-{field}" for n, (_, field, _) in enumerate(WRONG)]
)
def test_mistakes(row: object, field: str, remedy: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_task(row)
    assert caught.value.field == field
    assert remedy in str(caught.value)
    assert len(str(caught.value)) < 700


VALUES: list[object] = [
    None,
    True,
    0,
    -1,
    1e400,
    10**5000,
    "",
    "x",
    "[]",
    "\ud800",
    [],
    ["x"],
    [None],
    {},
    {"a": 1},
    [[]],
]


def test_nothing_but_request_errors() -> None:
    """Each field of each row with each wrong kind of value, and pairs of them."""
    rng = random.Random(6)
    for base in (SWEBENCH, GYM, SMITH, REBENCH, R2E, OWN, environment()):
        for name in [*base, "image", "limits", "test_files", "install", "base", "environment", "test_cmd", "subset"]:
            for value in VALUES:
                row = {**base, name: value}
                row[rng.choice(list(row))] = rng.choice(VALUES) if rng.random() < 0.3 else row[name]
                with contextlib.suppress(RequestError):
                    parse_task(row)
