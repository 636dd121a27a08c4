"""The math verifier: math-verify, in a service's worker, decides what the pure rungs leave open.

Pure: planning and judging the same answer twice gives the same plan and the same verdict.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from sandbox_gym.contract import (
    Answer,
    Outcome,
    Plan,
    Query,
    Service,
    State,
    Status,
    StepOutcome,
    TestResult,
    TestStatus,
    Verdict,
)
from sandbox_gym.errors import Starved, Unavailable
from sandbox_gym.verifiers.bounded import Bounds, loads
from sandbox_gym.verifiers.math.context import found_in_text
from sandbox_gym.verifiers.math.expressions.tex import normalise
from sandbox_gym.verifiers.math.extract import answer_of_parts, extract_answer, plain_gold, searchable
from sandbox_gym.verifiers.math.ladder import decide
from sandbox_gym.verifiers.math.options import Decision
from sandbox_gym.verifiers.math.plain import last_math, plain_answer
from sandbox_gym.verifiers.math.rewrite import rewrite_pair
from sandbox_gym.verifiers.math.rungs.bases import has_base
from sandbox_gym.verifiers.math.rungs.caps import NAME as CAPS
from sandbox_gym.verifiers.math.rungs.caps import too_large
from sandbox_gym.verifiers.math.rungs.restated import restated
from sandbox_gym.verifiers.math.task import MathTask
from sandbox_gym.verifiers.math.tolerance import within
from sandbox_gym.verifiers.math.veto import veto

LIBRARY: Final = "math_verify"
EXTRACTION: Final = "extraction"
NO_ANSWER: Final = "no_answer"
WRONG: Final = "wrong_answer"
TOO_LARGE: Final = "too_large"
_REMEDY = "run `pip install 'sandbox-gym[math]'`, or `make images` for containers"
_REPLY = Bounds(size_bytes=1 << 20, depth=20, parts=10_000)
_STATUS = {
    Status.CPU_TIME_LIMIT: TestStatus.TIME_LIMIT,
    Status.MEMORY_LIMIT: TestStatus.MEMORY_LIMIT,
    Status.OUTPUT_LIMIT: TestStatus.OUTPUT_LIMIT,
}


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer extracted from a text, and the decision of the pure rungs; None leaves it to math-verify. `search`: the
    rules found no answer, and math-verify searches this text."""

    extracted: str | None
    decision: Decision | None = None
    search: str = ""


def ask(task: MathTask, text: str) -> Asked:
    """Extracts the answer and applies the pure rungs."""
    extracted = extract_answer(text, task.options)
    if extracted is None:
        return _ask_of_text(task, searchable(text, task.options))
    if within(task.relative_tolerance, plain_gold(task.expected_answer), extracted):
        return Asked(extracted, Decision(True, "tolerance", f"within {task.relative_tolerance:g}"))
    found = decide(task.expected_answer, extracted, task.options)
    if not (found and found.equal) and (parts := answer_of_parts(text, task.options)):
        of_parts = decide(task.expected_answer, parts, task.options)
        if of_parts and of_parts.equal:
            extracted, found = parts, of_parts
    given_back = _restated(task, extracted) if found and found.equal else None
    return Asked(extracted, given_back or found)


def _restated(task: MathTask, answer: str) -> Decision | None:
    return restated(task.question, plain_gold(task.expected_answer), answer)


def _ask_of_text(task: MathTask, search: str) -> Asked:
    """A text without a box. What it plainly says is its answer where the rungs call that equal, or where math-verify
    must not see it: it takes the numeral `(1011)_{2}` for a number of permutations."""
    candidate = _candidate(search) if search else ""
    if not search:
        return Asked(None)
    gold = plain_gold(task.expected_answer)
    found = decide(gold, candidate, task.options) if candidate else None
    if found and found.equal and found_in_text(gold, candidate, search, True, task.options) is None:
        return Asked(candidate, _restated(task, candidate) or found)
    if found and not found.equal and has_base(normalise(candidate)):
        return Asked(candidate, found)
    return Asked(None, too_large(gold, candidate or search.rpartition("\n")[2]), search)


class MathVerifier:
    """The ladder without a model's judgement. The answer's text is searched for its answer."""

    def plan(self, task: MathTask, answer: Answer) -> Plan:
        asked = ask(task, answer.text)
        if asked.decision is not None or (asked.extracted is None and not asked.search):
            return Plan(steps=(), image="math")
        candidate = asked.extracted or _candidate(asked.search)
        gold, theirs = rewrite_pair(plain_gold(task.expected_answer), candidate)
        request = {
            "gold": f"\\boxed{{{gold}}}",
            "answer": f"\\boxed{{{theirs}}}",
            **({"text": asked.search, "candidate": candidate} if asked.search else {}),
            "precision": task.options.decimal_places,
            "strict": task.options.strict_variables,
        }
        body = json.dumps(request).encode("ascii")
        return Plan((Query(LIBRARY, library_service(task.worker_memory_bytes), body, task.limits),), image="math")

    def passed(self, task: MathTask, index: int, outcome: StepOutcome) -> bool:
        return True

    def judge(self, task: MathTask, answer: Answer, plan: Plan, state: State) -> Verdict:
        """`decided_by` names the rung; empty where none decided, and `failure_reason` then says what stopped it:
        `gold_...` where the row's own answer did. Raises Starved where the time ran out for lack of CPU, not because of
        the answer."""
        asked = ask(task, answer.text)
        if asked.decision is not None:
            return _by_rung(asked.decision, state)
        if asked.extracted is None and not asked.search:
            return Verdict(0.0, failure_reason=NO_ANSWER, decided_by=EXTRACTION, provider=state.provider)
        outcome = state.outcomes[0] if state.outcomes else None
        if not isinstance(outcome, Outcome):
            raise Unavailable("math-verify was not asked")
        equal = _equal(outcome)
        if equal is None:
            return _undecided(outcome, state)
        if asked.search:
            return _in_text(task, asked.search, equal, state, outcome)
        gold, answered = plain_gold(task.expected_answer), asked.extracted or ""
        vetoed = (veto(gold, answered, task.options) or _restated(task, answered)) if equal else None
        if vetoed is not None:
            return _verdict(False, "veto", vetoed.why, state, outcome)
        return _verdict(equal, LIBRARY, "equal" if equal else "not equal", state, outcome)

    def extracted(self, task: MathTask, answer: Answer, state: State | None) -> str | None:
        """The answer that was judged: from a box, or found in the text by math-verify. `state`: None where nothing
        ran."""
        asked = ask(task, answer.text)
        outcome = state.outcomes[0] if state and state.outcomes else None
        found = searched(outcome) if asked.search and isinstance(outcome, Outcome) else None
        return found[0] if found else asked.extracted


def _candidate(text: str) -> str:
    """What math-verify will probably find in a text; empty where that is unclear."""
    return plain_answer(text) or last_math(text) or ""


def searched(outcome: Outcome) -> tuple[str, str] | None:
    """What math-verify found in a text: as it reads it, and as it stands in the text. None: nothing found, or
    unknown."""
    try:
        reply = loads(outcome.stdout, _REPLY)
    except ValueError:
        return None
    answers = reply.get("answer") if isinstance(reply, dict) else None
    texts = [each for each in answers if isinstance(each, str) and each] if isinstance(answers, list) else []
    return (texts[0], texts[-1]) if texts else None


def _in_text(task: MathTask, text: str, equal: bool, state: State, outcome: Outcome) -> Verdict:
    found = searched(outcome)
    if found is None:
        return replace(_verdict(False, EXTRACTION, "no answer in the text", state, outcome), failure_reason=NO_ANSWER)
    ours = found_in_text(plain_gold(task.expected_answer), found[1], text, equal, task.options)
    ours = (_restated(task, found[1]) if equal or (ours and ours.equal) else None) or ours
    if ours is None:
        return _verdict(equal, LIBRARY, "equal" if equal else "not equal", state, outcome)
    return _verdict(ours.equal, ours.rung if ours.equal else "veto", ours.why, state, outcome)


@cache
def library_service(worker_memory_bytes: int) -> Service:
    """math-verify behind forked workers."""
    boxed = files("sandbox_gym.verifiers.math.boxed")
    names = {"main.py": "library.py", "identities.py": "identities.py"}
    sources = {name: boxed.joinpath(file).read_bytes() for name, file in names.items()}
    return Service("math-verify", sources, "math", worker_memory_bytes, _REMEDY)


def _by_rung(decision: Decision, state: State) -> Verdict:
    if decision.rung == CAPS:
        result = TestResult(0, TestStatus.WRONG_ANSWER, decision.why)
        return Verdict(0.0, (result,), TOO_LARGE, provider=state.provider)
    return _verdict(decision.equal, decision.rung, decision.why, state)


def _verdict(equal: bool, rung: str, why: str, state: State, outcome: Outcome | None = None) -> Verdict:
    result = TestResult(
        0,
        TestStatus.PASSED if equal else TestStatus.WRONG_ANSWER,
        why,
        score=float(equal),
        cpu_time_s=outcome.cpu_time_s if outcome else 0.0,
        wall_time_s=outcome.wall_time_s if outcome else 0.0,
    )
    return Verdict(
        float(equal),
        (result,),
        "" if equal else WRONG,
        isolation=state.isolation,
        provider=state.provider,
        decided_by=rung,
    )


def _undecided(outcome: Outcome, state: State) -> Verdict:
    if outcome.status is Status.WALL_TIME_LIMIT:
        raise Starved(f"math-verify had {outcome.cpu_time_s:.1f} s of CPU time in {outcome.wall_time_s:.1f} s")
    whose = (
        "answer" if outcome.detail.startswith(("gold", "answer", "nothing")) else "gold"
    )  # the last phase that was through
    status = "crashed" if outcome.status in (Status.OK, Status.RUNTIME_ERROR) else outcome.status.value
    why = f"math-verify on the {whose}: {status} {outcome.detail}".strip()
    result = TestResult(
        0,
        _STATUS.get(outcome.status, TestStatus.RUNTIME_ERROR),
        why,
        cpu_time_s=outcome.cpu_time_s,
        wall_time_s=outcome.wall_time_s,
    )
    reason = f"{whose}_{status}"
    return Verdict(0.0, (result,), reason, isolation=state.isolation, provider=state.provider)


def _equal(outcome: Outcome) -> bool | None:
    """The service's result; None where it ended before it had one."""
    word = outcome.detail.partition(" ")[0]
    if word in ("equal", "unequal", "nothing"):
        return word == "equal"
    return None
