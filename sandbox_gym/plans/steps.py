"""One plan in the boxes that were leased for it: builds first, then steps, each in its place, until there is enough.

Owns the order of a plan's runs and which of two boxes each is for; knows neither pools, retries nor what a run earns.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import structlog

from sandbox_gym.contract import (
    Build,
    Check,
    Checked,
    CheckedOutcome,
    Dialogue,
    DialogueOutcome,
    Doubt,
    Outcome,
    PassOutcome,
    Plan,
    Run,
    SelfTest,
    State,
    Status,
    Step,
    StepOutcome,
    answers_outcome,
    answers_run,
    ends_plan,
)
from sandbox_gym.errors import BoxLost
from sandbox_gym.observe.runs import RunSpans
from sandbox_gym.plans.builds import Builds, build_key
from sandbox_gym.plans.passes import next_checked, next_dialogue, next_pass, past
from sandbox_gym.plans.starvation import (
    COMPILED_AGAIN,
    Doubted,
    QuietSlot,
    doubt_of_compiler,
    judged_by,
    may_go_aside,
    no_verdict,
    patient,
    spun,
)
from sandbox_gym.sandbox.sandbox import Sandbox

CHECKED: Final = 3
"""Failures of a shared process that are run again at once; a verifier may ask for more."""
_CHANCE: Final = secrets.SystemRandom()
_log = structlog.get_logger(__name__)


def boxes_for(plan: Plan) -> int:
    """One for the answer; a second where a test, a checker or a build must not share it."""
    apart = (isinstance(step, Dialogue | Checked) for step in plan.steps)
    return 2 if any(apart) or any(build.place == "judge" for build in plan.builds) else 1


@dataclass(slots=True, eq=False)
class PlanRun:
    """One try of a plan. `boxes[0]` is the answer's; `boxes[1]`, where there is one, never runs an answer."""

    plan: Plan
    boxes: Sequence[Sandbox]
    builds: Builds
    quiet: QuietSlot
    passed: Callable[[int, StepOutcome], Awaitable[bool]]
    doubted: bool = False
    """Another box has been tried before for a run whose end was in doubt."""
    _artifacts: dict[str, tuple[str, bytes]] = field(default_factory=dict, init=False)
    _provider: str = field(default="", init=False)
    _spans: RunSpans = field(default_factory=RunSpans, init=False)
    _stopped: list[int] = field(default_factory=list, init=False)
    """Steps at which early stop ended a group."""

    async def state(self, provider: str) -> State:
        """Everything that was run. Raises BoxLost, ProviderDown, and Starved for a run that was starved twice."""
        isolation, self._provider = self.boxes[0].isolation, provider
        built = await self._build(provider)
        if any(ends_plan(*one) for one in zip(self.plan.builds, built, strict=False)):
            return State((), isolation, provider, tuple(built))
        outcomes: list[StepOutcome | None] = []
        for size in self.plan.groups or (len(self.plan.steps),):
            await self._run_group(outcomes, len(outcomes) + size)
        checks = await self._checks(outcomes)
        self._spans.note()
        while outcomes and outcomes[-1] is None:
            outcomes.pop()
        return State(tuple(outcomes), isolation, provider, tuple(built), checks)

    # -- builds

    async def _build(self, provider: str) -> list[Outcome]:
        built: list[Outcome] = []
        for build in self.plan.builds:
            key = build_key(build, self.plan.image, provider)
            self._spans.begin()
            make = partial(self._make, build)
            outcome = await (make() if build.anew else self.builds.outcome(key, make))
            self._spans.end("build", len(built), outcome)
            if outcome.status is Status.OK and build.artifact:
                self._artifacts[build.name] = (build.artifact, outcome.stdout)
            built.append(replace(outcome, stdout=b"") if build.artifact else outcome)
            if ends_plan(build, outcome):
                break
        return built

    async def _make(self, build: Build) -> Outcome:
        """A compiler that was starved is tried again on a quiet slot, where it is soon done; for another doubt never at
        all others' cost, since it may take minutes."""
        box = self.boxes[0] if build.place == "answer" else self.boxes[1]
        outcome = await self._one(box, build.run)
        for _ in range(COMPILED_AGAIN):
            doubt = self.quiet.doubt(outcome, build.run.limits) or doubt_of_compiler(outcome)
            if doubt:
                outcome = await self._again(box, build.run, doubt, aside=doubt is Doubt.STARVED)
            if doubt is not Doubt.KILLED:
                break
        return outcome

    def _whole(self, run: Run) -> Run:
        """The run with the artifacts that its program needs."""
        if not run.program.needs:
            return run
        made = dict(self._artifacts[name] for name in run.program.needs)
        return replace(run, program=replace(run.program, files={**run.program.files, **made}, needs=()))

    # -- steps

    async def _run_group(self, outcomes: list[StepOutcome | None], end: int) -> None:
        """Run the steps from `len(outcomes)` to `end`; what early stop leaves out is None."""
        steps = self.plan.steps
        while len(outcomes) < end:
            batch = _batch(steps[len(outcomes) : end])
            self._spans.begin()
            if isinstance(batch[0], Dialogue):
                go_on = await self._keep(outcomes, await self._dialogues(batch[0]))
            elif isinstance(batch[0], Checked) and batch[0].passes is not None:
                go_on = await self._keep(outcomes, await self._several_passes(batch[0]))
            else:
                go_on = await self._run_batch(outcomes, [step for step in batch if isinstance(step, Run | Checked)])
            if not go_on:
                outcomes += [None] * (end - len(outcomes))

    async def _keep(self, outcomes: list[StepOutcome | None], outcome: StepOutcome) -> bool:
        """Record; whether to go on."""
        self._spans.end("run", len(outcomes), answers_outcome(outcome))
        outcomes.append(outcome)
        if not self.plan.early_stop or await self.passed(len(outcomes) - 1, outcome):
            return True
        self._stopped.append(len(outcomes) - 1)
        return False

    async def _checks(self, outcomes: Sequence[StepOutcome | None]) -> tuple[Check, ...]:
        """Steps of a shared process once more, each in a process of its own."""
        checks = []
        for index in steps_to_check(self.plan, outcomes, self._stopped):
            step = self.plan.steps[index]
            assert isinstance(step, Run | Checked), "no other step shares a process"
            run = replace(self._whole(step.answer if isinstance(step, Checked) else step), alone=True)
            outcome = await self._checked(step, await self._tried(self.boxes[0], run))
            checks.append(Check(index, outcome))
        return tuple(checks)

    async def _run_batch(self, outcomes: list[StepOutcome | None], batch: list[Run | Checked]) -> bool:
        """Run until the batch is through, early stop ends it (False), or a time limit is doubted and tried again."""
        runs = [self._whole(step.answer if isinstance(step, Checked) else step) for step in batch]
        doubt: Doubt | None = None
        async with self.boxes[0].run_all(runs) as results:
            position = 0
            async for outcome in results:
                doubt = self.quiet.doubt(outcome, runs[position].limits)
                if doubt:
                    break
                if not await self._keep(outcomes, await self._checked(batch[position], outcome)):
                    return False
                position += 1
        if doubt:
            again = await self._another_try(runs[position], outcome, doubt)
            return await self._keep(outcomes, await self._checked(batch[position], again))
        return True

    async def _another_try(self, run: Run, outcome: Outcome, doubt: Doubt) -> Outcome:
        """What counts of a run whose end is in doubt. Raises Doubted where it can't be had in this box."""
        if not run.program.workdir:
            return await self._again(self.boxes[0], run, doubt)
        if not self.doubted:
            self._note(doubt, run.name)
            raise Doubted(run.name, doubt)
        if doubt is Doubt.STARVED:
            raise no_verdict(run.name, outcome)
        return outcome

    async def _checked(self, step: Run | Checked, outcome: Outcome) -> StepOutcome:
        if not isinstance(step, Checked):
            return outcome
        if outcome.status is not Status.OK:
            return CheckedOutcome(outcome, None)
        checker = self._whole(step.checker)
        if step.output_file:
            files = {**checker.program.files, step.output_file: outcome.stdout}
            checker = replace(checker, program=replace(checker.program, files=files))
        else:
            checker = replace(checker, stdin=outcome.stdout)
        checked = await self._tried(self.boxes[1], checker)
        return CheckedOutcome(outcome, checked, self_test=await self._self_test(step.self_test, checked))

    async def _self_test(self, test: SelfTest | None, outcome: Outcome) -> Outcome | None:
        """What the row's program does without the answer, where it did not end as it should. Kept by content; it is run
        in the judge's box."""
        if test is None or outcome.exit_code in test.exit_codes:
            return None
        build = Build("self-test", self._whole(test.run), place="judge")
        key = build_key(build, self.plan.image, self._provider)
        return await self.builds.outcome(key, lambda: self._make(build))

    async def _several_passes(self, step: Checked) -> CheckedOutcome:
        """Pass after pass, each with the step's limits, until the checker asks for none or may have no more."""
        assert step.passes is not None
        earlier: list[PassOutcome] = []
        while True:
            answered = await self._tried(self.boxes[0], self._whole(step.answer))
            outcome = await self._checked(step, answered)
            assert isinstance(outcome, CheckedOutcome)
            asked = next_pass(step.passes, outcome.checker)
            if asked is None or len(earlier) + 1 >= step.passes.most:
                return replace(outcome, earlier=tuple(earlier))
            earlier.append(past(outcome))
            step = next_checked(step, step.passes, asked)

    async def _dialogues(self, dialogue: Dialogue) -> StepOutcome:
        """One dialogue, or as many as the asker asks for and may have."""
        earlier: list[PassOutcome] = []
        while True:
            outcome = await self._converse(dialogue)
            asked = next_pass(dialogue.passes, outcome.asker) if dialogue.passes is not None else None
            if dialogue.passes is None or asked is None or len(earlier) + 1 >= dialogue.passes.most:
                return replace(outcome, earlier=tuple(earlier))
            earlier.append(past(outcome))
            dialogue = next_dialogue(dialogue, dialogue.passes, asked)

    async def _converse(self, dialogue: Dialogue) -> DialogueOutcome:
        judges_box = self.boxes[1]
        whole = replace(dialogue, asker=self._whole(dialogue.asker), candidate=self._whole(dialogue.candidate))
        outcome = await judges_box.converse(whole, self.boxes[0])
        limits = dialogue.asker.limits, dialogue.candidate.limits
        doubt = self.quiet.doubt_of_dialogue(outcome, *limits)
        if doubt:
            outcome = await self._converse_again(judges_box, whole, doubt)
        return replace(outcome, self_test=await self._self_test(dialogue.self_test, outcome.asker))

    async def _converse_again(self, judges_box: Sandbox, whole: Dialogue, doubt: Doubt) -> DialogueOutcome:
        """Once more, for a time limit on a quiet slot; both programs with patience where one was starved and both are
        short."""
        self._note(doubt, whole.name)
        asker, candidate = whole.asker.limits, whole.candidate.limits
        tried = whole
        if doubt is Doubt.STARVED and may_go_aside(asker) and may_go_aside(candidate):
            tried = replace(
                whole,
                asker=replace(whole.asker, limits=patient(asker)),
                candidate=replace(whole.candidate, limits=patient(candidate)),
            )
        async with self.quiet.slot() if doubt is not Doubt.KILLED else nullcontext():
            outcome = await judges_box.converse(tried, self.boxes[0])
        asked, answered = outcome.asker, outcome.candidate
        found = self.quiet.doubt_of_dialogue(outcome, tried.asker.limits, tried.candidate.limits)
        over = spun(answered, candidate, asked) or spun(asked, asker, answered)
        if found is Doubt.STARVED and not over:
            raise no_verdict(whole.name, answered, asked)
        if tried is whole:
            return outcome
        judged = judged_by(asked, asker, answered), judged_by(answered, candidate, asked)
        return replace(outcome, asker=judged[0], candidate=judged[1])

    # -- one run

    async def _tried(self, box: Sandbox, run: Run) -> Outcome:
        """A run, and another one where the first one's time limit is doubted."""
        outcome = await self._one(box, run)
        doubt = self.quiet.doubt(outcome, run.limits)
        return await self._again(box, run, doubt) if doubt else outcome

    async def _again(self, box: Sandbox, run: Run, doubt: Doubt, *, aside: bool = True) -> Outcome:
        """Once more: this time it counts, unless it was starved again. `aside`: on a quiet slot, if it is short."""
        self._note(doubt, run.name)
        short = may_go_aside(run.limits)
        limits = patient(run.limits) if short and doubt is Doubt.STARVED else run.limits
        quiet = aside and short and doubt is not Doubt.KILLED
        async with self.quiet.slot() if quiet else nullcontext():
            outcome = await self._one(box, replace(run, limits=limits))
        if self.quiet.doubt(outcome, limits) is Doubt.STARVED and not spun(outcome, run.limits):
            raise no_verdict(run.name, outcome)
        return judged_by(outcome, run.limits) if doubt is Doubt.STARVED else outcome

    def _note(self, doubt: Doubt, name: str) -> None:
        self.quiet.noted(doubt)
        _log.info("run_repeated", run=name, why=doubt.value)

    async def _one(self, box: Sandbox, run: Run) -> Outcome:
        async with box.run_all([run]) as results:
            async for outcome in results:
                return outcome
        raise BoxLost(f"{box.box_id} gave no outcome")


def steps_to_check(plan: Plan, outcomes: Sequence[StepOutcome | None], stopped: Sequence[int]) -> list[int]:
    """Which steps of a shared process are run again in one of their own: those at which early stop ended a group, and
    one that chance names now that the answer has given all of its outputs: half the time any, half the time by the
    sizes of their inputs, since large inputs are those for which an answer may have prepared itself in the time of
    others. `stopped`: the steps of early stop."""
    shared = [index for index, one in enumerate(outcomes) if one is not None and answers_outcome(one).shared]
    chosen = [index for index in stopped if index in shared][:CHECKED]
    rest = [index for index in shared if index not in stopped]
    settled = bool(stopped) and not plan.groups  # else one of them leaves other groups open
    if not rest or settled:
        return chosen
    runs = [answers_run(plan.steps[index]) for index in rest]
    weights = [1 + len(run.stdin) if run else 1 for run in runs] if _CHANCE.random() < 0.5 else None
    return [*chosen, *_CHANCE.choices(rest, weights)]


def _batch(steps: Sequence[Step]) -> Sequence[Step]:
    """The first step if it is run alone, or all steps before the next such: they travel in one round trip."""
    if _alone(steps[0]):
        return steps[:1]
    end = next((index for index, step in enumerate(steps) if _alone(step)), len(steps))
    return steps[:end]


def _alone(step: Step) -> bool:
    return isinstance(step, Dialogue) or (isinstance(step, Checked) and step.passes is not None)
