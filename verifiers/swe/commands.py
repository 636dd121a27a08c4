"""How a task's tests are started: the watcher's argument vector and its job, which travels on standard input.

Test ids are never arguments: pytest runs nothing at all when one of them does not exist, its older releases read no
argument file, and a command line has an end. The files are arguments; the plugin keeps the ids that are wanted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.swe.channel.reader import CaseReport, ChannelReport
from sandbox_gym.verifiers.swe.ids import dotted, file_of, files_of, is_cut
from sandbox_gym.verifiers.swe.patches.paths import refusal
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

_WATCHER = "watch.py"
_RUNNER = ("guard.py", "baseline.py", "sources.py", "test_modules.py", "events.py", "unittest_runner.py", "plugin.py")
"""One program, in this order."""
_STEERING = """
    PYTEST_ADDOPTS PYTEST_PLUGINS PYTEST_DISABLE_PLUGIN_AUTOLOAD PYTHONPATH PYTHONHOME PYTHONSTARTUP PYTHONINSPECT
    PYTHONOPTIMIZE PYTHONBREAKPOINT PYTHONWARNINGS PYTHONPYCACHEPREFIX LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT BASH_ENV
    ENV"""
SCRUBBED = tuple(_STEERING.split())
"""Variables that the tests' environment must not have from the box; a recipe's own `env` may set them."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the caller decides of a run in its box. Paths are absolute paths of the box."""

    python: str
    """The interpreter that the repository is installed for."""
    folder: str
    """Where the files of `script_sources()` were put: a folder of their own that no candidate may write."""
    nonce: str
    """Random, of this run only; in the sandbox only the watcher knows it."""
    channel_fd: int = 3
    said: int = 0
    """How many lines the channel has before the watcher's first."""
    ini_file: str = ""
    """`-c`: the configuration pytest must use; empty: what it finds, which restoring has made the base commit's."""
    autoload: bool = True
    """False sets PYTEST_DISABLE_PLUGIN_AUTOLOAD: no plugin but those named by `plugins`."""
    plugins: tuple[str, ...] = ()
    whole_files: bool = False
    """Run every test of the files, as SWE-bench does, for tests that lean on their neighbours."""
    collect_time_s: float = 300.0
    restarts: int = 20
    """How many tests may hang or kill their process before the rest is given up."""
    extra_args: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    """Of a published image's PYTHONPATH; an empty one is the repository's folder."""


@dataclass(frozen=True, slots=True)
class RunCommand:
    """What to start. `stdin` holds the nonce: it must reach the process of `argv` and no other."""

    argv: tuple[str, ...]
    stdin: bytes
    env: Mapping[str, str]
    """To set; the caller leaves out SCRUBBED before."""
    workdir: str


def script_sources() -> dict[str, bytes]:
    """The watcher and the runner, by the names that they need in `RunOptions.folder`: files of this package."""
    return {name: files(__package__).joinpath("channel", name).read_bytes() for name in (_WATCHER, *_RUNNER)}


def run_command(task: SweTask, ids: Iterable[str], options: RunOptions) -> RunCommand:
    """How to run these ids of the task. Raises RequestError for a task whose runner is a log parser's, and for an id
    that pytest can't find because it names no file."""
    wanted = tuple(dict.fromkeys(ids))
    if task.runner == "log":
        raise RequestError("runner", "is 'log'", "run the row's test_command and parse its log")
    arguments = _pytest_arguments(wanted, task, options) if task.runner == "pytest" else ()
    job = {
        "runner": task.runner,
        "runner_scripts": _RUNNER,
        "nonce": options.nonce,
        "channel_fd": options.channel_fd,
        "said": options.said,
        "workdir": task.workdir,
        "args": arguments,
        "ids": _selected(wanted, task, options),
        "prefixes": [test for test in wanted if task.ids_may_be_cut and is_cut(test)],
        "prepended": _prepended(task, options),
        "interpreter_flags": ["-s"],
        "test_time_s": task.limits.test_time_s,
        "run_time_s": task.limits.run_time_s,
        "collect_time_s": min(options.collect_time_s, task.limits.run_time_s),
        "restarts": options.restarts,
    }
    env = {"PYTHONHASHSEED": "0", "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}
    if not options.autoload:
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    return RunCommand(
        argv=(options.python, "-I", "-S", f"{options.folder}/{_WATCHER}"),
        stdin=json.dumps(job).encode("ascii"),
        env={**env, **(task.recipe.env if task.recipe else {})},
        workdir=task.workdir,
    )


def _prepended(task: SweTask, options: RunOptions) -> list[str]:
    """What the interpreter would begin its path with, had it the row's command and the image's PYTHONPATH. A recipe
    without a command is run as its sessions run it, by `python -m pytest`."""
    by_module = "-m pytest" in task.test_command or (task.recipe is not None and not task.test_command)
    first = [task.workdir] if by_module else []
    return [*first, *(folder or task.workdir for folder in options.path)]


def _selected(wanted: tuple[str, ...], task: SweTask, options: RunOptions) -> list[str] | None:
    if task.runner == "unittest":
        return [dotted(test) for test in wanted]
    return None if options.whole_files else list(wanted)


def _pytest_arguments(wanted: tuple[str, ...], task: SweTask, options: RunOptions) -> tuple[str, ...]:
    for test in wanted:
        reason = refusal(file_of(test)) if file_of(test) else "it names no file"
        if reason:
            raise RequestError("test id", f"{test[:80]!r}: {reason}", "give node ids such as tests/test_a.py::test_b")
    plugins = [part for name in options.plugins for part in ("-p", name)]
    return (
        *("--rootdir", task.workdir),
        *(("-c", options.ini_file) if options.ini_file else ()),
        *plugins,
        *("--continue-on-collection-errors", "-q", "--color=no"),
        *options.extra_args,
        *(f"{task.workdir}/{path}" for path in files_of(wanted)),
    )


def row_cases(task: SweTask, report: ChannelReport) -> dict[str, CaseReport]:
    """The tests of a run under the ids that the row has: unittest reports the names that it loaded."""
    if task.runner != "unittest":
        return dict(report.cases)
    spelled = {dotted(test): test for test in task.ids}
    return {spelled.get(test, test): case for test, case in report.cases.items()}


def as_row_ids(task: SweTask, report: ChannelReport) -> dict[str, CaseStatus]:
    """How they ended."""
    return {test: case.status for test, case in row_cases(task, report).items()}
