"""What the tools' own machine-readable reports say of a run: the oracle of the logs in `logs/`, beside make_logs.py."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator
from pathlib import Path

RANK = ("PASSED", "XFAIL", "SKIPPED", "ERROR", "FAILED")
WORDS = {
    "pass": "PASSED", "passed": "PASSED", "fail": "FAILED", "failed": "FAILED", "skip": "SKIPPED",
    "skipped": "SKIPPED", "pending": "SKIPPED", "todo": "SKIPPED",
}  # fmt: skip
Told = Iterable[tuple[str, str]]


def worst(told: Told) -> dict[str, str]:
    found: dict[str, str] = {}
    for test, status in told:
        found[test] = max(found.get(test, "PASSED"), status, key=RANK.index)
    return found


def go(text: str) -> Iterator[tuple[str, str]]:
    """A test that ran and did not end is an error."""
    events = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    told = [(event["Test"], event["Package"], event["Action"]) for event in events if "Test" in event]
    ended = {(test, package) for test, package, action in told if action in WORDS}
    for test, package, action in told:
        if action in WORDS:
            yield test, WORDS[action]
        elif action == "run" and (test, package) not in ended:
            yield test, "ERROR"


def go_text(text: str) -> str:
    """What `go test -v` prints, out of its events."""
    lines = text.splitlines(keepends=True)
    return "".join(json.loads(line).get("Output", "") if line.startswith("{") else line for line in lines)


def jest(folder: Path) -> Iterator[tuple[str, str]]:
    """vitest's has the same form."""
    for file in json.loads((folder / "report.json").read_text())["testResults"]:
        name = Path(file["name"]).name
        if not (folder / "vitest.config.mjs").exists():
            yield name, "FAILED" if file["status"] == "failed" else "PASSED"
        for case in file["assertionResults"]:
            yield (
                " > ".join((name, *(one for one in case["ancestorTitles"] if one), case["title"])),
                WORDS[case["status"]],
            )


def paths(folder: Path) -> Iterator[tuple[str, str]]:
    """mocha's and RSpec's, as the reporters in their projects write it."""
    for word, path in json.loads((folder / "report.json").read_text()):
        yield " > ".join(path), WORDS[word]


def rust(text: str) -> Iterator[tuple[str, str]]:
    """libtest's events."""
    words = {"ok": "PASSED", "failed": "FAILED", "ignored": "SKIPPED"}
    for line in text.splitlines():
        event = json.loads(line) if line.startswith("{") else {}
        if event.get("type") == "test" and event["event"] in words:
            yield event["name"].removesuffix(" - should panic"), words[event["event"]]


def cases(element: ElementTree.Element, groups: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """JUnit's `testcase` elements, with the names of those around them."""
    for inner in element:
        if inner.tag == "testsuite":
            yield from cases(inner, (*groups, inner.get("name", "")))
        elif inner.tag == "testcase":
            kinds = {one.tag for one in inner}
            status = "ERROR" if "error" in kinds else "FAILED" if "failure" in kinds else "PASSED"
            name = inner.get("name", "")
            yield (*groups, inner.get("classname", ""), name), "SKIPPED" if "skipped" in kinds else status


def tap(folder: Path) -> Iterator[tuple[str, str]]:
    """node's JUnit reporter; a group passes or fails too, which TAP says in a line of its own."""
    for path, status in cases(ElementTree.parse(folder / "report.xml").getroot()):
        yield " > ".join((*path[:-2], path[-1])), status
        for depth in range(1, len(path) - 1):
            yield " > ".join(path[:depth]), "FAILED" if status in ("FAILED", "ERROR") else "PASSED"


def ctest(folder: Path) -> Iterator[tuple[str, str]]:
    words = {"run": "PASSED", "fail": "FAILED", "disabled": "SKIPPED"}
    for case in ElementTree.parse(folder / "report.xml").getroot().iter("testcase"):
        inner = case.find("skipped")
        message = "" if inner is None else inner.get("message", "")
        failure = case.find("failure")
        said = "" if failure is None else failure.get("message", "")
        status = words.get(case.get("status", ""), "ERROR" if "Unable to find" in message else "SKIPPED")
        yield case.get("name", ""), "ERROR" if said not in ("", "Failed") else status


def phpunit(folder: Path) -> Iterator[tuple[str, str]]:
    """testdox's own XML, whose status is PHPUnit's number."""
    words = {"0": "PASSED", "1": "SKIPPED", "2": "SKIPPED", "3": "FAILED", "4": "FAILED", "5": "SKIPPED", "6": "ERROR"}
    for case in ElementTree.parse(folder / "report.xml").getroot().iter("test"):
        suite = case.get("prettifiedClassName", "").rpartition(" (")[0] or case.get("prettifiedClassName", "")
        yield f"{suite} > {case.get('prettifiedMethodName', '')}", words[case.get("status", "")]


def gradle(folder: Path) -> Iterator[tuple[str, str]]:
    """A test that raises is a failure to Gradle."""
    for file in sorted((folder / "build" / "test-results" / "test").glob("*.xml")):
        for path, status in cases(ElementTree.parse(file).getroot()):
            yield f"{path[-2]} > {path[-1]}", status


def maven(folder: Path, *, plain: bool = False) -> Iterator[tuple[str, str]]:
    """`plain`: surefire's plain report was printed, which names every method."""
    for file in sorted((folder / "target" / "surefire-reports").glob("*.xml")):
        found = [(path[-2], path[-1], status) for path, status in cases(ElementTree.parse(file).getroot())]
        for owner in {owner for owner, _, _ in found}:
            ends = {status for name, _, status in found if name == owner}
            yield owner, next((word for word in ("FAILED", "ERROR", "PASSED") if word in ends), "SKIPPED")
        for owner, method, status in found:
            if plain or status in ("FAILED", "ERROR"):
                yield f"{owner} > {method}", status
