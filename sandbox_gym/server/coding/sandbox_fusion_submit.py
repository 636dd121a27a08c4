"""SandboxFusion's /submit over tests that come with it or that a served dataset has: our judge, its answer."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from typing_extensions import TypedDict

from sandbox_gym import judging
from sandbox_gym.contract import Answer, Outcome, State, Status, TestStatus, Verdict, answers_outcome
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.server.coding.failing_tests import (
    ENDS_ITSELF,
    borrowed,
    changed,
    could_forge,
    expecting_other,
    with_a_failure,
)
from sandbox_gym.server.coding.sandbox_fusion import FusionFailed, FusionRan, FusionTools, ran, sandbox_error, tightened
from sandbox_gym.server.coding.sandbox_fusion_datasets import (
    FusionDatasets,
    FusionRow,
    Tests,
    labels_of,
    language_of,
    tests_of,
)
from sandbox_gym.server.coding.sandbox_fusion_extract import (
    Extracted,
    Kind,
    extracted,
    extracted_by,
    fenced_language,
    marked_as,
)
from sandbox_gym.server.coding.sandbox_fusion_programs import as_program, program_with
from sandbox_gym.server.protocol.exchange import ToolFailed
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.verdicts import VerdictDocument, verdict_document
from sandbox_gym.server.tools.shapes import tool_method
from sandbox_gym.verifiers.coding import CodingVerifier, Language, fenced, known_language, parse_task

Program = Callable[[str], str]
"""Of a test, the whole program with the answer."""
SHOWN_BYTES: Final = 64 * 1024
MANY: Final = 2
WITH_OTHERS: Final = "the program ends well with other tests, too"
OWN_FAILS: Final = "the program ends well with a changed test that the row's own solution fails"
_SKIPPED: Final = {
    "python": re.compile(r"^OK \(.*skipped=", re.MULTILINE),
    "pytest": re.compile(r"^=*.*\b[1-9]\d* (skipped|xfailed|deselected)\b.* in [\d.]+s", re.MULTILINE),
    "junit": re.compile(r"\[ +[1-9]\d* tests (skipped|aborted) +\]"),
}
"""How a runner's summary says that a test did not come to its end: an answer can see to that."""
_FAILED: Final = {
    "racket": re.compile(r"^(?:FAILURE|ERROR)$", re.MULTILINE),
    "verilog": re.compile(r"\bMismatches: *[1-9]"),
}
"""How a test says that it failed which then ends well: rackunit's checks, and VerilogEval's test benches."""
_MAY_SKIP: Final = re.compile("skip|xfail|disabled|assum|abort", re.IGNORECASE)
"""In a row's own test: it knows why."""


class FusionSubmitRequest(FusionRow):
    """SandboxFusion's SubmitRequest."""

    completion: str


class FusionTest(TypedDict):
    """One test: whether it passed, its run, and the case as it came."""

    passed: bool
    exec_info: FusionRan
    test_info: object


class FusionVerdict(TypedDict):
    """What SandboxFusion has no field for; no verdict of a program whose exit decides."""

    reward: float
    verdict: VerdictDocument | None


class FusionResult(TypedDict):
    """SandboxFusion's EvalResult."""

    id: str | int
    accepted: bool
    extracted_code: str
    full_code: str | None
    test_code: str | None
    tests: list[FusionTest]
    extracted_type: Kind | None
    extra: FusionVerdict


class FusionSubmit:
    """The judge, under the server's caps."""

    def __init__(self, limits: Limits, datasets: FusionDatasets, tools: FusionTools) -> None:
        self._limits, self._datasets, self._tools = limits, datasets, tools

    @tool_method(FusionSubmitRequest, FusionResult)
    async def submit(self, engine: Engine, call: ToolCall, wanted: FusionSubmitRequest) -> FusionResult:
        """Judge a completion by the tests that come with it, as SandboxFusion does."""
        config = wanted.config
        row = await self._datasets.row(wanted.dataset, wanted.id, config)
        told = language_of(row, config, wanted.dataset)
        language = known_language(told, "config.language")
        tests = await judging.asked(partial(tests_of, row, language.name, wanted, wanted.completion))
        if told is None and tests.cases:
            language = await judging.asked(partial(fenced_language, wanted.completion, language))
        if tests.answer is not None:
            answer = Extracted(tests.answer, None if tests.answer else "empty")
        elif config.custom_extract_logic:
            answer = await extracted_by(config.custom_extract_logic, wanted.completion, self._tools, engine, call)
        else:
            written = marked_as(labels_of(row).get("programming_language"), language)
            find = partial(extracted, program=bool(tests.cases), extra=config.extra)
            find = partial(find, test=tests.source)
            answer = await judging.asked(partial(find, wanted.completion, written))
        language = as_program(language, tests.source or answer.code)
        if tests.source:
            return await self._run_with(tests, answer, _own_solution(row), language, engine, call, wanted)
        limits = tightened(self._limits, config)
        metadata = {"language": language.name, **tests.metadata}
        parse = partial(parse_task, metadata, limits=limits, early_stop=not config.extra.run_all_cases)
        task = await judging.asked(parse)
        try:
            text = await judging.asked(partial(_answer, tests.preface(answer.code), wanted.completion, language))
            verification = await engine.verify(CodingVerifier(), task, Answer(text), caller=config.caller(call.caller))
        except Unavailable as error:
            raise sandbox_error(error) from error
        verdict, state = verification.verdict, verification.state
        if verdict.failure_reason == TestStatus.CHECKER_FAILED:
            failed: FusionFailed = {"status": "SandboxError", "message": "the row's own checker failed"}
            raise ToolFailed(failed, 503, 60)
        return {
            "id": wanted.id,
            "accepted": verdict.reward == 1.0,
            "extracted_code": answer.code,
            "full_code": None,
            "test_code": None,
            "tests": _tests(verdict, state, tests.cases),
            "extracted_type": answer.kind,
            "extra": {"reward": verdict.reward, "verdict": verdict_document(verdict)},
        }

    async def _run_with(
        self,
        tests: Tests,
        answer: Extracted,
        own: str,
        language: Language,
        engine: Engine,
        call: ToolCall,
        wanted: FusionSubmitRequest,
    ) -> FusionResult:
        """The answer and the row's test as one program: right where it ends well, as there, and badly where its test
        must fail. `own`: the row's own solution, if it has one."""
        config = wanted.config
        code = repr(answer.code) if config.extra.repr_code else tests.preface(answer.code)
        prepared = partial(program_with, code, tests.source, language.name)
        if not config.extra.repr_code:
            prepared = partial(prepared, prompt=tests.prompt, stops=() if answer.kind == "fenced" else tests.stops)
        program = await judging.asked(prepared) if tests.answer is None else str  # a prediction stands in it already
        whole = program(tests.source)
        arguments = {"code": whole, "language": language.name, "files": tests.files or {}}
        times = {"compile_timeout": config.compile_timeout, "run_timeout": config.run_timeout}
        done = await self._tools.run_test(engine, replace(call, arguments={**arguments, **times}))
        accepted = _passed(done, language.name)
        if accepted and _told(_SKIPPED, done, language.name) and not _MAY_SKIP.search(tests.source):
            accepted, done = False, {**done, "message": "a test was skipped, which does not skip itself"}
        if accepted and tests.answer is None:
            again = replace(call, arguments={**arguments, **times})
            solved = partial(program_with, tests.preface(own), tests.source, language.name, prompt=tests.prompt)
            solution = await judging.asked(solved) if own and not config.extra.repr_code else None
            why = await self._forged(code, (program, solution), tests.source, language, engine, again)
            accepted, done = not why, {**done, "message": why}
        return {
            "id": wanted.id,
            "accepted": accepted,
            "extracted_code": answer.code,
            "full_code": whole,
            "test_code": tests.source,
            "tests": [{"passed": accepted, "exec_info": done, "test_info": None}],
            "extracted_type": answer.kind,
            "extra": {"reward": float(accepted), "verdict": None},
        }

    async def _forged(
        self,
        answer: str,
        programs: tuple[Program, Program | None],
        test: str,
        language: Language,
        engine: Engine,
        call: ToolCall,
    ) -> str:
        """Why the answer ends well without its test; nothing where it does not. `programs`: of it, and of the row's own
        solution.

        A failure behind the test is not reached by an answer that ended the program before, nor by a test that ends it
        itself. A test that says what it expects or claims must fail where it expects or claims something else, and
        pass once more. Where it does not say, and the answer names what could forge its test's end, a changed test must
        fail. Each is compiled anew: were the true one's program kept, an answer could tell it by its age.
        """
        program, own = programs

        async def passes(code: str) -> bool | None:
            done = await self._tools.run_anew(engine, replace(call, arguments={**call.arguments, "code": code}))
            return None if done["run_result"] is None else _passed(done, language.name)

        async def own_fails(other: str) -> bool:
            return own is not None and await passes(own(other)) is False and bool(await passes(own(test)))

        if language.name == "verilog" and (name := await judging.asked(partial(borrowed, answer, test))):
            return f"the answer uses {name!r}, which is the test's own"
        failing = await judging.asked(partial(with_a_failure, program, test, language.name))
        unreached = failing is not None and bool(await passes(failing))
        if unreached and not ENDS_ITSELF.search(test):
            return "the program ends well with a failing test, too: it ends before its test"
        others = await judging.asked(partial(expecting_other, test, language.name))
        if others:
            tests = [(other, False) for other in others]
            tests.insert(secrets.randbelow(min(len(others), MANY) + 1), (test, True))
            most = len(others) if own is not None and could_forge(answer) else MANY
            why = await _disproved(tests, lambda one: passes(program(one)), own_fails, most)
            if why is not None and (why != WITH_OTHERS or len(others) > 1 or could_forge(answer)):
                return why  # a single place may be none of the test's
        else:
            why = None
        if why is None and not unreached and not could_forge(answer):
            return ""
        variants = await judging.asked(partial(changed, test, language.name))
        for variant in variants:
            if await passes(program(variant)) is False:
                return ""
        return WITH_OTHERS if variants or unreached else ""


async def _disproved(
    tests: Sequence[tuple[str, bool]],
    passes: Callable[[str], Awaitable[bool | None]],
    own_fails: Callable[[str], Awaitable[bool]],
    most: int,
) -> str | None:
    """Why an answer does not count, by runs of its true test among tests that expect something else; nothing where the
    true one passes, and `most` of the others fail before as many pass: one place of a test may be taken for an expected
    value that is none, if the row's own solution does not fail there. What does not compile says nothing: None where
    none of the others does."""
    failed = passed = seen = 0
    for test, is_true in tests:
        ended_well = await passes(test)
        if is_true and not ended_well:
            return "the program passes its test at one time and fails it at another"
        if ended_well and not is_true and await own_fails(test):
            return OWN_FAILS
        seen += is_true
        failed, passed = failed + (ended_well is False), passed + (ended_well is True and not is_true)
        if seen and most in (failed, passed):
            break
    if not passed and not failed:
        return None
    return WITH_OTHERS if passed and passed >= failed else ""


def _own_solution(row: Mapping[str, object]) -> str:
    """A row's, as HumanEval-X and MBXP publish it; empty where it has none."""
    held = (one.get("canonical_solution") for one in (row, labels_of(dict(row))))
    return next((text for text in held if isinstance(text, str) and text.strip()), "")


def _answer(code: str, completion: str, language: Language) -> str:
    """A text from which the judge takes this code."""
    try:
        return fenced(code, language) if code.strip() else ""
    except RequestError:
        return completion


def _passed(done: FusionRan, language: str) -> bool:
    """Whether a program ended well, and its test did not say that it failed."""
    return done["status"] == "Success" and not _told(_FAILED, done, language)


def _told(patterns: Mapping[str, re.Pattern[str]], done: FusionRan, language: str) -> bool:
    """Whether what a run printed has what is looked for in this language."""
    run, pattern = done["run_result"], patterns.get(language)
    return bool(run and pattern and pattern.search(run["stdout"] + run["stderr"]))


def _tests(verdict: Verdict, state: State | None, cases: Sequence[object]) -> list[FusionTest]:
    """Each test that was run, or that its program's compiler kept from it."""
    tests: list[FusionTest] = []
    for test in verdict.tests:
        outcome = None if state is None else _outcome(state, test.index)
        if state is None or outcome is None or test.status is TestStatus.SKIPPED:
            continue
        info = ran(state, outcome, compiled=all(outcome is not built for built in state.builds)).document({})
        info["message"] = test.reason
        result = info["run_result"]
        if result is not None:
            result["stdout"], result["stderr"] = result["stdout"][:SHOWN_BYTES], result["stderr"][:SHOWN_BYTES]
        case = cases[test.index] if test.index < len(cases) else None
        tests.append({"passed": test.status is TestStatus.PASSED, "exec_info": info, "test_info": case})
    return tests


def _outcome(state: State, index: int) -> Outcome | None:
    """What the answer's program did in a test, or the compiler that failed before it."""
    step = state.outcomes[index] if index < len(state.outcomes) else None
    if step is not None:
        return answers_outcome(step)
    return next((built for built in state.builds if built.status is not Status.OK), None)
