"""What of a verify the radar is told."""

from __future__ import annotations

from dataclasses import replace

from sandbox_gym.contract import InvertedTests, Verdict
from sandbox_gym.journal import Entry
from sandbox_gym.server.nemo_gym.verify_recorder import verified_of
from tests.journal.entries import entry, no_verdict


def _with(*verdicts: Verdict) -> Entry:
    made = replace(entry(row={"task_id": "repo-7", **entry().source.row}), tenant="trainer", label="repo-7")
    return replace(made, judgements=tuple(replace(made.judgements[0], verdict=verdict) for verdict in verdicts))


def test_signs_of_every_judgement_count() -> None:
    first = Verdict(1.0, tamper=("pytest_patched",), evidence={"pytest_patched": "seen"}, integrity="in_process")
    second = Verdict(0.0, tamper=("channel_forged",), inverted=InvertedTests(variants=3, failed=3, unchanged=2))
    told = verified_of(_with(first, second))
    assert (told.task, told.tenant, told.in_process, told.masked) == ("repo-7", "trainer", True, False)
    assert told.signs == {"pytest_patched": "seen", "channel_forged": ""}
    assert told.inverted == "held"


def test_inverted_tests_are_told_by_how_they_ended() -> None:
    survived = Verdict(0.0, tamper=("inverted_test_survived",), inverted=InvertedTests(variants=3, failed=2))
    none = Verdict(1.0, inverted=InvertedTests(why_none="no assertion"))
    assert [verified_of(_with(one)).inverted for one in (survived, none, Verdict(1.0))] == ["failed", "none", ""]


def test_no_verdict_is_masked() -> None:
    told = verified_of(no_verdict())
    assert (told.masked, dict(told.signs), told.in_process) == (True, {}, False)
