"""Reads a test log with a parser of PyPI's swebench or one of ours, in a box where no candidate runs. Needs Python 3.9.

Text to us: `job.json` beside it names the parser and where the log begins, standard input is the log, standard output
`{"statuses": {test: status}, "signs": {sign: what}, "ran": bool}`, `{"unreadable": why}` where the log is to blame, or
`{"error": why}`. `ran`: the log says that tests ran, whichever of them it names. swebench's packages import docker,
datasets and more when they are entered by the front door, seconds and 167 MiB of them; stand-ins for those packages
let the parsers in alone.
"""

import contextlib
import importlib
import json
import os
import re
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
# ECMA-48: a control sequence, or a two-character escape
ESCAPE = re.compile(r"\x1b(?:\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|[\x40-\x5a\x5c-\x5f])")


COUNT = r"[1-9]\d{0,8}"
RAN = re.compile(
    "|".join(
        (
            rf"Executed {COUNT} of \d",  # karma
            rf"TOTAL: {COUNT} (?:SUCCESS|FAILED)",
            rf"{COUNT} passing",  # mocha
            r"Tests:\s{1,100}[1-9]",  # jest
            rf"Test Suites:\s{{1,100}}(?:\d{{1,9}} \w{{1,20}}, ){{0,4}}{COUNT} total",
            r"^# tests [1-9]",  # TAP
            rf"{COUNT} specs?, \d{{1,9}} failures?",  # jasmine
            r"': ok$",  # OpenLayers' comparison of pictures
        )
    ),
    re.MULTILINE,
)
"""What only a run of at least one test prints: some parsers name failures alone, and none where all tests passed."""


def stand_in(name, **contents):
    module = types.ModuleType(name)
    module.__dict__.update(contents)
    sys.modules[name] = module


def swebench_parser(name):
    for package in ("swebench", "swebench.harness"):
        stand_in(package, __path__=[os.path.join(HERE, *package.split("."))])
    stand_in("swebench.utils", ansi_escape=lambda text: ESCAPE.sub("", text))
    stand_in("swebench.types", TestSpec=object)
    parser = importlib.import_module("swebench.harness.log_parsers").PARSER_REGISTRY[name]
    return lambda log, job: parser(log, types.SimpleNamespace(**job["spec"]))


def framework_reader(name):
    """One of `frameworks/`, where there is one of that name."""
    if not os.path.isdir(os.path.join(HERE, "frameworks")):
        return None
    sys.path.insert(0, HERE)
    return importlib.import_module("frameworks").READERS.get(name)


def r2e_pytest(log, job):
    """R2E-Gym's reading of pytest's summary: names without their file, joined by dots."""
    statuses = {}
    summary = log.partition("short test summary info")[2]
    for line in summary.splitlines():
        word = line.split(" ")[0]
        if word in ("PASSED", "FAILED", "ERROR"):
            name = ".".join(line.split("::")[1:]) or line
            statuses[name.split(" - ")[0]] = word
    return statuses


def main():
    with open(os.path.join(HERE, "job.json")) as file:
        job = json.load(file)
    log = sys.stdin.buffer.read().decode("utf-8", "replace").replace("\r\n", "\n")
    before, marker, log = log.partition(job["marker"] + "\n")
    if not marker:
        return {"error": "the log does not begin: " + before[-300:]}
    reader = framework_reader(job["parser"])
    if reader is not None:
        results = reader(sys.modules["frameworks"].lines_of(log))
        return {"statuses": results.statuses, "signs": results.signs, "ran": RAN.search(log) is not None}
    parser = r2e_pytest if job["parser"] == "r2e_pytest" else swebench_parser(job["parser"])
    try:
        with contextlib.redirect_stdout(sys.stderr):  # some print
            found = parser(log.replace("\r", "\n"), job)  # as a file's text is read
    except Exception as error:  # a foreign parser, and a log that is anybody's
        with contextlib.redirect_stdout(sys.stderr):
            parser("", job)  # one that no log suits, as for another repository, is no answer's doing: it raises here
        return {"unreadable": "%s: %s" % (type(error).__name__, str(error)[:300])}
    statuses = {str(test): str(getattr(status, "value", status)) for test, status in found.items()}
    return {"statuses": statuses, "ran": RAN.search(log) is not None}


json.dump(main(), sys.stdout)
