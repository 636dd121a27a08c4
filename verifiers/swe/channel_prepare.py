"""Makes a repository ready for its tests, in a box of its own: the candidate's patch, the host's tests, the watcher.

Runs before any of the candidate's code does, so git and this file can be trusted here. Text to us, like the watcher: it
needs Python 3.6 and imports nothing of ours. `prepare.json` beside it says what to do; standard input is the watcher's.
The fallbacks for a patch that does not apply are SWE-bench's, with a clean tree between them.
"""

import json
import os
import shutil
import subprocess
import sys

PATCH_FAILED, TESTS_FAILED, RESTORE_FAILED = 41, 42, 43
BATCH = 200  # paths of one command line
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
    """Make paths as the commit has them, and remove those it has not. Two processes, however many paths."""
    for start in range(0, len(paths), BATCH):
        some = paths[start : start + BATCH]
        for path in some:
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.unlink(path)
        listed = subprocess.run(
            ["git", "--literal-pathspecs", "ls-tree", "-r", "-z", "--name-only", commit, "--", *some],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        there = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
        if listed.returncode:
            return False
        if there and not run("git", "--literal-pathspecs", "checkout", "-q", "-f", commit, "--", *there):
            return False
    return True


def forget_compiled(patch):
    """A package that a patch took away leaves a folder of compiled files, which could be imported, empty."""
    with open(patch, "rb") as file:
        lines = [line.rstrip(b"\r\n") for line in file if line.startswith((b"--- a/", b"rename from "))]
    for line in lines:
        parts = os.fsdecode(line.split(b" ", 2 if line.startswith(b"rename") else 1)[-1]).split("/")
        parts = parts if line.startswith(b"rename") else parts[1:]
        while len(parts) > 1 and ".." not in parts and parts[0]:
            parts.pop()
            folder = os.path.join(*parts)
            if os.path.islink(folder) or not os.path.isdir(folder) or os.listdir(folder) not in ([], ["__pycache__"]):
                break
            shutil.rmtree(folder)


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
        forget_compiled(path)
    os.execv(job["watch"][0], job["watch"])


main()
