"""The whole way of an answer with math-verify in this process: extraction, rungs, the library, veto. For tests only;
the product runs the same service program in a sandbox."""

from __future__ import annotations

import importlib.util
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

import sandbox_gym
from sandbox_gym.contract import Answer, Outcome, Query, State, Status
from sandbox_gym.verifiers.math import (
    MathOptions,
    MathTask,
    MathVerifier,
    decide,
    last_box,
    plain_gold,
    rewrite_pair,
    strip_delimiters,
    veto,
)

logging.getLogger("math_verify").setLevel(logging.CRITICAL)
SUITE = Path(__file__).parent / "data" / "math_verify_suite.jsonl"
PAIRS = SUITE.with_name("pairs.jsonl")
_BARE_CHARS = 40


@dataclass(frozen=True, slots=True)
class Found:
    """Whether the two are equal, and who said so (a rung's name, `math-verify`, `veto`, `none`), with the reason."""

    equal: bool
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class SuiteCase:
    """A row of math-verify's own tests, and how its test calls the library."""

    test: str
    gold: str
    pred: str
    expected: bool
    targets: tuple[str, ...]
    precision: int
    strict: bool
    set_relation: bool


def suite() -> list[SuiteCase]:
    rows = [json.loads(line) for line in SUITE.read_text(encoding="utf-8").splitlines()]
    return [
        SuiteCase(
            row["test"], row["gold"], row["pred"], bool(row["expected"]), tuple(row["targets"]), row["precision"],
            row["strict"], row["set_relation"],
        )
        for row in rows
    ]  # fmt: skip


def _service() -> Callable[[bytes, Callable[[str], None]], bytes]:
    """The service's own `handle`, its worker pool left out."""
    root = Path(sandbox_gym.__file__).parent
    rooms = [str(root / "guest" / room) for room in ("services", "protocol", "", "runs")]
    rooms.append(str(root / "verifiers/math/boxed"))
    sys.path += rooms
    try:
        spec = importlib.util.spec_from_file_location("math_library", root / "verifiers/math/boxed/library.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        for room in rooms:
            sys.path.remove(room)
    handle: Callable[[bytes, Callable[[str], None]], bytes] = module.handle
    return handle


_HANDLE = _service()


def judged(gold: str, response: str, options: MathOptions) -> Found:
    """A response against a gold, as the verifier takes them."""
    return judged_task(MathTask(gold, options=options), response)


def judged_task(task: MathTask, response: str) -> Found:
    """The same for a task, which may have a question."""
    answer = Answer(response)
    plan = MathVerifier().plan(task, answer)
    outcomes = tuple(_outcome(step) for step in plan.steps if isinstance(step, Query))
    verdict = MathVerifier().judge(task, answer, plan, State(outcomes, "none", "test"))
    by = {"math_verify": "math-verify", "extraction": "none"}.get(verdict.decided_by, verdict.decided_by)
    return Found(verdict.reward == 1.0, by, verdict.failure_reason)


def _outcome(query: Query) -> Outcome:
    phases: list[str] = []
    body = _HANDLE(query.request, phases.append)
    return Outcome(Status.OK, stdout=body, detail=phases[-1])


def compared(gold: str, answer: str, options: MathOptions) -> Found:
    """An extracted answer against a gold."""
    decision = decide(gold, answer, options)
    if decision:
        return Found(decision.equal, decision.rung, decision.why)
    mine, theirs = rewrite_pair(plain_gold(gold), answer)
    texts = {"gold": f"\\boxed{{{mine}}}", "answer": f"\\boxed{{{theirs}}}"}
    request = {**texts, "precision": options.decimal_places, "strict": options.strict_variables}
    if not json.loads(_HANDLE(json.dumps(request).encode(), lambda phase: None))["equal"]:
        return Found(False, "math-verify", f"{mine} is not {theirs}")
    vetoed = veto(plain_gold(gold), answer, options)
    return Found(False, "veto", vetoed.why) if vetoed else Found(True, "math-verify", f"{mine} is {theirs}")


def library_alone(case: SuiteCase) -> bool:
    """What the library says of a suite row, called as its own test calls it."""
    configs = {"latex": LatexExtractionConfig(boxed_match_priority=0), "expr": ExprExtractionConfig()}
    targets = [configs[name] for name in case.targets if name in configs]
    targets = targets or [LatexExtractionConfig(), ExprExtractionConfig()]
    golds, predictions = (parse(text, targets, parsing_timeout=None) for text in (case.gold, case.pred))
    return bool(
        verify(golds, predictions, case.precision, strict=case.strict, allow_set_relation_comp=case.set_relation,
               timeout_seconds=None)
    )  # fmt: skip


def through_ladder(case: SuiteCase) -> Found:
    """A suite row through the ladder, where both sides hold one answer; whole texts without a box are the library's."""
    gold, answer = _bare(case.gold), _bare(case.pred)
    if gold is None or answer is None:
        return Found(library_alone(case), "library", "a text to search, not an answer")
    options = MathOptions(
        relation_as_interval=case.set_relation, decimal_places=case.precision, strict_variables=case.strict
    )
    return compared(gold, answer, options)


def _bare(text: str) -> str | None:
    """The one answer in a row's text: its only box, what its delimiters hold, or a short text by itself."""
    if text.count("\\boxed") > 1:
        return None
    if box := last_box(text):
        return box
    bare = strip_delimiters(text)
    short = "$" not in text and len(text) < _BARE_CHARS and " " not in text.strip()
    return bare if bare != text.strip() or short else None
