"""One program on its own, outside any test: what tools run."""

from __future__ import annotations

from sandbox_gym.contract import Outcome, Plan, Program, Run, State, Status, answers_outcome
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding.checking import missing
from sandbox_gym.verifiers.coding.languages import Language
from sandbox_gym.verifiers.coding.programs import encoded, image_for, program_of


def program_plan(language: Language, code: str, stdin: str, limits: Limits) -> Plan:
    """Compile if need be, and run once. No prelude: an agent sees what its program does by itself."""
    if language.forks:
        program = Program("fork", {language.source: encoded(code)}, main=language.source)
        return Plan((Run("run_code", program, encoded(stdin), limits),))
    program, build = program_of(language, code, limits, "answer")
    builds = () if build is None else (build,)
    run = Run("run_code", program, encoded(stdin), language.limits(limits))
    return Plan((run,), image_for(language), builds=builds)


def program_outcome(language: Language, state: State) -> tuple[Outcome, bool]:
    """What it did, and whether it was compiled; else what the compiler did. Raises ToolchainMissing."""
    failed = next((outcome for outcome in state.builds if outcome.status is not Status.OK), None)
    step = state.outcomes[0] if state.outcomes else None
    outcome = failed if step is None or failed is not None else answers_outcome(step)
    if outcome is None or (outcome.status is Status.START_ERROR and not language.forks):
        raise missing(language)
    return outcome, failed is None
