"""SWE-bench's rules on statuses: resolved, partial, not; skips, reruns, cut ids, logs that contradict themselves."""

from __future__ import annotations

import itertools

import pytest

from sandbox_gym.verifiers.swe import CaseStatus, Resolution, SweTask, grade, parse_task, to_rerun, weak_spots
from sandbox_gym.verifiers.swe.grading import MAX_RERUNS
from tests.swe.rows import SWEBENCH

P, F, S, E = CaseStatus.PASSED, CaseStatus.FAILED, CaseStatus.SKIPPED, CaseStatus.ERROR
FAIL, HOLD = ["t.py::f1", "t.py::f2"], ["t.py::p1", "t.py::p2"]


def task(fail: list[str] | None = None, hold: list[str] | None = None, **more: object) -> SweTask:
    return parse_task(
        {**SWEBENCH, "FAIL_TO_PASS": fail or FAIL, "PASS_TO_PASS": HOLD if hold is None else hold, **more}
    )


def after(f1: CaseStatus = P, f2: CaseStatus = P, p1: CaseStatus = P, p2: CaseStatus = P) -> dict[str, CaseStatus]:
    return dict(zip([*FAIL, *HOLD], (f1, f2, p1, p2), strict=True))


def test_resolved() -> None:
    graded = grade(task(), after())
    assert graded.resolved
    assert (graded.reason, graded.fail_to_pass.score, graded.pass_to_pass.score) == ("", 1.0, 1.0)
    assert graded.tests_status() == {
        "FAIL_TO_PASS": {"success": FAIL, "failure": []},
        "PASS_TO_PASS": {"success": HOLD, "failure": []},
    }


@pytest.mark.parametrize(
    ("statuses", "resolution"),
    [
        (after(f1=F), Resolution.PARTIAL),
        (after(f1=F, f2=F), Resolution.NO),
        (after(p1=F), Resolution.NO),
        (after(f1=F, p1=F), Resolution.NO),
        ({}, Resolution.NO),
        (after(f1=CaseStatus.XFAIL), Resolution.PARTIAL),
        (after(p1=CaseStatus.XFAIL), Resolution.NO),
        (after(f1=CaseStatus.XPASS), Resolution.PARTIAL),
        (after(f1=S), Resolution.PARTIAL),
        (after(p1=S), Resolution.NO),
        (after(p1=CaseStatus.XPASS), Resolution.NO),
        (after(p1=CaseStatus.TIMEOUT), Resolution.NO),
        (after(p1=E), Resolution.NO),
    ],
)
def test_the_rule(statuses: dict[str, CaseStatus], resolution: Resolution) -> None:
    graded = grade(task(), statuses)
    assert graded.resolution is resolution
    assert graded.resolved is (graded.reason == "")


def test_the_reason_names_the_first_that_fails() -> None:
    assert grade(task(), after(p2=E)).reason == "PASS_TO_PASS ERROR: t.py::p2"
    assert grade(task(), {}).reason == "FAIL_TO_PASS MISSING: t.py::f1"


def test_without_pass_to_pass() -> None:
    graded = grade(task(hold=[]), after())
    assert (graded.resolved, graded.pass_to_pass.score) == (True, 1.0)


@pytest.mark.parametrize("runner", ["pytest", "unittest", "log"])
def test_what_is_no_pass_counts_where_the_reference_ended_so(runner: str) -> None:
    """Whoever reads the results; a skip never mends a FAIL_TO_PASS."""
    for status, group in itertools.product(CaseStatus, ("f1", "p1")):
        test = FAIL[0] if group == "f1" else HOLD[0]
        for wanted in (P, S, CaseStatus.XFAIL):
            graded = grade(task(runner=runner), after(**{group: status}), reference={test: wanted})
            like = status is wanted and (status is CaseStatus.XFAIL or group == "p1")
            assert graded.resolved is (status is P or like), (status, wanted, group)


def test_every_combination_of_four_statuses_agrees_with_the_written_rule() -> None:
    for values in itertools.product(CaseStatus, repeat=4):
        graded = grade(task(), after(*values))
        f2p, p2p = sum(v is P for v in values[:2]), sum(v is P for v in values[2:])
        wanted = Resolution.NO if p2p < 2 or f2p == 0 else Resolution.FULL if f2p == 2 else Resolution.PARTIAL
        assert graded.resolution is wanted, values


def test_a_flake_and_a_regression() -> None:
    broken = after(p1=F, p2=CaseStatus.TIMEOUT)
    assert to_rerun(task(), broken) == tuple(HOLD)
    graded = grade(task(), broken, rerun={HOLD[0]: P, HOLD[1]: F})
    assert [(case.status, case.rerun, case.passed, case.flaky) for case in graded.cases[2:]] == [
        (F, P, True, True),
        (CaseStatus.TIMEOUT, F, False, False),
    ]
    assert not graded.resolved
    assert grade(task(), broken, rerun=dict.fromkeys(HOLD, P)).resolved


def test_a_rerun_never_mends_a_fail_to_pass_nor_spoils_a_pass() -> None:
    assert not grade(task(), after(f1=F), rerun={FAIL[0]: P}).resolved
    assert grade(task(), after(), rerun={HOLD[0]: F}).resolved
    assert to_rerun(task(), after(f1=F)) == ()


def test_of_a_starved_run_every_failure_is_run_again() -> None:
    broken = after(f1=F, p1=F)
    assert to_rerun(task(), broken, starved=True) == (FAIL[0], HOLD[0])
    assert to_rerun(task(), after(), starved=True) == ()
    again = {FAIL[0]: P, HOLD[0]: P}
    assert grade(task(), broken, rerun=again, retried=again).resolved
    assert not grade(task(), broken, rerun=again, retried=HOLD).resolved
    assert not grade(task(), broken, rerun={**again, FAIL[0]: F}, retried=again).resolved


def test_a_broken_repository_is_not_run_again() -> None:
    many = [f"t.py::p{n}" for n in range(MAX_RERUNS + 1)]
    assert to_rerun(task(hold=many), {}) == ()
    assert len(to_rerun(task(hold=many[1:]), {})) == MAX_RERUNS


@pytest.mark.parametrize("other", ["t.py::f1 ", "t.py::F1", "t.py::f1[a]", "./t.py::f1", "t.py::f"])
def test_ids_are_compared_exactly(other: str) -> None:
    assert not grade(task(["t.py::f1"], []), {other: P}).resolved


ODD = ["t.py::a[x y]", "t.py::a[x z]", "t.py::a[[]", "t.py::a[ü]", "t.py::a[b::c]", "t.py::a[- ]", "t.py::a[\ud800]"]


def test_odd_ids_are_themselves() -> None:
    assert grade(task(ODD, []), dict.fromkeys(ODD, P)).resolved
    for odd in ODD:
        assert not grade(task(ODD, []), {test: F if test == odd else P for test in ODD}).resolved


def test_cut_ids() -> None:
    """As swebench has it: an id whose bracket is open stands for those that begin with it, if they agree."""
    cut, whole = "t.py::a[log(photon", ["t.py::a[log(photon, 1)]", "t.py::a[log(photon, 2)]"]
    graded = grade(task([cut], []), dict.fromkeys(whole, P))
    assert graded.resolved
    assert graded.cases[0].reported_id == whole[0]
    assert not grade(task([cut], []), {whole[0]: P, whole[1]: F}).resolved
    assert not grade(task([cut], []), {cut: F, **dict.fromkeys(whole, P)}).resolved
    assert not grade(task(["t.py::a"], []), dict.fromkeys(whole, P)).resolved
    own = {"environment": {"base_image": "x"}}
    assert not grade(task([cut], [], **own), dict.fromkeys(whole, P)).resolved


def test_fail_only() -> None:
    silent = task(["a b", "c d"], [], eval_type="fail_only", runner="log")
    assert grade(silent, {"other": P}).resolved
    assert grade(silent, {"other": P, "a b": F}).resolution is Resolution.PARTIAL
    assert grade(task(["a[b"], [], eval_type="fail_only", runner="log"), {"a[b, c]": F}).resolved
    nothing = grade(silent, {})
    assert (nothing.resolved, nothing.reason) == (False, "no test ran")


def test_a_log_that_contradicts_its_command() -> None:
    row = task(runner="log")
    assert grade(row, after(), exit_code=0).resolved
    assert grade(row, {**after(), "other": F}, exit_code=1).resolved
    forged = grade(row, after(), exit_code=1)
    assert not forged.resolved
    assert "exited with 1" in forged.reason
    assert grade(task(), after(), exit_code=1).resolved  # a channel's results are no log


def test_an_expected_map() -> None:
    row = parse_task({"docker_image": "n/x:1", "expected_output_json": '{"T.a": "PASSED", "T.b": "FAILED"}'})
    same = {"T.a - seen": P, "T.b": F, "": P}
    assert grade(row, same).resolved
    for other in ({"T.a": P}, {"T.a": P, "T.b": P}, {"T.a": P, "T.b": F, "T.c": P}, {"T.a": P, "T.c": F}, {}):
        graded = grade(row, other)
        assert not graded.resolved
        assert graded.reason
    assert grade(row, {"T.a": P, "T.b": P}).pass_to_pass.score == 0.5
    broken = {"T.a": F, "T.b": F}
    assert weak_spots(row, broken) == {}
    assert (to_rerun(row, broken), to_rerun(row, broken, starved=True)) == ((), ("T.a",))
    assert grade(row, broken, rerun={"T.a": P, "T.b": P}, retried=["T.a"]).resolved
    assert not grade(row, {**broken, "T.c": P}, rerun={"T.a": P}, retried=["T.a"]).resolved


def test_weak_spots_of_a_row() -> None:
    before = after(f1=P, f2=F, p1=F, p2=P)
    assert weak_spots(task(), before) == {FAIL[0]: P, HOLD[0]: F}
    assert weak_spots(task(), after(f1=F, f2=F)) == {}


def test_tests_that_fail_with_the_gold_patch_are_told() -> None:
    row = task(fail_after_gold=["t.py::known", "t.py::gone"])
    graded = grade(row, {**after(), "t.py::known": F})
    assert graded.resolved
    assert graded.ignored == {"t.py::known": F, "t.py::gone": CaseStatus.MISSING}


def test_a_hundred_thousand_tests() -> None:
    many = [f"t.py::p[{n}" for n in range(1_000)] + [f"t.py::q[{n}]" for n in range(100_000)]
    assert grade(task(["t.py::f"], many), {"t.py::f": P, **dict.fromkeys(many, P)}).resolved
