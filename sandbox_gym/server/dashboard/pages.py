"""One verify as documents for a page: all text from outside sanitized, every list and every text bounded. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from sandbox_gym.contract import (
    CONTEST_CODES,
    CheckedOutcome,
    DialogueOutcome,
    Outcome,
    StepOutcome,
    TestResult,
    TestStatus,
    Verdict,
    earlier_passes,
)
from sandbox_gym.journal import Stored
from sandbox_gym.observe.sanitize import Shown, inert_bytes, sanitized, sanitized_text
from sandbox_gym.server.dashboard.shapes import RunShown, ShownText, VerdictShown
from sandbox_gym.server.protocol.wire import Document

PAGE: Final = 200
"""Tests, and runs, of one answer."""
TEXT_CHARS: Final = 64_000
OUTPUT_BYTES: Final = 32_000
_REASON: Final = 600
_FEW: Final = 50


def shown(text: Shown) -> ShownText:
    return {"text": text.text, "total": text.total, "cut": text.cut, "unit": text.unit}


def verdict_page(stored: Stored, *, where: str, start: int = 0) -> VerdictShown:
    """Everything but outputs, which are asked for one by one; tests and runs from number `start` on."""
    summary, source, reply = stored.summary, stored.source, stored.reply
    last = stored.judgements[-1] if stored.judgements else None
    verdict = last.verdict if last else None
    code = reply.get("extracted_model_code") if reply is not None else None
    return {
        "id": summary.request_id,
        "where": where,
        "missing": list(_missing(stored)),
        "facts": _facts(stored, verdict),
        "timings_s": {sanitized(name, 40): seconds for name, seconds in summary.timings_s.items()},
        "tamper": [
            {"sign": sanitized(sign), "evidence": sanitized(verdict.evidence.get(sign, "") if verdict else "", _REASON)}
            for sign in summary.tamper[:_FEW]
        ],
        "groups": [
            {"name": sanitized(group.name), "points": group.points, "of": group.of}
            for group in (verdict.groups[:_FEW] if verdict else ())
        ],
        "task": _json_text(source.row) if source.row else None,
        "settings": _json_text(source.settings),
        "answer": shown(sanitized_text(source.answer, TEXT_CHARS)) if source.answer else None,
        "code": shown(sanitized_text(code, TEXT_CHARS)) if isinstance(code, str) and code != source.answer else None,
        "reply": _json_text(_rest_of(reply)) if reply is not None else None,
        "tests": _tests(stored, verdict, start),
        "runs": _runs(stored, start),
        "can_rejudge": reply is not None and stored.judgements is not None,
    }


def _missing(stored: Stored) -> Sequence[str]:
    if stored.judgements is None and not stored.source.row:
        return ["This verify was too long to keep in memory, and no journal has it: only its summary is left."]
    if stored.judgements is None:
        return ["Its outputs were longer than journal_state_mb: they are not on record, so it can't be judged again."]
    if stored.reply is None:
        return ["There was no verdict: nothing to judge again, and no outputs of runs that were lost."]
    if not any(judged.state is not None for judged in stored.judgements):
        return ["Nothing had to be run for this verdict."]
    return []


def _facts(stored: Stored, verdict: Verdict | None) -> Document:
    summary = stored.summary
    return {
        "server": sanitized(summary.server),
        "verifier": sanitized(summary.verifier),
        "provider": sanitized(summary.provider),
        "isolation": sanitized(summary.isolation),
        "integrity": sanitized(summary.integrity),
        "image": sanitized(summary.image),
        "reward": summary.reward,
        "failure_reason": sanitized(summary.failure_reason, _REASON),
        "failure_kind": sanitized(summary.failure_kind),
        "contest": verdict.contest if verdict and verdict.tests else "",
        "decided_by": sanitized(verdict.decided_by) if verdict else "",
        "attempts": summary.attempts,
        "judgements": len(stored.judgements or ()),
        "started_at": summary.started_at,
        "finished_at": summary.finished_at,
        "task_digest": summary.task_digest,
        "answer_digest": summary.answer_digest,
        "limits": {sanitized(name, 40): value for name, value in summary.limits.items()},
    }


def _json_text(value: Mapping[str, object]) -> ShownText:
    """JSON, indented; a document that can't be shown so (nested too deep) is replaced by a note."""
    try:
        text = json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = "(no JSON that can be shown)"
    return shown(sanitized_text(text, TEXT_CHARS))


def _rest_of(reply: Mapping[str, object]) -> Mapping[str, object]:
    """The reply's own fields; the verdict and the answer stand elsewhere on the page."""
    elsewhere = ("verdict", "extracted_model_output", "extracted_model_code", "model_patch")
    return {name: value for name, value in reply.items() if name not in elsewhere}


def _tests(stored: Stored, verdict: Verdict | None, start: int) -> Document:
    tests = verdict.tests if verdict else ()
    joined = bool(tests) and _joined(stored)
    rows = [_test(test, len(stored.judgements or ()) - 1 if joined else None) for test in tests[start : start + PAGE]]
    return {"total": len(tests), "start": start, "page": PAGE, "rows": rows}


def _test(test: TestResult, judgement: int | None) -> Document:
    """`judgement`: where the run of the same number is the test's own."""
    return {
        **asdict(test),
        "status": test.status.value,
        "contest": CONTEST_CODES[test.status],
        "reason": sanitized(test.reason, _REASON),
        "judgement": judgement,
    }


def _joined(stored: Stored) -> bool:
    """Whether each test has a run of its own; those that early stop left out have none at the end."""
    last = stored.judgements[-1] if stored.judgements else None
    if last is None or last.state is None:
        return False
    runs, tests = len(last.state.outcomes), last.verdict.tests
    return runs <= len(tests) and all(test.status is TestStatus.SKIPPED for test in tests[runs:])


def _runs(stored: Stored, start: int) -> Document:
    """Every program that ran, unless the tests stand for them."""
    rows = []
    for number, judged in enumerate(stored.judgements or ()):
        state = judged.state
        if state is None:
            continue
        rows += [_run(number, f"build:{i}", f"build {i + 1}", build) for i, build in enumerate(state.builds)]
        if number == len(stored.judgements or ()) - 1 and _joined(stored):
            continue
        rows += [
            _run(number, str(i), f"run {i + 1}", outcome)
            for i, outcome in enumerate(state.outcomes)
            if outcome is not None
        ]
    return {"total": len(rows), "start": start, "page": PAGE, "rows": rows[start : start + PAGE]}


def _run(judgement: int, place: str, name: str, outcome: StepOutcome) -> Document:
    own = parts_of(outcome)[0][1]
    return {
        "judgement": judgement,
        "place": place,
        "name": name if judgement == 0 else f"{name}, judgement {judgement + 1}",
        "status": own.status.value,
        "cpu_time_s": own.cpu_time_s,
        "wall_time_s": own.wall_time_s,
        "peak_memory_bytes": own.peak_memory_bytes,
    }


def parts_of(outcome: StepOutcome) -> Sequence[tuple[str, Outcome]]:
    """The programs of one step, the answer's first; those of earlier passes last."""
    earlier = [
        part
        for number, one in enumerate(earlier_passes(outcome), 1)
        for part in ((f"the answer's program, pass {number}", one.answer), (f"the checker, pass {number}", one.checker))
    ]
    if isinstance(outcome, DialogueOutcome):
        return [("the answer's program", outcome.candidate), ("the test's program", outcome.asker), *earlier]
    if isinstance(outcome, CheckedOutcome):
        checker = [("the checker", outcome.checker)] if outcome.checker is not None else []
        return [("the answer's program", outcome.answer), *checker, *earlier]
    return [("the program", outcome)]


def run_page(stored: Stored, judgement: int, place: str) -> RunShown | None:
    """What one run printed, and what it was given and should have printed where the row says so; None: no such run."""
    judgements = stored.judgements or ()
    state = judgements[judgement].state if 0 <= judgement < len(judgements) else None
    number = place.removeprefix("build:")
    if state is None or not number.isdecimal() or len(number) > 9:
        return None
    index, builds = int(number), place != number
    outcomes: Sequence[StepOutcome | None] = state.builds if builds else state.outcomes
    outcome = outcomes[index] if index < len(outcomes) else None
    given = expected = None
    if not builds and _joined(stored) and judgement == len(judgements) - 1:
        given, expected = test_of(stored.source.row, index)
    parts = [] if outcome is None else [_part(name, each) for name, each in parts_of(outcome)]
    return {
        "given": None if given is None else shown(sanitized_text(given, OUTPUT_BYTES)),
        "expected": None if expected is None else shown(sanitized_text(expected, OUTPUT_BYTES)),
        "parts": parts,
    }


def _part(name: str, outcome: Outcome) -> Document:
    streams = {"stdout": outcome.stdout, "stderr": outcome.stderr, "channel": outcome.channel}
    return {
        "name": name,
        "status": outcome.status.value,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "cpu_time_s": outcome.cpu_time_s,
        "wall_time_s": outcome.wall_time_s,
        "peak_memory_bytes": outcome.peak_memory_bytes,
        "detail": sanitized(outcome.detail, _REASON),
        "tamper": [sanitized(sign) for sign in outcome.tamper[:_FEW]],
        "streams": {stream: shown(inert_bytes(raw, OUTPUT_BYTES)) for stream, raw in streams.items()},
    }


def test_of(row: Mapping[str, object], index: int) -> tuple[str | None, str | None]:
    """(input, expected output) of a coding row's test; None for what the row does not say."""
    tests = row.get("unit_tests")
    if isinstance(tests, Mapping):
        return _text_at(tests.get("inputs"), index), _text_at(tests.get("outputs"), index)
    base, plus = row.get("base_input"), row.get("plus_input")
    if isinstance(base, list):
        return _text_at([*base, *(plus if isinstance(plus, list) else [])], index), None
    return None, None


def _text_at(values: object, index: int) -> str | None:
    if not isinstance(values, list) or index >= len(values):
        return None
    value = values[index]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
