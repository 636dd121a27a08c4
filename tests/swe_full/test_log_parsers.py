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
SPECS = {"parse_log_jekyll": ("jekyll__jekyll-9141", "jekyll__jekyll-8761"),
         "parse_log_immutable_js": ("immutable-js__immutable-js-2006", "immutable-js__immutable-js-2005")}  # fmt: skip
WORDS = (
    "PASSED a.py::test_a", "FAILED a.py::test_b[x y] - no", "ERROR a.py", "SKIPPED [1] a.py:3: no", "XFAIL a.py::test_c",
    "a.py::test_d PASSED", "PASSED a.py::test_e[/x/y/z]", "XPASS a.py::test_f", "PASSED", "FAILED - ", "[MouseButton.LEFT]",
    "test_a (m.A) ... ok", "test_b (m.A) ... FAIL", "test_c (m.A) ... skipped 'x'", "FAIL: test_d (m.A)", "ok",
    "test_e (m.A) ... Testing against Django installed in x silenced.", "test_f (m.A) ... ERROR", "test_g ok", "test_h F [FAIL]",
    "________ sympy/a.py:test_i ________", "--- PASS: TestA (0.00s)", "    --- SKIP: TestA/b (0.1s)", "-Dtest=A#b", "BUILD SUCCESS",
    "[INFO] BUILD FAILURE", "[junit] [PASS] a.B", "a.B > c PASSED", "a.B > c", "FAILED", "Suite (A\\B)", " ✔ Adds", " ✘ Fails", " ↩ Skips",
    "A#b. = 0.1 s = .", "A#c = 0.2 s = F", "a b ..F", "test: a: . (0.1)", "a: E", "spec a - passed", "spec b - failed", "test a::b ... ok",
    "test a::c ... FAILED", "[ok]: a (3 ms)", "[err]: b in tests/c", "PASS: jq", "<doctest", "</doctest>",
    '<doctest><TestCase name="a"><SubCase name="b"><Expression success="true"/></SubCase></TestCase></doctest>',
    "pass a/b.py", "[       OK ] A.b (0 ms)", "[  FAILED  ] A.c (1 ms)", "  ✓ does a (3 ms)", "  ✕ does b", "  ○ skipped c", " × d 5ms", "1) e",
    "[PASSED] a b", "ok 1 - a", "not ok 2 - b", "# tests 3", "Starting browser Chrome", " ✖ f", "SUMMARY:", "Tests: 3 passed", "12 passing",
    "Executed 3 of 3", "Executed 0 of 0", "PASS a/b.js (3.1 s)", "FAIL c.js", "Chrome 1.2 (Linux x86_64) g FAILED", "  3) h\n     i:\n   Error: j",
    "HeadlessChrome 1.0 (Linux 5.4) k FAILED", "./node_modules/.bin/mocha tests/run.js --reporter json", "TOTAL: 3 SUCCESS",
    '{"failures": [{"fullTitle": "l"}], "passes": [{"fullTitle": "m"}]}', "+ ./node_modules/.bin/jest a", "+ xvfb-run b", "running 2 test files",
    "Running: a)\n\n\n  b\n    ✓ c (1ms)", "'n': ok", "case o: mismatch", "2 specs, 0 failures", "[1m[32mp ... ok[0m", "running 1 test from q",
    "\x1b[32m✓\x1b[0m r", "  ", "    ", "", "\r", "%", "\x1b[31mFAILED\x1b[0m a.py::test_s", "'rendering t': ok",
)  # fmt: skip


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
        (folder / name).write_bytes(content)
    data = f"marker\n{log}".encode("utf-8", "replace")
    ran = subprocess.run(run.program.argv, input=data, capture_output=True, check=True)
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


def made_logs(parser: str) -> Iterator[str]:
    """Of words of all parsers, some in colours, some after what was overwritten, some glued together."""
    chance = random.Random(parser)
    for _ in range(12):
        lines = [chance.choice(WORDS) for _ in range(chance.randrange(1, 120))]
        ends = [chance.choice(("\n", "\n", "\n", "\r\n", " ", "\n\n")) for _ in lines]
        yield "".join(line + end for line, end in zip(lines, ends, strict=True))


@pytest.mark.parametrize("parser", sorted(SWEBENCH_PARSERS))
def test_a_log_is_read_as_by_swebench(swebench: subprocess.Popen[str], parser: str, tmp_path: Path) -> None:
    chance = random.Random(parser)
    real = [log.read_text("utf-8") for log in chance.sample(REAL, 8)]
    results = 0
    for instance_id in SPECS.get(parser, ("a__b-1",)):
        task = SweTask(instance_id, "a/b", "swebench", ("x",), (), version=chance.choice(("1.27", "1.0")))
        spec = {"instance_id": task.instance_id, "version": task.version, "repo": task.repo}
        for log in ["", "\n".join(WORDS) + "\n", *real, *made_logs(parser)]:
            found, known = ours(parser, log, task, tmp_path), theirs(swebench, parser, log, spec)
            if "error" in known:
                assert found.keys() == {"unreadable"}, log
                continue
            assert found["statuses"] == known["statuses"], log
            assert (bool(found["statuses"]) or found["ran"]) is known["found"], log
            results += len(known["statuses"])
    assert results, "no log told this parser anything"
