"""At least two imitations of each dataset: an image, and a row of its form, with the fields that its card has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.swe.imitations.commits import parsed_commit
from tests.swe.imitations.images import BARE, CONDA, VENV, Image, exec_form
from tests.swe.imitations.projects import GREET, HALF, LAST, SQUARE, Project

Row = dict[str, Any]
_SITE = "lib/python3.11/site-packages/project.pth"
_COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Imitation:
    """`command`: what the dataset's harness runs tests with, as an agent types it in the repository's folder."""

    label: str
    image: Image
    row: Row
    command: str
    gold: str = ""
    """The fix, where the row has none, or its opposite."""

    @property
    def fix(self) -> str:
        return self.gold or self.image.project.patch

    @property
    def project(self) -> Project:
        return self.image.project


def _conda(name: str, project: Project, **more: Any) -> Image:
    pth = f"RUN echo /testbed >/opt/miniconda3/envs/testbed/{_SITE}"
    lines = (pth, f"ENTRYPOINT {exec_form('/bin/false')}")
    return Image(name, CONDA, project, "/testbed", lines=lines, **more)


def _usual(project: Project, instance_id: str, repo: str) -> Row:
    """What most of them have of SWE-bench's."""
    return {
        "repo": repo,
        "instance_id": instance_id,
        "base_commit": _COMMIT,
        "patch": project.patch,
        "test_patch": project.test_patch,
        "problem_statement": "It does not do what it should.",
        "hints_text": "",
        "created_at": "2024-01-01T00:00:00Z",
        "version": "1.0",
    }


def _texts(project: Project) -> Row:
    return {"FAIL_TO_PASS": json.dumps(project.fail_to_pass), "PASS_TO_PASS": json.dumps(project.pass_to_pass)}


def _lists(project: Project) -> Row:
    return {"FAIL_TO_PASS": list(project.fail_to_pass), "PASS_TO_PASS": list(project.pass_to_pass)}


def _swebench() -> list[Imitation]:
    verified = {**_usual(HALF, "imitation__calc-1", "imitation/calc"), **_texts(HALF)}
    verified |= {"environment_setup_commit": _COMMIT, "difficulty": "<15 min fix"}
    other = {**_usual(SQUARE, "imitation__square-2", "imitation/square"), **_texts(SQUARE)}
    other |= {"dataset_name": "SWE-bench/SWE-bench_Multilingual", "log_parser": "parse_log_gotest"}
    other |= {"test_cmd": "sh tests/run-all.sh"}
    return [
        Imitation(
            "swebench",
            _conda("swebench/sweb.eval.x86_64.imitation_1776_calc-1:latest", HALF),
            verified,
            "python -m pytest -rA tests",
        ),
        Imitation(
            "multilingual",
            Image("swebench/sweb.eval.x86_64.imitation_1776_square-2:latest", BARE, SQUARE, "/testbed"),
            other,
            "sh tests/run-all.sh",
        ),
    ]


def _pro() -> list[Imitation]:
    def row(project: Project, tag: str) -> Row:
        usual = _usual(project, f"instance_{tag.partition('-')[2]}", f"Imitation/{project.name}")
        for name in ("hints_text", "created_at", "version"):
            del usual[name]
        return {
            **usual,
            "requirements": "",
            "interface": "",
            "repo_language": "python",
            "fail_to_pass": repr(list(project.fail_to_pass)),
            "pass_to_pass": repr(list(project.pass_to_pass)),
            "issue_specificity": "[]",
            "issue_categories": "[]",
            "before_repo_set_cmd": f"git reset --hard {_COMMIT}\ngit checkout {_COMMIT} -- tests",
            "selected_test_files_to_run": repr(sorted(project.tests)),
            "dockerhub_tag": tag,
        }

    first, second = "imitation.texts-Imitation__texts-1-v1", "imitation.greet-Imitation__greet-2-vnan"
    shell = {**row(GREET, second), "test_command": "bash /app/tests/run-all.sh", "log_parser": "parse_log_gotest"}
    entry = (f"ENTRYPOINT {exec_form('/bin/bash')}",)
    python = Image(f"jefzda/sweap-images:{first}", VENV, LAST, "/app", lines=("ENV PYTHONPATH=/app", *entry))
    return [
        Imitation("pro-python", python, row(LAST, first), "pytest -v tests"),
        Imitation(
            "pro-other",
            Image(f"jefzda/sweap-images:{second}", BARE, GREET, "/app", lines=entry),
            shell,
            "bash /app/tests/run-all.sh",
        ),
    ]


def _multi_swe() -> list[Imitation]:
    def one(label: str, project: Project, number: int, *lines: str) -> Imitation:
        image = f"mswebench/imitation_m_{project.name}:pr-{number}"
        workdir = f"/home/{project.name}"
        script = f"#!/bin/bash\nset -e\ncd {workdir}\nsh tests/run-all.sh\n"
        files = {"run.sh": script, "fix.patch": project.patch, "test.patch": project.test_patch, "fix-run.sh": script}
        ended = {"run": "NONE", "test": "FAIL", "fix": "PASS"}
        held = {"run": "PASS", "test": "PASS", "fix": "PASS"}
        result = {"passed_count": 2, "failed_count": 0, "skipped_count": 0}
        row = {
            "org": "imitation",
            "repo": project.name,
            "number": number,
            "state": "closed",
            "title": "Mend it",
            "body": None,
            "base": {"label": "imitation:main", "ref": "main", "sha": _COMMIT},
            "resolved_issues": [{"number": 1, "title": "It is wrong", "body": "So it is."}],
            "fix_patch": project.patch,
            "test_patch": project.test_patch,
            "fixed_tests": dict.fromkeys(project.fail_to_pass, ended),
            "p2p_tests": dict.fromkeys(project.pass_to_pass, held) | {"another row's": None},
            "f2p_tests": {},
            "s2p_tests": {},
            "n2p_tests": dict.fromkeys(project.fail_to_pass, ended),
            "run_result": result,
            "test_patch_result": result,
            "fix_patch_result": result,
            "instance_id": f"imitation__{project.name}-{number}",
            "log_parser": "parse_log_gotest",
        }
        before = ("COPY run.sh fix.patch test.patch fix-run.sh /home/",)
        built = Image(image, BARE, project, workdir, lines=lines, before=before, files=files)
        return Imitation(label, built, row, "bash /home/run.sh")

    return [
        one("multi-swe", SQUARE, 7),
        one("multi-swe-without-bash", GREET, 8, "RUN rm /bin/bash"),
    ]


def _swe_gym() -> list[Imitation]:
    found = []
    for project, number in ((HALF, 3), (LAST, 4)):
        name = f"imitation__{project.name}-{number}"
        image = _conda(f"xingyaoww/sweb.eval.x86_64.{name.replace('__', '_s_')}:latest", project)
        row = {**_usual(project, name, f"imitation/{project.name}"), **_lists(project), "subset": "gym"}
        row |= {"split": "train", "responses_create_params": {"input": []}}
        found.append(Imitation(f"swe-gym-{project.name}", image, row, "pytest -rA --tb=long tests"))
    return found


def _swe_smith() -> list[Imitation]:
    found = []
    for project in (HALF, LAST):
        slug = f"imitation__{project.name}.01234567"
        whole = Project(
            project.name,
            {**project.base, **project.tests},
            project.fixed,
            {},
            project.fail_to_pass,
            project.pass_to_pass,
        )
        row = {
            "instance_id": f"{slug}.lm_rewrite__abc12345",
            "patch": whole.bug,
            **_lists(project),
            "image_name": f"jyangballin/swesmith.x86_64.{slug}",
            "repo": f"swesmith/{slug}",
            "problem_statement": "It does not do what it should.",
        }
        image = _conda(f"jyangballin/swesmith.x86_64.{slug.replace('__', '_1776_')}", whole, fixed=True)
        command = "pytest --disable-warnings --color=no --tb=no --verbose tests"
        found.append(Imitation(f"swe-smith-{project.name}", image, row, command))
    return found


def _swe_rebench() -> list[Imitation]:
    config = {"python": "3.9", "install": "pip install -e .", "test_cmd": "pytest --no-header -rA tests"}
    first = {**_usual(HALF, "imitation__calc-5", "imitation/calc"), **_lists(HALF)}
    first |= {"docker_image": "swerebench/sweb.eval.x86_64.imitation_1776_calc-5", "meta": {"num_modified_files": 1}}
    first |= {"install_config": {**config, "log_parser": "parse_log_pytest"}, "requirements": "pytest==8.0\n"}
    first |= {"environment": "name: testbed\nchannels:\n  - defaults\n", "license_name": "MIT License"}
    second = {**_usual(SQUARE, "imitation__square-6", "imitation/square"), **_lists(SQUARE), "language": "go"}
    second |= {"image_name": "docker.io/swerebenchv2/imitation-square:6-0123456", "interface": ""}
    second |= {"install_config": {"test_cmd": ["sh tests/run-all.sh"], "log_parser": "parse_log_gotest"}}
    return [
        Imitation("swe-rebench", _conda(first["docker_image"], HALF), first, config["test_cmd"]),
        Imitation(
            "swe-rebench-2",
            Image(second["image_name"], BARE, SQUARE, "/square"),
            second,
            "sh tests/run-all.sh",
        ),
    ]


def _r2e() -> list[Imitation]:
    found = []
    for project, commit in ((HALF, "2ed3b5e0"), (LAST, "9a8b7c6d")):
        path, test = next(iter(project.tests.items()))
        script = "PYTHONWARNINGS=ignore .venv/bin/python -W ignore -m pytest -rA r2e_tests\n"
        image = Image(
            f"namanjain12/{project.name}_final:{commit}",
            VENV,
            project,
            "/testbed",
            lines=(
                "RUN mv /opt/venv /testbed/.venv && cd /testbed/.venv"
                " && sed -i 's#/opt/venv#/testbed/.venv#g' bin/*[!0-9] pyvenv.cfg"
                f" ; echo /testbed >/testbed/.venv/{_SITE}",
                "COPY run_tests.sh /testbed/run_tests.sh",
                "COPY r2e_tests /r2e_tests",
                "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            ),
            files={"run_tests.sh": script, "r2e_tests/test_1.py": test},
        )
        row = {
            "repo_name": project.name,
            "docker_image": image.name,
            "commit_hash": _COMMIT,
            "parsed_commit_content": json.dumps(parsed_commit(project.base, {**project.fixed, **project.tests})),
            "execution_result_content": json.dumps({"test_file_names": ["test_1.py"], "test_file_codes": [test]}),
            "modified_files": sorted(project.fixed),
            "modified_entity_summaries": [],
            "relevant_files": sorted(project.fixed),
            "num_non_test_files": 1,
            "num_non_test_func_methods": 1,
            "num_non_test_lines": 2,
            "prompt": "",
            "problem_statement": "It does not do what it should.",
            "expected_output_json": json.dumps({"test_holds": "PASSED", "test_mended": "PASSED"}),
        }
        found.append(Imitation(f"r2e-{project.name}", image, row, f"python -m pytest -rA {path}"))
    return found


def _nemotron() -> list[Imitation]:
    """Rows of NeMo Gym's servers that Nemotron's blends have, around the datasets'."""
    gym, r2e = _swe_gym()[0], _r2e()[0]
    inner = {**gym.row, "setup_script": "", "test_script": "", "regression_script": ""}
    for name in ("responses_create_params", "subset", "split"):
        del inner[name]
    swerl = {
        "responses_create_params": {"input": []},
        "instance": inner,
        "metadata": {"relevant_file_contents": "{}", "image": "/images/imitation.sif", "remove_repo_name": False},
        "dataset_name": "SWE-Gym/SWE-Gym",
        "dataset_split": "train",
        "mode": "eval",
    }
    metadata = {"instance_id": "r2e", "dataset_name": "R2E-Gym/R2E-Gym-Subset", "split": "train"}
    metadata |= {"problem_statement": "It does not.", "instance_dict": json.dumps(r2e.row)}
    anyswe = {"responses_create_params": {"input": [], "metadata": metadata}}
    return [
        Imitation("nemotron-swerl", gym.image, swerl, gym.command),
        Imitation("nemotron-anyswe", r2e.image, anyswe, r2e.command),
    ]


IMITATIONS = (
    *_swebench(),
    *_pro(),
    *_multi_swe(),
    *_swe_gym(),
    *_swe_smith(),
    *_swe_rebench(),
    *_r2e(),
    *_nemotron(),
)
DAILY = ("swebench", "multi-swe-without-bash")
