"""Makes tests/swe/logs/<format>/<case>.log by running the real tools, and <case>.json by their own reports.

`python -m tests.swe.make_logs [FORMAT ...]`. Needs Debian's golang, cargo, nodejs, npm, maven, maven-debian-helper,
gradle, junit4, phpunit, ruby-rspec and cmake; jest, mocha and vitest come from npm. A case whose tool ends before it
writes a report (killed, compile error) keeps the map that is there, which was written by hand.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.swe import log_reports as reports

LOGS = Path(__file__).parent / "logs"
WORK = Path(tempfile.gettempdir()) / "make-logs"
MODULES = WORK / "node_modules"
PACKAGES = ("jest@29.7.0", "mocha@10.8.2", "vitest@3.2.4")


@dataclass(frozen=True)
class Case:
    """One run. `kind`: what the project's tests do, by its environment variable CASE."""

    name: str
    command: str
    kind: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    """A shell command that changes the project."""


@dataclass(frozen=True)
class Tool:
    project: str
    cases: tuple[Case, ...]
    report: Callable[[Path, Case], reports.Told]
    npm: bool = False


def _told(reader: Callable[[Path], reports.Told]) -> Callable[[Path, Case], reports.Told]:
    return lambda folder, case: reader(folder)


def _several(command: str, *kinds: str) -> tuple[Case, ...]:
    return tuple(Case(kind, command, "" if kind == "passing" else kind) for kind in kinds)


def _rust(folder: Path, case: Case) -> reports.Told:
    """A second run, which prints events; nothing of it depends on the first."""
    command = "cargo test --offline --no-fail-fast -- -Z unstable-options --format json"
    ran = subprocess.run(
        ["/bin/bash", "-c", command], cwd=folder, env={**_env(case), "RUSTC_BOOTSTRAP": "1"}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    if case.name not in ("passing", "failing", "coloured", "nocapture"):
        raise FileNotFoundError
    return reports.rust(ran.stdout)


def _phpunit(folder: Path, case: Case) -> reports.Told:
    """In colours it writes other names."""
    if case.name == "coloured":
        raise FileNotFoundError
    return reports.phpunit(folder)


def _vitest(folder: Path, case: Case) -> reports.Told:
    """Killed, it may have written its report and not its log."""
    if case.name == "killed":
        raise FileNotFoundError
    return reports.jest(folder)


def _maven(folder: Path, case: Case) -> reports.Told:
    """A class that ended its process has no report."""
    if case.name in ("crash", "exit"):
        raise FileNotFoundError
    return reports.maven(folder, plain=case.name == "plain")


GO = "go test -json ./..."
CARGO = "cargo test --offline --no-fail-fast"
JEST = "node_modules/.bin/jest --verbose --json --outputFile report.json"
MOCHA = "node_modules/.bin/mocha --reporter ./both.js '*.check.js'"
VITEST = "node_modules/.bin/vitest run --reporter=verbose --reporter=json --outputFile=report.json"
NODE = (
    "node --test --test-reporter=tap --test-reporter-destination=stdout --test-reporter=junit "
    "--test-reporter-destination=report.xml calc.check.mjs"
)
RSPEC = "rspec -r ./report.rb --format documentation --format Report --out report.json ./calc_check.rb"
PHPUNIT = "phpunit --testdox --testdox-xml report.xml ."
CTEST = "cd build && ctest --output-junit ../report.xml"
MAVEN = "mvn -o -B -s /etc/maven/settings-debian.xml test"
PLAIN = " -Dsurefire.reportFormat=plain -Dsurefire.useFile=false"
GRADLE = f"gradle --offline --no-daemon --console=plain -g {WORK}/gradle-home test"
CMAKE = "cmake -S . -B build >/dev/null && cmake --build build >/dev/null 2>&1"

TOOLS: Mapping[str, Tool] = {
    "gotest": Tool(
        "go",
        (
            *_several(GO, "passing", "failing", "panic", "killed", "exit", "glued"),
            Case("compile_error", GO, before="mv broken.txt broken.go"),
        ),
        lambda folder, case: (),
    ),
    "cargo": Tool(
        "rust",
        (
            *_several(CARGO, "passing", "failing", "abort", "segfault", "exit"),
            Case("coloured", f"{CARGO} --color always -- --color always", "failing"),
            Case("nocapture", f"{CARGO} -- --nocapture --test-threads=1", "failing"),
            Case("compile_error", CARGO, env={"RUSTFLAGS": "--cfg broken"}),
        ),
        _rust,
    ),
    "jest": Tool(
        "jest",
        (
            *_several(JEST, "passing", "failing", "crash", "syntax", "hook", "killed"),
            Case("coloured", f"{JEST} --colors", "failing"),
        ),
        _told(reports.jest),
        npm=True,
    ),
    "mocha": Tool(
        "mocha",
        (
            *_several(MOCHA, "passing", "failing", "hook", "crash", "killed"),
            Case("coloured", f"{MOCHA} --color", "failing"),
            Case("syntax_error", MOCHA, before="cp broken.txt.js broken.check.js"),
        ),
        _told(reports.paths),
        npm=True,
    ),
    "vitest": Tool(
        "vitest",
        (
            *_several(VITEST, "passing", "failing", "crash", "killed"),
            Case("coloured", VITEST, "failing", {"FORCE_COLOR": "1"}),
        ),
        _vitest,
        npm=True,
    ),
    "tap": Tool(
        "tap",
        (
            *_several(NODE, "passing", "failing", "crash", "killed"),
            Case("syntax_error", NODE, before="cp broken.txt.mjs calc.check.mjs"),
        ),
        _told(reports.tap),
    ),
    "rspec": Tool(
        "rspec",
        (
            *_several(RSPEC, "passing", "failing", "load", "killed", "exit"),
            Case("segfault", f"{RSPEC} 2>&1 | head -c 3000", "segfault"),
            Case("coloured", f"{RSPEC} --force-color", "failing"),
        ),
        _told(reports.paths),
    ),
    "phpunit": Tool(
        "phpunit",
        (
            *_several(PHPUNIT, "passing", "failing", "fatal", "killed", "exit"),
            Case("coloured", f"{PHPUNIT} --colors=always", "failing"),
            Case("syntax_error", PHPUNIT, before="cp broken.txt BrokenTest.php"),
        ),
        _phpunit,
    ),
    "ctest": Tool(
        "ctest",
        (
            *_several(CTEST, "passing", "failing", "abort"),
            Case("missing", CTEST, env={"MISSING": "1"}),
            Case("killed", CTEST, "killed"),
            Case("verbose", f"{CTEST} -V", "failing"),
            Case("parallel", f"{CTEST} -j4 --output-on-failure", "failing"),
        ),
        _told(reports.ctest),
    ),
    "maven": Tool(
        "maven",
        (
            *_several(MAVEN, "passing", "failing", "crash", "exit"),
            Case("plain", MAVEN + PLAIN, "failing"),
            Case("coloured", f"{MAVEN} -Dstyle.color=always", "failing"),
            Case("compile_error", MAVEN, before="echo 'class' >> src/main/java/org/sample/Calc.java"),
        ),
        _maven,
    ),
    "gradle": Tool(
        "gradle",
        (
            *_several(GRADLE, "passing", "failing", "crash", "exit"),
            Case("started", GRADLE, "failing", {"EVENTS": "1"}),
            Case("compile_error", GRADLE, before="echo 'class' >> src/main/java/org/sample/Calc.java"),
        ),
        _told(reports.gradle),
    ),
}


def _env(case: Case) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
    return {**kept, "LANG": "C.UTF-8", "CASE": case.kind, "CARGO_TARGET_DIR": str(WORK / "target"), **case.env}


def made(tool: Tool, case: Case) -> tuple[str, dict[str, str] | None]:
    """The log, and what the tool's report says, where it wrote one."""
    folder = WORK / "sample"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(LOGS / "projects" / tool.project, folder)
    if tool.npm:
        (folder / "node_modules").symlink_to(MODULES)
    before = case.before or (CMAKE if tool.project == "ctest" else "true")
    for command in (before, f"( {case.command} ) 2>&1"):
        if tool.project == "ctest" and command == before:
            command = CMAKE
        ran = subprocess.run(
            ["/bin/bash", "-c", command], cwd=folder, env=_env(case), stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL, timeout=300, check=False,
        )  # fmt: skip
    log = _moved(ran.stdout.decode("utf-8", "replace"))
    try:
        return log, {_moved(test): status for test, status in reports.worst(tool.report(folder, case)).items()}
    except (OSError, ValueError, SyntaxError):
        return log, None


def _moved(text: str) -> str:
    return text.replace(str(WORK / "sample"), "/testbed").replace(str(WORK), "/work")


def main(wanted: list[str]) -> None:
    WORK.mkdir(exist_ok=True)
    if not MODULES.exists():
        subprocess.run(["npm", "install", "--prefix", str(WORK), "--no-audit", "--no-fund", *PACKAGES], check=True)
    for name in wanted or list(TOOLS):
        for case in TOOLS[name].cases:
            log, told = made(TOOLS[name], case)
            if name == "gotest":
                told = reports.worst(reports.go(log)) if case.name != "glued" else None
                write("gotest_json", case.name, re.sub(r'"Time":"[^"]*",', "", log), told)
                log = reports.go_text(log)
            write(name, case.name, log, told)


def write(name: str, case: str, log: str, told: dict[str, str] | None) -> None:
    folder = LOGS / name
    folder.mkdir(exist_ok=True)
    (folder / f"{case}.log").write_text(log, "utf-8")
    expected = folder / f"{case}.json"
    if told is not None:
        expected.write_text(json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    elif not expected.exists():
        sys.stderr.write(f"{expected} is to be written by hand\n")


if __name__ == "__main__":
    main(sys.argv[1:])
