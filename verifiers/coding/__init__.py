"""Coding answers: programs judged by their output, functions by their values, check functions across two boxes."""

from __future__ import annotations

from random import Random

from sandbox_gym.contract import Answer, FollowUp, Judgement, Plan, State, StepOutcome, Verdict
from sandbox_gym.verifiers.coding.answers.extract import blocks_of, extract_code, fenced, has_reasoning_format_violation
from sandbox_gym.verifiers.coding.answers.fenced_files import fenced_files
from sandbox_gym.verifiers.coding.answers.folders import Sources, is_path, main_file
from sandbox_gym.verifiers.coding.functions.split import why_not_isolated
from sandbox_gym.verifiers.coding.judging.asserted import is_unsettled, run_as_dialogue
from sandbox_gym.verifiers.coding.judging.judge import IN_PROCESS, Judged, differing_alone, judge, passes
from sandbox_gym.verifiers.coding.judging.processes import confirmed
from sandbox_gym.verifiers.coding.judging.report import result_codes, result_metadata
from sandbox_gym.verifiers.coding.languages import LANGUAGES, PYTHON, Language, known_language, language_named
from sandbox_gym.verifiers.coding.languages.java import JAVA_WITH_TUPLES
from sandbox_gym.verifiers.coding.languages.language import literally
from sandbox_gym.verifiers.coding.plan import make_plan
from sandbox_gym.verifiers.coding.published import arguments, results, task_fields, unpacked
from sandbox_gym.verifiers.coding.running.checkers import CHECKER_MAX_MEMORY_MB, CHECKER_MAX_TIME_S, MAX_PASSES
from sandbox_gym.verifiers.coding.running.fetching import STARTER, told_apart
from sandbox_gym.verifiers.coding.running.notebook import cells_of, notebook_plan
from sandbox_gym.verifiers.coding.running.solo import program_outcome, program_plan
from sandbox_gym.verifiers.coding.task import CodingTask, parse_task


class CodingVerifier:
    """The coding verifier: pure functions under the names the engine calls."""

    def __init__(self) -> None:
        self._known = Judged()

    def plan(self, task: CodingTask, answer: Answer) -> Plan:
        return make_plan(task, answer)

    def passed(self, task: CodingTask, index: int, outcome: StepOutcome) -> bool:
        return passes(task, index, outcome, self._known)

    def judge(self, task: CodingTask, answer: Answer, plan: Plan, state: State) -> Verdict:
        return judge(task, plan, state, self._known)

    def follow_up(self, task: CodingTask, answer: Answer, first: Judgement, random: Random) -> FollowUp[CodingTask]:
        """A generator, so that long replies are read where the first step is taken, beside the event loop."""
        if is_unsettled(task, first):
            return (yield from run_as_dialogue(task))
        differing = differing_alone(task, first.state, self._known) if first.state is not None else []
        return (yield from confirmed(task, first, differing))
