"""The contract's verdict of a grade."""

from __future__ import annotations

from sandbox_gym.contract import GroupResult, TestStatus
from sandbox_gym.verifiers.swe import CaseReport, CaseStatus, grade, parse_task, verdict_of
from tests.swe.rows import SWEBENCH

TASK = parse_task({**SWEBENCH, "FAIL_TO_PASS": ["t.py::f"], "PASS_TO_PASS": ["t.py::p", "t.py::q"]})
PASSED = dict.fromkeys(TASK.ids, CaseStatus.PASSED)


def test_resolved() -> None:
    verdict = verdict_of(grade(TASK, PASSED))
    assert (verdict.reward, verdict.failure_reason, verdict.integrity) == (1.0, "", "in_process")
    assert [test.status for test in verdict.tests] == [TestStatus.PASSED] * 3


def test_partial_scores_and_each_test() -> None:
    after = {**PASSED, "t.py::q": CaseStatus.TIMEOUT, "t.py::p": CaseStatus.FAILED}
    graded = grade(TASK, after, rerun={"t.py::p": CaseStatus.PASSED, "t.py::q": CaseStatus.TIMEOUT})
    verdict = verdict_of(graded, cases={"t.py::q": CaseReport(CaseStatus.TIMEOUT, 60.0, "took too long")})
    assert verdict.reward == 0.0
    assert verdict.failure_reason == "PASS_TO_PASS TIMEOUT: t.py::q"
    assert verdict.groups == (GroupResult("FAIL_TO_PASS", 1, 1), GroupResult("PASS_TO_PASS", 1, 2))
    assert [test.status for test in verdict.tests] == [TestStatus.PASSED, TestStatus.PASSED, TestStatus.TIME_LIMIT]
    assert verdict.tests[1].reason == "PASS_TO_PASS t.py::p: FAILED, then PASSED"
    assert verdict.tests[2].reason == "PASS_TO_PASS t.py::q: TIMEOUT, then TIMEOUT: took too long"
    assert verdict.tests[2].wall_time_s == 60.0


def test_signs_cost_only_where_they_are_named() -> None:
    signs = {"patch_touches_tests": "tests/x.py", "channel_forged": "b'x'"}
    graded = grade(TASK, PASSED)
    told = verdict_of(graded, signs=signs)
    assert (told.reward, told.tamper) == (1.0, ("channel_forged", "patch_touches_tests"))
    assert told.evidence == signs
    for names in (frozenset({"channel_forged"}), frozenset({"any"})):
        cost = verdict_of(graded, signs=signs, fail_on_tamper=names)
        assert (cost.reward, cost.failure_reason) == (0.0, "tampering: channel_forged")
    assert verdict_of(graded, signs=signs, fail_on_tamper=frozenset({"channel_hooked"})).reward == 1.0


def test_every_status_has_a_word() -> None:
    for status in CaseStatus:
        verdict = verdict_of(grade(TASK, {**PASSED, "t.py::f": status}))
        assert (verdict.tests[0].status is TestStatus.PASSED) is (verdict.reward == 1.0)


def test_an_expected_failure_that_passes() -> None:
    row = {"docker_image": "n/x:1", "expected_output_json": '{"a": "PASSED", "b": "FAILED"}'}
    task = parse_task(row)
    verdict = verdict_of(grade(task, {"a": CaseStatus.PASSED, "b": CaseStatus.PASSED}))
    assert [test.status for test in verdict.tests] == [TestStatus.PASSED, TestStatus.WRONG_ANSWER]
    right = verdict_of(grade(task, {"a": CaseStatus.PASSED, "b": CaseStatus.FAILED}))
    assert right.reward == 1.0


def test_a_test_that_never_ran_has_its_file_s_error() -> None:
    graded = grade(TASK, {})
    why = "E   ModuleNotFoundError: No module named 'd'"
    told = verdict_of(graded, uncollected={"t.py": why, "other.py": "something else"})
    assert [test.reason for test in told.tests] == [
        f"{group} t.py::{name}: MISSING: {why}"
        for group, name in (("FAIL_TO_PASS", "f"), ("PASS_TO_PASS", "p"), ("PASS_TO_PASS", "q"))
    ]
