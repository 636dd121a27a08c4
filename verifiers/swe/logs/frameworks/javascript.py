"""jest, vitest, mocha and TAP, which node's own runner prints too."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .results import JOINT, Results, number, number_before

_TOOK = re.compile(r" \(\d+(?:\.\d+)? ?m?s\)$")
_JEST = {"✓": "PASSED", "√": "PASSED", "✕": "FAILED", "×": "FAILED", "○": "SKIPPED", "✎": "SKIPPED"}
_VITEST = {"✓": "PASSED", "√": "PASSED", "×": "FAILED", "↓": "SKIPPED", "-": "SKIPPED"}
_VITEST_ENDS = re.compile(r"(?: \[skipped\]| \(retry x\d+\)| \(repeat x\d+\)| \d+(?:\.\d+)? ?m?s)$")


def jest(lines: Iterable[str]) -> Results:
    """`jest --verbose`. Ids: `src/a.test.js > group > test`, and the file's own, which fails where it does not load.

    A file's tests stand below its PASS or FAIL up to a blank line; what tests print stands elsewhere.
    """
    results, file, groups = Results(), "", [""]
    for line in lines:
        text = line.strip()
        if text.startswith(("PASS ", "FAIL ")) and line[:2].strip():
            file = _TOOK.sub("", text[5:].strip())
            file = file[2:] if file.startswith("./") else file
            results.note(file, "PASSED" if text.startswith("PASS") else "FAILED")
            groups = []
        elif line.startswith("Tests: "):
            results.count(number_before("passed", line))
        elif not text:
            file = ""
        elif file and line.startswith("  "):
            depth = (len(line) - len(line.lstrip(" "))) // 2
            status, name = _JEST.get(text[0]), _TOOK.sub("", text[1:].strip())
            if status is None:
                groups[depth - 1 :] = [text]
                continue
            if status == "SKIPPED":
                name = name.partition(" ")[2] if name.startswith(("skipped ", "todo ")) else name
            results.add(JOINT.join((file, *groups[: depth - 1], name)), status)
    return results.close()


def vitest(lines: Iterable[str]) -> Results:
    """`vitest --reporter=verbose`. Ids: `src/a.test.ts > group > test`, as vitest itself joins them."""
    results = Results()
    for line in lines:
        text = line.strip()
        status = _VITEST.get(text[:1])
        if status and text[1:2] == " " and JOINT in text and line.startswith(" "):
            name = text[2:].strip()
            for _ in range(3):
                ends = _VITEST_ENDS.search(name, max(0, len(name) - 32))
                if ends is None:
                    break
                status = "SKIPPED" if "skipped" in ends[0] else status
                name = name[: ends.start()]
            results.add(name, status)
        elif text.startswith("Tests  ") and line.startswith(" "):
            results.count(number_before("passed", text))
    return results.close()


_MOCHA_FAILED = re.compile(r"\d{1,9}\) ")
_MOCHA_RESULT = re.compile(r"[✔✓-] |\d{1,9}\) ")
_MOCHA_TOOK = re.compile(r" \(\d+(?:\.\d+)?(?:ms|[smhd])\)$")
_MOCHA_COUNT = re.compile(r"  (\d{1,9}) passing \(\d+(?:ms|[smhd])\)$")


def mocha(lines: Iterable[str]) -> Results:
    """mocha's `spec` reporter. Ids: `group > nested > test`, in the order of its indents.

    Its summary ends a run: what follows describes failures, up to another run's two blank lines. An outer group comes
    behind a blank line or an outer test; what tests print as far from the margin, as an object's items, mostly not.
    """
    results, groups, blanks, in_run, outer = Results(), list[str](), 0, True, True
    for line in lines:
        text, depth = line.strip(), (len(line) - len(line.lstrip(" "))) // 2
        counted = _MOCHA_COUNT.match(line)
        if counted:
            results.count(number(counted[1]))
            in_run = False
        elif text and depth:
            in_run = in_run or (blanks > 1 and depth == 1 and not _MOCHA_FAILED.match(text))
            result = _MOCHA_RESULT.match(text) is not None
            if in_run and (depth > 1 or result or outer):
                _mocha_line(results, groups, text, depth)
            outer = depth == 1 and result
        outer = outer or not text
        blanks = 0 if text else blanks + 1
    return results.close()


def _mocha_line(results: Results, groups: list[str], text: str, depth: int) -> None:
    path, status = groups[: depth - 1], ""
    failed = _MOCHA_FAILED.match(text)
    if text[:2] in ("✔ ", "✓ "):
        status, text = "PASSED", _MOCHA_TOOK.sub("", text[2:])
    elif failed:
        status, text = "FAILED", text[failed.end() :]
    elif text.startswith("- "):
        status, text = "SKIPPED", text[2:]
    if status:
        results.add(JOINT.join((*path, text.strip())), status)
    else:
        groups[depth - 1 :] = [text]


_TAP = re.compile(r"( *)(ok|not ok) (\d{1,9})(?: -)? ?(.*)$")
_TAP_PLAN = re.compile(r"1\.\.(\d{1,9})(?: *#.*)?$")
_TAP_TOOK = re.compile(r" # time=[\d.]+m?s$")
_TAP_DIRECTIVE = re.compile(r" # (SKIP|TODO)\b", re.IGNORECASE)


def tap(lines: Iterable[str]) -> Results:
    """TAP 12 to 14. Ids: `group > test`, where a `# Subtest: group` says what indented results belong to.

    A plan counts the results of the outermost level: more of them than it says is a sign. A YAML block is skipped.
    """
    results, groups, in_yaml, planned, seen = Results(), list[str](), "", 0, 0
    for line in lines:
        text, indent = line.strip(), line[: len(line) - len(line.lstrip(" "))]
        if in_yaml:
            in_yaml = "" if line == in_yaml + "..." else in_yaml
        elif text == "---":
            in_yaml = indent
        elif text.startswith("# Subtest: "):
            groups[len(indent) // 4 :] = [_unescaped(text[11:])]
        elif (plan := _TAP_PLAN.match(line)) is not None:
            planned, results.ended = planned + number(plan[1]), True
        elif (found := _TAP.match(line)) is not None:
            seen += not indent
            said = _TAP_TOOK.sub("", found[4])
            directive = _TAP_DIRECTIVE.search(said)
            name = _unescaped((said[: directive.start()] if directive else said).strip()) or found[3]
            results.add(JOINT.join((*groups[: len(indent) // 4], name)), _tap_status(found[2], directive))
    if results.ended:
        results.counted = results.passes if seen <= planned else -1
    return results.close()


def _tap_status(word: str, directive: re.Match[str] | None) -> str:
    """A TODO that fails is expected to."""
    if directive is None:
        return "PASSED" if word == "ok" else "FAILED"
    skipped = directive[1].upper() == "SKIP" or word == "ok"
    return "SKIPPED" if skipped else "XFAIL"


def _unescaped(text: str) -> str:
    return text.replace("\\#", "#").replace("\\\\", "\\")
