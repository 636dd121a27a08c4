"""One row's audit: read, then probed, then its own solution judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sandbox_gym.audit.findings import Finding, Weakness, read
from sandbox_gym.contract import Answer, TestStatus, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import PYTHON, CodingTask, CodingVerifier, fenced, parse_task, task_fields
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests, FunctionTests, StdinTests

_OUTPUTS: Final = ("", "0", "1", "-1", "YES", "NO", "Yes", "No")
_VALUES: Final = ("None", "0", "1", "-1", "True", "False", "''", "[]", "{}")


@dataclass(frozen=True, slots=True)
class Probe:
    """An answer, and what it shows when it passes."""

    answer: str
    weakness: Weakness
    what: str


def probes(task: CodingTask) -> Iterator[Probe]:
    """For programs: constants, the commonest expected output, and the input itself. For functions the like."""
    tests = task.tests
    if isinstance(tests, StdinTests):
        common = Counter(tests.outputs).most_common(1)[0][0]
        for text in dict.fromkeys((common, *_OUTPUTS)):
            yield _constant(f"import sys\nsys.stdout.write({text!r})\n", repr(text[:40]))
        yield Probe(fenced("import sys\nsys.stdout.write(sys.stdin.read())\n"), Weakness.ECHO_PASSES, "its input")
        return
    name = tests.fn_name if isinstance(tests, FunctionTests) else tests.entry_point
    values = list(_VALUES)
    if isinstance(tests, FunctionTests):
        values.insert(0, Counter(map(repr, tests.outputs)).most_common(1)[0][0])
    for value in dict.fromkeys(values):
        yield _constant(f"def {name}(*args, **kwargs):\n    return {value}\n", value[:40])
    source = f"def {name}(*args, **kwargs):\n    return args[0] if args else None\n"
    yield Probe(fenced(source), Weakness.ECHO_PASSES, "its first argument")


def _constant(source: str, what: str) -> Probe:
    return Probe(fenced(source), Weakness.CONSTANT_PASSES, what)


def as_probed(task: CodingTask) -> CodingTask:
    """The task as probes answer it: in Python, stopping at the first test that they fail, all or nothing."""
    scoring = type(task.scoring)()
    return replace(task, language=PYTHON, early_stop=True, scoring=scoring)


GOLD_FIELDS = ("canonical_solution", "gold", "gold_solution", "reference_solution", "solution", "code")
GOLD_TRIES = 2
SLOW_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found of one row, and whether it brought a solution of its own."""

    findings: tuple[Finding, ...]
    has_gold: bool = False

    @property
    def weak(self) -> bool:
        return any(finding.severe for finding in self.findings)


async def audit_row(engine: Engine, row: Mapping[str, object], limits: Limits) -> Audit:
    """Raises nothing: what can't be known is a finding too."""
    try:
        task = parse_task(task_fields(row), limits=limits, early_stop=True)
    except RequestError as error:
        return Audit((Finding(Weakness.INVALID, str(error)),))
    found = list(read(task, _public(row)))
    gold = _gold(row, task)
    try:
        found += await _probed(engine, task)
        if gold is not None:
            found += await _gold_findings(engine, task, gold)
    except RequestError as error:
        found.append(Finding(Weakness.INVALID, str(error)))
    except Unavailable as error:
        found.append(Finding(Weakness.NO_VERDICT, f"{error.failure_kind}: {error}"))
    return Audit(tuple(found), gold is not None)


async def _probed(engine: Engine, task: CodingTask) -> list[Finding]:
    """The first probe of each kind that passes. A probe that passes an empty check shows it as well as any other."""
    found: dict[Weakness, Finding] = {}
    for probe in probes(task):
        if probe.weakness in found:
            continue
        verdict = await _judged(engine, as_probed(task), probe.answer)
        if verdict.reward == 1.0:
            found[probe.weakness] = Finding(probe.weakness, f"an answer that gives {probe.what} passes")
        failed = next((test for test in verdict.tests if test.status is TestStatus.CHECKER_FAILED), None)
        if failed is not None:
            found[Weakness.CHECKER_FAILS] = Finding(Weakness.CHECKER_FAILS, failed.reason[:200])
            break
    return list(found.values())


async def _gold_findings(engine: Engine, task: CodingTask, gold: str) -> list[Finding]:
    verdicts = [await _judged(engine, task, gold) for _ in range(GOLD_TRIES)]
    passed = [verdict.reward == 1.0 for verdict in verdicts]
    if not any(passed):
        bad = next((test for test in verdicts[0].tests if test.status is not TestStatus.PASSED), None)
        what = f"test {bad.index}: {bad.status}: {bad.reason[:160]}" if bad else verdicts[0].failure_reason
        return [Finding(Weakness.GOLD_FAILS, what)]
    if not all(passed):
        return [Finding(Weakness.GOLD_FLAKY, f"passed {sum(passed)} times of {len(passed)}")]
    slowest = max(test.cpu_time_s for verdict in verdicts for test in verdict.tests)
    if slowest > SLOW_SHARE * task.limits.cpu_time_s:
        return [Finding(Weakness.SLOW_GOLD, f"{slowest:.2f} s of {task.limits.cpu_time_s:g} s")]
    return []


async def _judged(engine: Engine, task: CodingTask, answer: str) -> Verdict:
    return (await engine.verify(CodingVerifier(), task, Answer(answer))).verdict


def _gold(row: Mapping[str, object], task: CodingTask) -> str | None:
    """The row's own solution as an answer: a code field of the row or of its metadata."""
    metadata = row.get("verifier_metadata")
    for holder in (metadata, row):
        for field in GOLD_FIELDS if isinstance(holder, dict) else ():
            code = holder.get(field) if isinstance(holder, dict) else None
            if isinstance(code, str) and code.strip():
                if isinstance(task.tests, CheckTests) and field == "canonical_solution":
                    code = task.tests.prompt + code  # HumanEval's continues the prompt
                return code if "```" in code else fenced(code, task.language)
    return None


def _public(row: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    metadata = row.get("verifier_metadata")
    for holder in (row, metadata):
        tests = holder.get("public_tests") if isinstance(holder, dict) else None
        if isinstance(tests, dict):
            inputs, outputs = tests.get("inputs"), tests.get("outputs")
            if isinstance(inputs, list) and isinstance(outputs, list):
                return tuple((str(given), str(expected)) for given, expected in zip(inputs, outputs, strict=False))
    return ()
