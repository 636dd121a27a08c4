"""Rows whose tests only a log tells of: their command as a script, and the log's reading in a box of its own.

What the candidate's code prints is in the log too, so such verdicts hold only as far as it does not lie; where a
framework's own summary contradicts its lines, the log says so (`SIGNS`). pytest's and unittest's rows never come here.
Source: swebench 5.0.2, harness/log_parsers and harness/grading.py.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.errors import InstanceFailed, RequestError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.verifiers.bounded import Bounds, TooMuch, loads
from sandbox_gym.verifiers.swe.channel.reader import CaseReport, ChannelReport
from sandbox_gym.verifiers.swe.logs.frameworks.results import CUT_OFF, TWICE, UNCOUNTED
from sandbox_gym.verifiers.swe.patches.diff import read_patch
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

SIGNS: Final = (TWICE, UNCOUNTED, CUT_OFF)
"""What a framework's reader may say of a log: results.py."""
R2E_PARSER: Final = "r2e_pytest"
READER_FOLDER: Final = ".read-log"
MAX_TESTS: Final = 200_000
MAX_NAME: Final = 16_384
_LIMITS: Final = Limits(cpu_time_s=120, wall_time_s=300, memory_bytes=1024 * MIB)
_LOGS_DOING: Final = (Status.CPU_TIME_LIMIT, Status.MEMORY_LIMIT, Status.OUTPUT_LIMIT)
"""How a parser ends that a log was too much for; wall time without CPU time is the machine's."""
_READING: Final = Bounds(size_bytes=16 * MIB, depth=20)
_START, _END = ">>>>> Start Test Output", ">>>>> End Test Output"
_SCRIPT: Final = """
printf '%s\\n' "$1"
( eval "set -x
$2" ) </dev/null 2>&1 3>&-
printf 'exit %d\\n' $? >&3
exit 0
"""
"""The first line marks where the log begins: nothing of the candidate's has run before. Commands are in the log, as in
that of SWE-bench's scripts: some parsers find a test's name there. A failing command is no failure of the script."""
_PYTHON: Final = """
for python in "$1" /usr/bin/python3 /opt/miniconda3/bin/python /usr/local/bin/python3; do
  "$python" -I -S -c 'import sys; sys.exit(sys.version_info < (3, 9))' 2>/dev/null && exec "$python" -I -S "$2"
done
echo '{"error": "no Python of at least 3.9 in the sandbox"}'
"""
_EXIT: Final = b"exit "
_DJANGO: Final = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
_SYMPY: Final = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"


def log_command(task: SweTask) -> str:
    """The shell command whose log is read: the row's, or what SWE-bench runs for django and sympy. Raises
    RequestError."""
    if task.test_command:
        return _between_markers(task.test_command)
    touched = read_patch(task.test_patch.encode("utf-8", "surrogatepass")).paths
    scripts = [path for path in touched if path.endswith(".py")]
    if task.repo == "django/django" and scripts:
        labels = [path.removeprefix("tests/").removesuffix(".py").replace("/", ".") for path in scripts]
        return f"{_DJANGO} {shlex.join(labels)}"
    if task.repo == "sympy/sympy" and scripts:
        return f"{_SYMPY} {shlex.join(scripts)}"
    given = "give test_command (or test_cmd, install_config.test_cmd, eval_script): what prints the log"
    other = next((test for test in task.ids if ".py::" not in test), "")
    if not other or task.log_parser:
        raise RequestError("row.test_command", "is missing", given)
    problem = f"is missing, and {other[:80]!r} is no id of pytest's, such as tests/test_a.py::test_b"
    raise RequestError("row.test_command", problem, f"{given}; or runner, pytest or unittest, if it is one of theirs")


def _between_markers(command: str) -> str:
    """The part of an `eval_script` that prints the log; the rest of it puts files in place, which is ours to do. Where
    the script has a pipe fail with any part of it, so has this."""
    lines = command.splitlines()
    starts = [index for index, line in enumerate(lines) if _START in line]
    ends = [index for index, line in enumerate(lines) if _END in line]
    if not starts or not ends or ends[-1] <= starts[0]:
        return command
    strict = any(line.startswith("set ") and "pipefail" in line for line in lines[: starts[0]])
    return "\n".join([*["set -o pipefail"][: int(strict)], *lines[starts[0] + 1 : ends[-1]]])


def log_script(task: SweTask, marker: str) -> tuple[str, ...]:
    """The argument vector that prints the marker and then the log, and says the exit code on fd 3."""
    return ("/bin/bash", "-c", _SCRIPT, "tests", marker, log_command(task))


def reader_run(task: SweTask, marker: str, parser: str, sources: Mapping[str, bytes], *, home: str, python: str) -> Run:
    """The run that reads a log on its standard input. `sources`: the parser's files, by path; `python`: tried first."""
    spec = {"instance_id": task.instance_id, "version": task.version, "repo": task.repo}
    job = {"parser": parser, "marker": marker, "spec": spec}
    reader = files(__package__).joinpath("log_reader.py").read_bytes()
    contents = {"job.json": json.dumps(job).encode("ascii"), "log_reader.py": reader, **sources}
    program = Program(
        "exec",
        {f"{READER_FOLDER}/{name}": content for name, content in contents.items()},
        argv=("/bin/sh", "-c", _PYTHON, "reader", python, f"{home}/{READER_FOLDER}/log_reader.py"),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin"},
        workdir=home,
    )
    return Run("log", program, limits=_LIMITS)


def read_log(tests: Outcome, reading: Outcome | None) -> ChannelReport:
    """What the log told. Without a reading, the tests did not come to their end: nothing passed.

    Raises InstanceFailed where the reader failed for no doing of the log's: a parser that can't be had or that no log
    suits, a box without a Python, a machine too busy.
    """
    if reading is None:
        return ChannelReport(crashes=(tests.status.value,))
    if reading.status in _LOGS_DOING:
        return ChannelReport(signs={"log_unreadable": f"its parser ended as {reading.status.value}"}, rounds=1)
    said = _said(reading)
    if isinstance(unreadable := said.get("unreadable"), str):
        return ChannelReport(signs={"log_unreadable": unreadable[:300]}, rounds=1)
    found = said.get("statuses")
    if reading.status is not Status.OK or not isinstance(found, dict):
        why = str(said.get("error") or reading.stderr[-300:].decode("utf-8", "replace"))[:300]
        raise InstanceFailed(f"the tests' log can't be read ({reading.status.value}): {why}")
    if len(found) > MAX_TESTS:
        return ChannelReport(signs={"log_unreadable": f"it names {len(found)} tests; {MAX_TESTS} at most"}, rounds=1)
    cases = {test: CaseReport(CaseStatus(word)) for test, word in found.items() if _is_status(test, word)}
    signs = _signs(said.get("signs"))
    sightings = {name: (what,) for name, what in signs.items()}
    ran = said.get("ran") is True
    return ChannelReport(cases, signs=signs, sightings=sightings, complete=True, rounds=1, ran=ran)


def _signs(said: object) -> dict[str, str]:
    found = said if isinstance(said, dict) else {}
    return {name: what[:200] for name in SIGNS if isinstance(what := found.get(name), str)}


def _said(reading: Outcome) -> dict[str, object]:
    try:
        said = loads(reading.stdout, _READING)
    except ValueError as error:
        if isinstance(error, TooMuch) and len(reading.stdout) > MIB:  # so much only a log makes it say
            return {"unreadable": f"what was read of it {error}"}
        return {}
    return said if isinstance(said, dict) else {}


def _is_status(test: str, word: object) -> bool:
    return isinstance(word, str) and word in CaseStatus.__members__ and len(test) <= MAX_NAME


def exit_code(channel: bytes) -> int | None:
    """The test command's own, as the script said; None where it did not. Of several, which a program of the answer's
    must have said too, the highest."""
    said = [line[5:] for line in channel.split(b"\n") if line.startswith(_EXIT)]
    codes = [int(code) for code in said if code.isdigit() and len(code) < 4]
    return max(codes) if codes and len(codes) == len(said) else 1 if said else None


def without_exit_code(channel: bytes) -> bytes:
    """What was said besides."""
    return b"".join(line for line in channel.splitlines(keepends=True) if not line.startswith(_EXIT))
