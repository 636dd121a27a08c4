"""A verdict's page of every shape of state: dialogues, checkers, builds, several judgements, nothing at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sandbox_gym.contract import (
    CheckedOutcome,
    DialogueOutcome,
    GroupResult,
    Outcome,
    State,
    Status,
    StepOutcome,
    Verdict,
)
from sandbox_gym.contract import TestResult as Result
from sandbox_gym.contract import TestStatus as Ended
from sandbox_gym.journal import Source, Stored, StoredJudgement, Summary
from sandbox_gym.server.dashboard.pages import OUTPUT_BYTES, PAGE, TEXT_CHARS, run_page, verdict_page
from sandbox_gym.server.dashboard.pages import test_of as shown_of

OK = Outcome(Status.OK, 0, stdout=b"answer")
BAD = Outcome(Status.RUNTIME_ERROR, None, 9, stderr=b"checker \x1b[31m", tamper=("ptrace\u202e",))
SUMMARY = Summary(
    id=0,
    request_id="0" * 32,
    server="coding",
    verifier="coding",
    idempotency_key=None,
    task_digest="t",
    answer_digest="a",
    plan_digest="",
    image="python",
    limits={"cpu_time_s": 1.0},
    provider="local",
    isolation="namespace",
    integrity="in_process",
    reward=0.5,
    failure_reason="wrong_answer",
    failure_kind="",
    tamper=("ptrace\u202e",),
    attempts=2,
    timings_s={"run": 1.0},
    started_at=1.0,
    finished_at=2.0,
    size_bytes=1,
)


def judged(
    *outcomes: StepOutcome | None, tests: int = 1, builds: tuple[Outcome, ...] = (), **more: Any
) -> StoredJudgement:
    results = tuple(Result(index, Ended.PASSED) for index in range(tests))
    return StoredJudgement("", State(outcomes, "namespace", "local", builds), Verdict(0.5, results, **more))


def stored(*judgements: StoredJudgement, row: Any = None, answer: str = "answer", reply: Any = None) -> Stored:
    source = Source("coding", {"early_stop": True}, row or {}, answer)
    return Stored(SUMMARY, source, judgements, {"reward": 0.5} if reply is None else reply)


def parts(document: Any) -> list[tuple[str, str]]:
    return [(part["name"], part["status"]) for part in document["parts"]]


def page(one: Stored, start: int = 0) -> Any:
    return verdict_page(one, where="memory", start=start)


def test_a_dialogue_has_two_programs_the_answers_first() -> None:
    run: Any = run_page(stored(judged(DialogueOutcome(asker=BAD, candidate=OK))), 0, "0")
    assert parts(run) == [("the answer's program", "ok"), ("the test's program", "runtime_error")]
    assert run["parts"][1]["streams"]["stderr"]["text"] == "checker ⟨ESC⟩[31m"
    assert run["parts"][1]["tamper"] == ["ptrace⟨U+202E⟩"]
    assert (run["parts"][1]["signal"], run["parts"][1]["exit_code"]) == (9, None)


@pytest.mark.parametrize(("checker", "names"), [(BAD, 2), (None, 1)])
def test_a_checked_step_has_its_checker_where_it_ran(checker: Outcome | None, names: int) -> None:
    assert len(parts(run_page(stored(judged(CheckedOutcome(OK, checker))), 0, "0"))) == names


def test_builds_and_earlier_judgements_are_among_the_runs() -> None:
    one = stored(judged(OK, tests=3), judged(OK, BAD, tests=2, builds=(BAD,)))
    runs = page(one)["runs"]["rows"]
    assert [(run["judgement"], run["place"], run["name"]) for run in runs] == [
        (0, "0", "run 1"),
        (1, "build:0", "build 1, judgement 2"),
    ]
    assert [test["judgement"] for test in page(one)["tests"]["rows"]] == [1, 1]  # each has a run of its own
    assert parts(run_page(one, 1, "build:0")) == [("the program", "runtime_error")]
    assert run_page(one, 1, "build:1") == {"given": None, "expected": None, "parts": []}


def test_tests_that_share_a_run_lead_to_none() -> None:
    shown = page(stored(judged(OK, tests=3)))
    assert [test["judgement"] for test in shown["tests"]["rows"]] == [None, None, None]
    assert [run["place"] for run in shown["runs"]["rows"]] == ["0"]


def test_tests_that_early_stop_cut_off_leave_the_others_their_runs() -> None:
    results = (Result(0, Ended.PASSED), Result(1, Ended.WRONG_ANSWER), Result(2, Ended.SKIPPED))
    cut = StoredJudgement("", State((OK, BAD), "namespace", "local"), Verdict(0.0, results))
    shown = page(stored(cut))
    assert [test["judgement"] for test in shown["tests"]["rows"]] == [0, 0, 0]
    assert shown["runs"]["total"] == 0


def test_a_run_that_early_stop_left_out_has_input_and_no_output() -> None:
    row = {"unit_tests": {"inputs": ["1", "2"], "outputs": ["2", "4"]}}
    run: Any = run_page(stored(judged(OK, None, tests=2), row=row), 0, "1")
    assert (run["given"]["text"], run["expected"]["text"], run["parts"]) == ("2", "4", [])


def test_facts_groups_and_evidence() -> None:
    groups, evidence = (GroupResult("FAIL_TO_PASS\x1b", 1, 2),), {"ptrace\u202e": "pid 1\x07"}
    shown = page(stored(judged(OK, groups=groups, evidence=evidence, decided_by="judge")))
    assert shown["groups"] == [{"name": "FAIL_TO_PASS⟨ESC⟩", "points": 1, "of": 2}]
    assert shown["tamper"] == [{"sign": "ptrace⟨U+202E⟩", "evidence": "pid 1⟨BEL⟩"}]
    assert (shown["facts"]["integrity"], shown["facts"]["attempts"], shown["facts"]["decided_by"]) == (
        "in_process",
        2,
        "judge",
    )
    assert shown["missing"] == []


def test_every_text_and_list_is_bounded() -> None:
    many = judged(*([OK] * 1000), tests=1000, groups=tuple(GroupResult(str(n), 1, 1) for n in range(1000)))
    one = stored(many, row={"x": "y" * 10**6}, answer="z" * 10**6, reply={"test_output": "w" * 10**6})
    shown = page(one, start=900)
    assert len(shown["tests"]["rows"]) == 100
    assert len(page(one)["tests"]["rows"]) == PAGE
    assert len(shown["groups"]) <= 50
    for name in ("task", "answer", "reply"):
        assert shown[name]["total"] >= 10**6
        assert len(shown[name]["text"]) < TEXT_CHARS + 100
    loud = stored(judged(replace(OK, stdout=b"x" * 10**6, stderr=b"\xff" * 10**6)))
    run: Any = run_page(loud, 0, "0")
    assert all(len(text["text"]) <= 4 * OUTPUT_BYTES + 100 for text in run["parts"][0]["streams"].values())


def test_what_is_missing_is_said() -> None:
    whole = stored(judged(OK))
    assert (
        "journal_state_mb"
        in page(replace(whole, judgements=None, source=replace(whole.source, row={"a": 1})))["missing"][0]
    )
    assert "only its summary" in page(replace(whole, judgements=None))["missing"][0]
    assert "no verdict" in page(replace(whole, reply=None, judgements=()))["missing"][0]
    nothing = replace(whole, judgements=(StoredJudgement("", None, Verdict(0.0)),))
    assert "Nothing had to be run" in page(nothing)["missing"][0]
    assert page(replace(whole, judgements=()))["tests"]["total"] == 0


def test_a_row_that_is_no_json_or_too_deep_is_told() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert "no JSON" in page(stored(judged(OK), row={"deep": deep}))["task"]["text"]
    assert "NaN" in page(stored(judged(OK), row={"number": float("nan")}))["task"]["text"]


@pytest.mark.parametrize(
    ("row", "index", "shown"),
    [
        ({"unit_tests": {"inputs": ["a", [1]], "outputs": ["b"]}}, 1, ("[1]", None)),
        ({"unit_tests": {"inputs": "ab", "outputs": None}}, 0, (None, None)),
        ({"base_input": [[1, 2]], "plus_input": [[3]]}, 1, ("[3]", None)),
        ({"test": "def check(candidate): ..."}, 0, (None, None)),
        ({}, 0, (None, None)),
    ],
)
def test_inputs_are_those_of_the_row(row: Any, index: int, shown: tuple[str | None, str | None]) -> None:
    assert shown_of(row, index) == shown
