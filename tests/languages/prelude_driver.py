"""Runs programs twice in this interpreter, after the real prelude and after the guest's; prints where they differ.

Standard library alone: any Python that a box may have runs it. `driver.py PRELUDE_PY`, and on its standard input
{"prelude": text, "programs": [text]}.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import types
from collections.abc import Callable
from functools import partial
from types import CodeType


def outcome(run: Callable[[str, str], None], name: str, source: str) -> tuple[str, str]:
    """What was printed, and what was raised."""
    printed = io.StringIO()
    error = ""
    with contextlib.redirect_stdout(printed):
        try:
            run(name, source)
        except BaseException as raised:
            error = type(raised).__name__
    return printed.getvalue(), error


def plain(prelude: CodeType, name: str, source: str) -> None:
    namespace = {"__name__": name}
    exec(prelude, namespace)
    exec(compile(source, "main.py", "exec", dont_inherit=True), namespace)


def ours(guest: types.ModuleType, name: str, source: str) -> None:
    namespace = {"__name__": name}
    code = compile(source, "main.py", "exec", dont_inherit=True)
    guest.bind(guest.wanted(source.encode(), "main.py", code), namespace)
    exec(code, namespace)


def main() -> None:
    given = json.load(sys.stdin)
    guest = types.ModuleType("guest_prelude")
    with open(sys.argv[1], encoding="utf-8") as file:
        exec(compile(file.read(), sys.argv[1], "exec"), guest.__dict__)
    prelude = compile(given["prelude"], "prelude", "exec")
    differ, errors = [], 0
    for index, source in enumerate(given["programs"]):
        name = ("__main__", "candidate")[index % 2]
        wanted = outcome(partial(plain, prelude), name, source)
        got = outcome(partial(ours, guest), name, source)
        errors += bool(wanted[1])
        if wanted != got:
            differ.append([source, name, wanted, got])
    json.dump({"differ": differ, "errors": errors}, sys.stdout)


main()
