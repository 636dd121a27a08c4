"""One program outside any test, as the tools run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sandbox_gym.contract import Build, Outcome, Plan, Program, Run, State, Status, answers_outcome
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding.answers.folders import is_source
from sandbox_gym.verifiers.coding.languages import Language
from sandbox_gym.verifiers.coding.running.checking import missing
from sandbox_gym.verifiers.coding.running.fetching import fetching
from sandbox_gym.verifiers.coding.running.programs import encoded, image_for, program_of


def program_plan(
    language: Language,
    code: str,
    stdin: str,
    limits: Limits,
    *,
    files: Mapping[str, bytes] | None = None,
    fetch: Sequence[str] = (),
    mark: str = "",
    compile_time_s: float | None = None,
    wall_time_s: float | None = None,
    anew: bool = False,
) -> Plan:
    """Compile where needed, and run once, without the import prelude: an agent sees what its program does by itself.
    `files` stand beside the source for compiler and program, and sources among them are compiled with it; those of
    absolute paths are for the program alone; `fetch` names files to return (fetching.py); `compile_time_s` and
    `wall_time_s`, of which the start of its runtime is part, only tighten; `anew`: its build is not one that was
    kept."""
    beside = {path: content for path, content in (files or {}).items() if not path.startswith("/")}
    placed = {path: content for path, content in (files or {}).items() if path.startswith("/")}
    if language.forks:
        program = Program("fork", {**beside, language.source: encoded(code)}, main=language.source)
        builds: tuple[Build, ...] = ()
    else:
        program, build = program_of(language, code, limits, "answer", beside, further=_compiled(language, code, beside))
        builds = () if build is None else (replace(build, anew=anew),)
        program = replace(program, files={**beside, **program.files})
        limits = language.limits(limits)
    if compile_time_s is not None:
        builds = tuple(
            replace(each, run=replace(each.run, limits=each.run.limits.tightened(cpu_time_s=compile_time_s)))
            for each in builds
        )
    if fetch or placed:
        program = fetching(program, fetch, mark, placed)
    limits = limits.tightened(wall_time_s=wall_time_s)
    return Plan((Run("run_code", program, encoded(stdin), limits),), image_for(language), builds=builds)


def _compiled(language: Language, code: str, beside: Mapping[str, bytes]) -> tuple[str, ...]:
    """Sources that a compiler is given beside the main one: none that another names, which finds it by itself, and for
    Go none of another folder's package."""
    if not language.compile or language.several not in ("listed", "named"):
        return ()
    said = b"\n".join((encoded(code), *beside.values()))
    sources = (path for path in beside if is_source(path, language) and encoded(path.rpartition("/")[2]) not in said)
    is_go = language.suffixes == (".go",)
    tested = language.source.endswith("_test.go")
    return tuple(path for path in sources if not is_go or ("/" not in path and tested >= path.endswith("_test.go")))


def program_outcome(language: Language, state: State) -> tuple[Outcome, bool]:
    """The program's outcome, and whether it was compiled; else the compiler's outcome. Raises ToolchainMissing."""
    failed = next((outcome for outcome in state.builds if outcome.status is not Status.OK), None)
    step = state.outcomes[0] if state.outcomes else None
    outcome = failed if step is None or failed is not None else answers_outcome(step)
    if outcome is None or (outcome.status is Status.START_ERROR and not language.forks):
        raise missing(language)
    return outcome, failed is None
