"""Reads a test log with a parser of PyPI's swebench, in a box where no candidate runs. Needs Python 3.9.

Text to us: `job.json` beside it names the parser and where the log begins, standard input is the log, standard output
`{"statuses": {test: status}}`, `{"unreadable": why}` where the log is to blame, or `{"error": why}`. The parsers'
packages import docker, datasets and more when they are entered by the front door, seconds and 167 MiB of them;
stand-ins for those packages let the parsers in alone.
"""

import importlib
import json
import os
import re
import sys
import types

HERE = os.path.dirname(os.path.abspath(__file__))
# ECMA-48: a control sequence, or a two-character escape
ESCAPE = re.compile(r"\x1b(?:\[[\x30-\x3f]*[\x20-\x2f]*[\x40-\x7e]|[\x40-\x5a\x5c-\x5f])")


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
    parser = r2e_pytest if job["parser"] == "r2e_pytest" else swebench_parser(job["parser"])
    try:
        found = parser(log, job)
    except Exception as error:  # a foreign parser, and a log that is anybody's
        parser("", job)  # one that no log suits, such as for another repository, is no answer's doing: it raises here
        return {"unreadable": "%s: %s" % (type(error).__name__, str(error)[:300])}
    return {"statuses": {str(test): str(getattr(status, "value", status)) for test, status in found.items()}}


json.dump(main(), sys.stdout)
