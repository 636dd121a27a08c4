"""Every parser in the registry of PyPI's swebench, as our box reads a log with it, beside swebench itself.

The logs are the real ones of tests/swe/logs and ones made of the parsers' own words, with and without what a terminal
adds. Equal: the statuses, that a log can't be read, and whether one that names no test is believed to be of a run.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox_gym.swe.logs import parser_sources
from sandbox_gym.verifiers.swe import SweTask
from sandbox_gym.verifiers.swe.logs.formats import SWEBENCH_PARSERS
from sandbox_gym.verifiers.swe.logs.verdicts import reader_run

REAL = sorted((Path(__file__).parents[1] / "swe" / "logs").glob("*/*.log"))
SPECS: dict[str, tuple[tuple[str, str], ...]] = {
    "parse_log_jekyll": (("jekyll__jekyll-9141", ""), ("jekyll__jekyll-8761", "")),
    "parse_log_immutable_js": (("immutable-js__immutable-js-2006", ""), ("immutable-js__immutable-js-2005", "")),
    "parse_log_next": (("a__b-1", "1.27"), ("a__b-1", "1.0")),
    "parse_log_lighthouse": (("a__b-1", "9.5"), ("a__b-1", "3.0"), ("a__b-1", "1.0")),
}
"""Instances and versions, for parsers that ask."""
WORDS: tuple[str, ...] = tuple(json.loads((Path(__file__).parent / "data" / "log_words.json").read_text("utf-8")))
"""Parts of what every parser looks for."""


@pytest.fixture(scope="module")
def swebench() -> Iterator[subprocess.Popen[str]]:
    python = os.environ.get("SANDBOX_GYM_TEST_SWEBENCH")
    assert python, "SANDBOX_GYM_TEST_SWEBENCH names no Python; run make test-swe"
    script = Path(__file__).with_name("swebench_grader.py")
    pipe = subprocess.PIPE
    process = subprocess.Popen([python, "-W", "ignore", str(script)], stdin=pipe, stdout=pipe, text=True)
    yield process
    process.communicate(timeout=30)


def theirs(swebench: subprocess.Popen[str], parser: str, log: str, spec: Mapping[str, str]) -> dict[str, Any]:
    assert swebench.stdin is not None
    assert swebench.stdout is not None
    swebench.stdin.write(json.dumps({"parser": parser, "log": log, "spec": spec}) + "\n")
    swebench.stdin.flush()
    answer: dict[str, Any] = json.loads(swebench.stdout.readline())
    return answer


def ours(parser: str, log: str, task: SweTask, folder: Path) -> dict[str, Any]:
    """As in the box: its files, and its program with a log on standard input."""
    run = reader_run(task, "marker", parser, parser_sources(parser), home=str(folder), python=sys.executable)
    for name, content in run.program.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if not (folder / name).exists():  # written once, so that Python compiles it once
            (folder / name).write_bytes(content)
    data = f"marker\n{log}".encode("utf-8", "replace")
    ran = subprocess.run(run.program.argv, input=data, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def made_logs(parser: str) -> Iterator[str]:
    """Of words of all parsers, some in colours, some after what was overwritten, some glued together."""
    chance = random.Random(parser)
    for _ in range(8):
        lines = [chance.choice(WORDS) for _ in range(chance.randrange(1, 120))]
        ends = [chance.choice(("\n", "\n", "\n", "\r\n", " ", "\n\n")) for _ in lines]
        yield "".join(line + end for line, end in zip(lines, ends, strict=True))


@pytest.mark.parametrize("parser", sorted(SWEBENCH_PARSERS))
def test_a_log_is_read_as_by_swebench(swebench: subprocess.Popen[str], parser: str, tmp_path: Path) -> None:
    chance = random.Random(parser)
    real = [log.read_text("utf-8") for log in chance.sample(REAL, 4)]
    results = 0
    for number, (instance_id, version) in enumerate(SPECS.get(parser, (("a__b-1", "1.0"),))):
        task = SweTask(instance_id, "a/b", "swebench", ("x",), (), version=version)
        spec = {"instance_id": task.instance_id, "version": task.version, "repo": task.repo}
        for log in ["", "\n".join(WORDS) + "\n", *real, *made_logs(parser)]:
            found, known = ours(parser, log, task, tmp_path / str(number)), theirs(swebench, parser, log, spec)
            if "error" in known:
                assert found.keys() == {"unreadable"}, log
                continue
            assert found["statuses"] == known["statuses"], log
            assert (bool(found["statuses"]) or found["ran"]) is known["found"], log
            results += len(known["statuses"])
    assert results, "no log told this parser anything"
