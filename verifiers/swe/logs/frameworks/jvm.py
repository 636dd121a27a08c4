"""Maven's surefire and Gradle."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .results import JOINT, Results, number

_LEVEL = re.compile(r"\[(?:INFO|WARNING|ERROR)\] {1,4}")
_COUNTS = re.compile(r"Tests run: (\d{1,9}), Failures: (\d{1,9}), Errors: (\d{1,9}), Skipped: (\d{1,9})")
_CASE_TIME = re.compile(r"(?:  | -- )Time elapsed: \S{1,20} s")
_CASE_SKIPPED = re.compile(r" skipped$")
_IN_CLASS = re.compile(r" -{1,2} in (\S+)$")


def maven(lines: Iterable[str]) -> Results:
    """`mvn test` and `verify`. Ids: `org.a.ATest` for a class; `org.a.ATest > method` for what fails, and for all
    methods where `-Dsurefire.reportFormat=plain -Dsurefire.useFile=false` names those that pass.

    A class passes if none of its tests failed; it is skipped if all of them were.
    """
    results = Results()
    begun = ""
    passes = counted = 0
    for line in lines:
        level = _LEVEL.match(line)
        text = line[level.end() :] if level else line
        counts = _COUNTS.match(text)
        if text.startswith("Running "):
            begun = text[8:].strip()
            results.begin(begun)
        elif counts:
            run, failures, errors, skipped = (number(one) for one in counts.groups())
            passed = run - failures - errors - skipped
            owner = _IN_CLASS.search(text)
            if owner or "Time elapsed" in text:
                passes += passed
                results.add((owner[1] if owner else "") or begun, _class(run, failures, errors, skipped))
            else:
                counted += passed
                results.ended = True
        elif (took := _CASE_TIME.search(text) or _CASE_SKIPPED.search(text)) is not None:
            _case(results, text[: took.start()], text[took.start() :], begun)
    results.passes, results.counted = passes, counted if results.ended else None
    return results.close()


def _class(run: int, failures: int, errors: int, skipped: int) -> str:
    if failures:
        return "FAILED"
    if errors:
        return "ERROR"
    return "SKIPPED" if run and run == skipped else "PASSED"


def _case(results: Results, name: str, rest: str, begun: str) -> None:
    """A method: `name(class)` of surefire 2, `class.name` of surefire 3."""
    method, bracket, owner = name.rpartition("(")
    if bracket and owner.endswith(")") and owner[:-1] and " " not in owner:
        owner = owner[:-1]
    elif begun and name.startswith(begun + "."):
        owner, method = begun, name[len(begun) + 1 :]
    else:
        return
    status = "FAILED" if "<<< FAILURE!" in rest else "ERROR" if "<<< ERROR!" in rest else "PASSED"
    results.note(f"{owner}{JOINT}{method}", "SKIPPED" if "skipped" in rest.lower() else status)


_GRADLE = {"PASSED": "PASSED", "FAILED": "FAILED", "SKIPPED": "SKIPPED"}
_GRADLE_COUNTS = re.compile(r"(\d{1,9}) tests? completed((?:, \d{1,9} (?:failed|skipped)){0,2})$")


def gradle(lines: Iterable[str]) -> Results:
    """Gradle's test logging with the events `passed`, `failed` and `skipped` (`started` too says what did not end).
    Ids: `org.a.ATest > method`, as Gradle prints them.

    What tests print is indented there, and a result is not.
    """
    results = Results()
    for line in lines:
        name, _, word = line.rpartition(" ")
        counts = _GRADLE_COUNTS.match(line)
        if line.startswith(("BUILD SUCCESSFUL", "BUILD FAILED")):
            results.ended = True
        elif counts:
            others = sum(number(one) for one in counts[2].replace(",", " ").split())
            results.count(number(counts[1]) - others)
        elif JOINT in name and not line.startswith((" ", ">", "\t")):
            if word == "STARTED":
                results.begin(name)
            elif word in _GRADLE:
                results.add(name, _GRADLE[word])
    return results.close()
