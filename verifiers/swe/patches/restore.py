"""What a patch touches beyond the code it is to mend: signs of tampering, and what is put back before tests run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from posixpath import basename
from typing import Final

from sandbox_gym.verifiers.inversion import SIGNS as INVERSION_SIGNS
from sandbox_gym.verifiers.swe.ids import dotted, file_of, files_of
from sandbox_gym.verifiers.swe.patches.diff import FileChange, is_symlink, patch_bytes, read_patch
from sandbox_gym.verifiers.swe.patches.paths import (
    folders_of_tests,
    is_build,
    is_doctest,
    is_go_test,
    is_library,
    is_shadow,
    is_startup,
    is_test,
    is_test_config,
    is_test_file,
    run_by,
    top_of,
)
from sandbox_gym.verifiers.swe.task import SweTask

_ATTRIBUTES: Final = ".gitattributes"
SIGNS: Final = {
    "patch_touches_tests": "the patch changes test files, which are put back; a new one of its own is no sign",
    "patch_touches_test_config": "the patch changes files that a test runner reads by itself",
    "patch_touches_build": "the patch changes files that say how tests are built, which the row's fix does not",
    "patch_plants_startup_files": "the patch makes files that an interpreter loads at its start",
    "patch_shadows_runner": "the patch makes a module or command with a test runner's name",
    "patch_makes_symlink": "the patch makes a symbolic link",
    "channel_forged": "lines without the run's nonce, or out of their order, came on the channel of results",
    "channel_flooded": "more came on the channel of results than any run says",
    "channel_after_end": "the channel of results went on after its end",
    "channel_garbled": "the test process said what no plugin of ours says",
    "channel_result_twice": "a test had two results; the worse one counts",
    "channel_result_without_start": "a test had a result without having begun",
    "channel_report_changed": "a test raised, and something made its report say that it passed",
    "channel_report_without_run": "a test's phase was reported that pytest had not run",
    "channel_runner_changed": "something of pytest's or unittest's own was replaced in the tests' process",
    "channel_library_changed": "a builtin or a library's function was replaced by the repository's code",
    "channel_success_missing": "a test seemed to pass, and its runner had told of no success; it counts as an error",
    "channel_success_forged": "a success was told by other code than the runner's",
    "channel_imperative_xfail": "the code under test raised an expected failure itself",
    "channel_imperative_skip": "the code under test skipped its test itself",
    "channel_helper_changed": "the patch changes a file with assertions that the tests use",
    "channel_environment_changed": "the environment or the test configuration changed while tests ran, and one of them "
    "ended its process",
    "channel_tests_replaced": "a test, or what its module and its classes held, was not what its file says",
    "channel_reached": "code of the patch made itself a plugin of the test runner, or looked for its objects",
    "channel_hooked": "a conftest.py that the patch touches has a hook on results",
    "log_unreadable": "the log's parser failed on it, or took too long",
    "log_result_twice": "a test has two results in the log; the worse one counts",
    "log_passes_uncounted": "more tests pass by the log's lines than by the framework's own summary",
    "log_without_summary": "the log ends before the framework's summary, which it prints when its tests have ended",
    **INVERSION_SIGNS,
}
"""Every sign of a SWE verdict and what it stands for."""
COSTLY: Final = frozenset(
    {"channel_runner_changed", "channel_library_changed", "channel_garbled", "channel_reached"}
    | {"log_passes_uncounted", "log_without_summary"}
    | {"channel_tests_replaced", "channel_environment_changed", "channel_imperative_xfail", "channel_success_forged"}
)
"""Signs that no honest fix has and that results can't be believed beside: each costs the reward."""
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class RestorePlan:
    """What is done after the patch was applied and before the tests run, all from the host's copy."""

    restore: tuple[str, ...] = ()
    """Paths to make as the base commit has them, or to remove where it has none; before `test_patch` is applied."""
    kept: tuple[str, ...] = ()
    """Touched paths that look like tests or configuration and stay: the gold patch touches them too, or they are
    outside the folders that the tests are in."""
    signs: Mapping[str, str] = field(default_factory=dict)


def restore_plan(
    task: SweTask, changes: Iterable[FileChange], *, restore_config: bool = True, command: str = ""
) -> RestorePlan:
    """What to put back for a patch, and its signs. Test files are put back always: those of the test patch, those that
    the ids name, what is touched in their folders, and, where other tests may be of the row, what is named as tests
    are. Test configuration is, unless told otherwise, and what `command`, which runs the tests, runs. What the gold
    patch touches too is the fix's own ground and stays."""
    changes = tuple(changes)
    gold = read_patch(patch_bytes(task.patch)).paths if task.patch else ()
    ground = _Ground.of(task, gold, command)
    touched = tuple(dict.fromkeys((path, change.kind == "create") for change in changes for path in change.paths))
    back = list(dict.fromkeys(ground.own))
    kept = []
    for path, created in touched:
        if ground.goes_back(path, created=created, config=restore_config):
            back.append(path)
        elif is_test(path) or ground.is_config(path):
            kept.append(path)
    back.sort(key=lambda path: basename(path) != _ATTRIBUTES)  # by them git writes the others
    return RestorePlan(tuple(dict.fromkeys(back)), tuple(dict.fromkeys(kept)), _signs(ground, changes, touched))


@dataclass(frozen=True, slots=True)
class _Ground:
    """Which paths are the hidden tests' and which are the fix's."""

    own: tuple[str, ...]
    folders: tuple[str, ...]
    gold: frozenset[str]
    gold_tops: frozenset[str]
    by_name: bool
    """Tests are found by the names of their files, not by the row's."""
    scripts: frozenset[str]
    script_names: frozenset[str]

    @classmethod
    def of(cls, task: SweTask, gold: tuple[str, ...], command: str) -> _Ground:
        named = _named(task, gold) if task.runner == "pytest" else ()
        modules = [path for path in _modules(task.ids) if path not in gold] if task.runner == "unittest" else ()
        own = tuple(dict.fromkeys((*task.test_files, *named, *modules)))
        tops, by_name = frozenset(map(top_of, gold)), task.runner != "pytest"
        return cls(own, folders_of_tests(own), frozenset(gold), tops, by_name, *run_by(command))

    def is_tests(self, path: str) -> bool:
        return path in self.own or path.startswith(self.folders) or is_go_test(path) or self.is_named(path)

    def is_named(self, path: str) -> bool:
        return self.by_name and is_test_file(path)

    def is_config(self, path: str) -> bool:
        ran = path in self.scripts or basename(path) in self.script_names
        return ran or is_test_config(path) or (is_library(path) and not any(map(is_library, self.gold)))

    def goes_back(self, path: str, *, created: bool, config: bool) -> bool:
        if path in self.own:
            return True
        if path in self.gold:
            return False
        if self.is_tests(path):
            return True
        if is_shadow(path) and not is_startup(path):
            return config and self.is_planted(path, created=created)
        return config and self.is_config(path)

    def is_own_test(self, path: str) -> bool:
        """Whether a new file is a test of the answer's own, as fixes bring them: named as no test of the row's."""
        named = basename(path).startswith("test_") or is_go_test(path)
        return named and basename(path) not in map(basename, self.own)

    def is_planted(self, path: str, *, created: bool) -> bool:
        """Whether a file with a runner's name is new, and not in the runner's own repository."""
        return created and top_of(path) not in self.gold_tops


def _named(task: SweTask, gold: tuple[str, ...]) -> tuple[str, ...]:
    """The files that pytest's ids name. The file of a doctest is the code itself, which a fix may change: it goes back
    only where the doctest decides and the row's own fix leaves it as it is."""
    deciding = frozenset(task.fail_to_pass)
    return files_of(
        test for test in task.ids if not is_doctest(test) or (test in deciding and file_of(test) not in gold)
    )


def _modules(ids: Iterable[str]) -> list[str]:
    """The files that the tests of unittest's names are in."""
    modules = {"/".join(dotted(test).split(".")[:-2]) for test in ids}
    return [f"{module}{end}" for module in sorted(modules) if module for end in (".py", "/__init__.py")]


def _signs(ground: _Ground, changes: tuple[FileChange, ...], touched: tuple[tuple[str, bool], ...]) -> dict[str, str]:
    found = {
        "patch_touches_tests": [
            path
            for path, created in touched
            if ground.is_tests(path) and path not in ground.gold and not (created and ground.is_own_test(path))
        ],
        "patch_touches_test_config": [
            path
            for path, _ in touched
            if ground.is_config(path) and not is_startup(path) and not is_shadow(path) and path not in ground.gold
        ],
        "patch_touches_build": [
            path
            for path, _ in touched
            if ground.by_name and is_build(path) and not ground.is_config(path) and path not in ground.gold
        ],
        "patch_plants_startup_files": [path for path, _ in touched if is_startup(path) and path not in ground.gold],
        "patch_shadows_runner": [
            path for path, created in touched if is_shadow(path) and ground.is_planted(path, created=created)
        ],
        "patch_makes_symlink": [change.path for change in changes if is_symlink(change)],
    }
    return {name: _listed(paths) for name, paths in found.items() if paths}


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(path[:120] for path in paths[:_SHOWN]) + more


def hook_signs(changes: Iterable[FileChange], hooks: Iterable[str], workdir: str) -> dict[str, str]:
    """The signs for files with a hand in results, where the patch touches them: they were not put back.
    `hooks` are ChannelReport.hooks, with the box's absolute paths."""
    paths = {f"{workdir}/{path}" for change in changes for path in change.paths}
    found: dict[str, list[str]] = {}
    for hook in hooks:
        name, _, path = hook.rpartition(" ")
        if path in paths:
            found.setdefault(_hook_sign(name, path), []).append(hook)
    return {sign: _listed(seen) for sign, seen in found.items()}


def _hook_sign(name: str, path: str) -> str:
    if name == "test":
        return "channel_tests_replaced"
    if name == "helper":
        return "channel_helper_changed"
    return "channel_hooked" if path.endswith("/conftest.py") and not name.startswith("reaching") else "channel_reached"
