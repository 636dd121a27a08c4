"""cargo, ctest, PHPUnit and RSpec."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .results import JOINT, Results, number, number_before

_CARGO = re.compile(r"test (.{1,4096}?) \.\.\. (.*)$")
_CARGO_WORD = re.compile(r"(ok|FAILED|ignored|bench:)(?:, .*| <\d+\.\d+s>| +[\d,]+ ns/iter.*)?$")
_CARGO_STATUS = {"ok": "PASSED", "FAILED": "FAILED", "ignored": "SKIPPED", "bench:": "PASSED"}
_CARGO_KIND = (" - should panic", " - compile fail", " - compile")


def cargo(lines: Iterable[str]) -> Results:
    """`cargo test`. Ids: `module::tests::name`, and `src/lib.rs - item (line 3)` of an example in the documentation.

    A test's own output may stand between its name and its result (`--nocapture`).
    """
    results, binaries, summaries, open_test = Results(), 0, 0, ""
    for line in lines:
        found = _CARGO.match(line)
        if found:
            open_test = _cargo_name(found[1])
            results.begin(open_test)
        word = _CARGO_WORD.match(found[2] if found else line)
        if word and open_test:
            results.add(open_test, _CARGO_STATUS[word[1]])
            open_test = ""
        elif line.startswith("running ") and line.endswith((" test", " tests")):
            binaries += 1
        elif line.startswith("test result: "):
            summaries += 1
            results.count(number_before("passed", line))
    results.ended = summaries >= max(binaries, 1)
    return results.close()


def _cargo_name(name: str) -> str:
    for kind in _CARGO_KIND:
        name = name[: -len(kind)] if name.endswith(kind) else name
    return name


_CTEST = re.compile(r" *\d{1,9}/\d{1,9} Test +#\d{1,9}: (.*)$")
_CTEST_END = re.compile(r"\.* *(?:(Passed)|\*\*\*(\w+(?: Run)?)(?:[ :].*)?) +\d+\.\d+ sec$")
_CTEST_BEGIN = re.compile(r" *Start +\d{1,9}: (.*)$")
_CTEST_TOTAL = re.compile(r"\d{1,3}% tests passed, (\d{1,9}) tests? failed out of (\d{1,9})$")
_CTEST_STATUS = {"Not Run": "ERROR", "Skipped": "SKIPPED"}


def ctest(lines: Iterable[str]) -> Results:
    """`ctest`, with and without `-V`, whose lines of a test begin with its number. Ids: the tests' names.

    A test whose program is missing is an ERROR, a disabled one SKIPPED; a crash and a time limit are failures. Where
    the log says which tests start, a result of another is none.
    """
    results, started = Results(), set[str]()
    for line in lines:
        began, found, total = _CTEST_BEGIN.match(line), _CTEST.match(line), _CTEST_TOTAL.match(line)
        if began:
            started.add(began[1].strip())
            results.begin(began[1].strip())
        elif total:
            results.count(number(total[2]) - number(total[1]))
        elif found:
            text = found[1]
            at = text.find("***")
            at = at if at >= 0 else text.rfind("Passed ")
            end = _CTEST_END.match(text[max(at, 0) :])
            if end is None:
                continue
            word = end[2] or ""
            status = "PASSED" if end[1] else _CTEST_STATUS.get(word, "FAILED")
            if word == "Not Run" and "(Disabled)" in text[at:]:
                status = "SKIPPED"
            name = text[: text.rfind(".", 0, at) + 1].rstrip(".").rstrip() or text[:at].strip()
            if not started or name in started:
                results.add(name, status)
    return results.close()


_SUITE = re.compile(r"(\S.{0,4095}) \((\S{1,4096})\)$")
_TESTDOX = {"✔": "PASSED", "✘": "FAILED", "⚠": "ERROR", "↩": "SKIPPED", "∅": "SKIPPED", "☢": "SKIPPED"}
_TESTDOX_TOOK = re.compile(r"(?: +\[?\d+(?:\.\d+)? ?m?s\]?)$")
_PHPUNIT_OK = re.compile(r"OK \((\d{1,9}) tests?, ")


def phpunit(lines: Iterable[str]) -> Results:
    """`phpunit --testdox`. Ids: `Suite > Test`, in testdox's words, as swebench has them.

    Incomplete and risky tests are SKIPPED: they fail nothing, and show nothing.
    """
    results, suite, title, blank = Results(), "", "", True
    for line in lines:
        text = line.strip()
        ok = _PHPUNIT_OK.match(line)
        result = line.startswith(" ") and text[:1] in _TESTDOX and text[1:2] == " "
        found = _SUITE.match(line)
        if result:
            suite = title or suite
            results.add(f"{suite}{JOINT}{_TESTDOX_TOOK.sub('', text[2:]).strip()}", _TESTDOX[text[0]])
        elif ok:
            results.count(number(ok[1]))
        elif line.startswith("Tests: ") and "Assertions: " in line:
            results.count(_phpunit_passed(line))
        elif found and blank:
            suite = found[1]
        title = text if blank and text and not result and not found else ""  # of a class without a namespace
        blank = not text
    return results.close()


def _phpunit_passed(line: str) -> int:
    """Of `Tests: 5, Assertions: 4, Failures: 1, Skipped: 1.`"""
    fields = dict(part.strip(" .").partition(": ")[::2] for part in line.split(","))
    return number(fields.pop("Tests", "")) - sum(
        number(count) for name, count in fields.items() if name not in ("Assertions", "Deprecations", "Notices")
    )


_RSPEC_END = ("Failures:", "Pending: (Failures listed here are expected and do not affect your suite's status)")
_RSPEC_ERROR = "An error occurred while loading "
_RSPEC_FAILED = re.compile(r" \(FAILED - \d{1,9}\)$")
_RSPEC_PENDING = " (PENDING: "
_RSPEC_COUNTS = re.compile(r"(\d{1,9}) examples?, (\d{1,9}) failures?(?:, (\d{1,9}) pending)?")


def rspec(lines: Iterable[str]) -> Results:
    """`rspec --format documentation`. Ids: `Group > nested > example`.

    An example is an indented line with no deeper one below it; a group is never printed without an example. What
    tests print is such a line too if it is indented, and then more examples pass than the summary counts; lines that
    begin at the margin are none, since an outer group comes behind a blank line.
    """
    results, groups, leaf, in_tree, blank = Results(), list[str](), (0, ""), True, True
    for line in lines:
        text, indent = line.strip(), len(line) - len(line.lstrip(" "))
        counts = _RSPEC_COUNTS.match(line)
        depth = indent // 2
        if not (counts or " [BUG] " in line or (text and (indent or blank))):
            blank = blank or not text
            continue
        if leaf[1] and depth <= leaf[0]:
            _rspec_example(results, groups[: leaf[0]], leaf[1])
        leaf = (0, "")
        if counts:
            total, failed, pending = (number(one or "") for one in counts.groups())
            results.count(total - failed - pending)
            in_tree = False
        elif line in _RSPEC_END or line.startswith(_RSPEC_ERROR) or " [BUG] " in line:
            in_tree = False
        elif in_tree and indent % 2 == 0:
            groups[depth:] = [text]
            leaf = (depth, text) if depth else leaf
        blank = False
    return results.close()


def _rspec_example(results: Results, groups: list[str], text: str) -> None:
    status, failed = "PASSED", _RSPEC_FAILED.search(text)
    if failed:
        status, text = "FAILED", text[: failed.start()]
    elif text.endswith(")") and _RSPEC_PENDING in text:
        status, text = "SKIPPED", text.partition(_RSPEC_PENDING)[0]
    results.add(JOINT.join((*groups, text)), status)
