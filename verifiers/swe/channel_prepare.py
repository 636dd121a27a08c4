"""Makes a repository ready for its tests, in a box of its own: the candidate's patch, the host's tests, the watcher.

Runs before any of the candidate's code does, so git and this file can be trusted here. Text to us, like the watcher: it
needs Python 3.6 and imports nothing of ours. `prepare.json` beside it says what to do; standard input is the watcher's.
The fallbacks for a patch that does not apply are SWE-bench's, with a clean tree between them.
"""

import json
import os
import subprocess
import sys

PATCH_FAILED, TESTS_FAILED, RESTORE_FAILED = 41, 42, 43
WAYS = (
    ["git", "apply", "--verbose", "--whitespace=nowarn"],
    ["git", "apply", "--verbose", "--whitespace=nowarn", "--reject"],
    ["patch", "--batch", "--fuzz=5", "-p1", "-i"],
)


def run(*argv):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=2, stderr=2)
    return done.returncode == 0


def apply(path, ways):
    """The way that worked, or none."""
    for number, way in enumerate(ways):
        if number:
            run("git", "checkout", "-q", "-f", "HEAD", "--", ".")
            run("git", "clean", "-fdq")
        if run(*way, path):
            return way
    return None


def restore(paths, commit):
    """Make paths as the commit has them, and remove those it has not."""
    for path in paths:
        if os.path.islink(path) or os.path.lexists(path):
            subprocess.run(["rm", "-rf", "--", path], stdin=subprocess.DEVNULL)
        there = subprocess.run(
            ["git", "cat-file", "-e", "%s:%s" % (commit, path)], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if there.returncode == 0 and not run("git", "checkout", "-q", "-f", commit, "--", path):
            return False
    return True


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "prepare.json")) as file:
        job = json.load(file)
    os.dup2(1, 2)  # one stream: what the tests print is for people only
    os.chdir(job["workdir"])
    for name, ways, code in (("candidate.diff", WAYS, PATCH_FAILED), ("tests.diff", WAYS[:1], TESTS_FAILED)):
        if name == "tests.diff" and not restore(job["restore"], job["commit"]):
            sys.exit(RESTORE_FAILED)
        path = os.path.join(here, name)
        if os.path.getsize(path) and apply(path, ways) is None:
            sys.exit(code)
    os.execv(job["watch"][0], job["watch"])


main()
