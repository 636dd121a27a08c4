"""Makes a repository ready for its tests, in a box of its own: the candidate's patch, the host's tests, the watcher.

Runs before any of the candidate's code does, so git and this file can be trusted here. Text to us, like the watcher: it
needs Python 3.6 and imports nothing of ours. `prepare.json` beside it says what to do; standard input is the watcher's.
How tests were changed can be read nowhere once the watcher runs: all that tells it is removed before.
The fallbacks for a patch that does not apply are SWE-bench's, with a clean tree between them.
"""

import base64
import contextlib
import errno
import hashlib
import json
import os
import resource
import shutil
import signal
import stat
import subprocess
import sys
import traceback
import zlib

PATCH_FAILED, TESTS_FAILED, RESTORE_FAILED, TESTS_DIFFER, HINDERED = 41, 42, 43, 44, 45
OWN_DISK = 8 << 30  # a file system of at most so many bytes is the box's own, which only the answer fills
ROOM, ENTRIES = 1 << 20, 16
SHORT = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EIO)  # no patch asks for these
APPLY_S = 30  # of CPU time, for the answer's patch alone: hunks that fit nowhere take hours in a long file
# by what a program is given to read, a file that grows too large among it
CRASHES = (signal.SIGXFSZ, signal.SIGSEGV, signal.SIGABRT, signal.SIGFPE, signal.SIGILL)
BATCH = 200  # paths of one command line
TESTS_WAY = ["git", "apply", "--verbose", "--whitespace=nowarn"]
PATCH = ["patch", "--batch", "--forward", "--no-backup-if-mismatch", "--fuzz=5"]
WAYS = (TESTS_WAY, [*TESTS_WAY, "--reject"], [*PATCH, "-p1", "-i"])
REJECTED = (b".rej", b".orig")
BARE_WAYS = ([*TESTS_WAY, "-p0"], [*PATCH, "-p0", "-i"])  # where names have no first part for the side


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (APPLY_S, 2 * APPLY_S))


def run(*argv, again=False, limit=None):
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=limit
    )
    sys.stderr.buffer.write(done.stdout)
    if limit and done.returncode == -signal.SIGXCPU:
        sys.stderr.write("%s took over %d s of CPU time\n" % (argv[0], APPLY_S))
        fail(PATCH_FAILED)
    sys.stderr.flush()
    if limit and -done.returncode in CRASHES:  # a file of over 512 MiB, or hunks that patch(1) does not survive
        sys.stderr.write("%s was ended by signal %d\n" % (argv[0], -done.returncode))
        return False
    if done.returncode < 0:  # no git or patch does that to itself
        hindered("%s was ended by signal %d" % (argv[0], -done.returncode))
    if done.returncode == 0 or again:
        return done.returncode == 0
    words = done.stdout.decode("utf-8", "replace")  # a patch may hold such words, and wins another try by them
    return any(os.strerror(number) in words for number in SHORT) and run(*argv, again=True, limit=limit)


def hindered(why):
    """End, for what is no patch's doing."""
    sys.stdout.write(why + "\n")
    sys.stdout.flush()
    sys.exit(HINDERED)


def fail(code):
    """End, for what the patch did, unless the disk is the machine's, and full."""
    disk = os.statvfs(".")
    full = disk.f_bavail * disk.f_frsize < ROOM or (disk.f_files > 0 and disk.f_favail < ENTRIES)
    if full and disk.f_blocks * disk.f_frsize > OWN_DISK:
        hindered("no room on the machine's disk")
    sys.exit(code)


def apply(path, ways, names=None, headed=True):
    """The way that worked, or none. `names`: of all files that it may change. Were they read otherwise than git or
    patch(1) read them, tests would not be put back."""
    named = {name.encode("utf-8", "surrogateescape") for name in names or ()}
    for number, way in enumerate(ways):
        if number:
            run("git", "checkout", "-q", "-f", "HEAD", "--", ".")
            run("git", "clean", "-fdq")
        by_git = way[0] == "git"
        before = states(names, headed and by_git)
        applied = run(*way, path, limit=None if names is None else limited)
        if names is not None and (applied or not by_git):  # before git runs again: its own files can make it run others
            changed = {name for name, _ in states(names, headed and by_git) ^ before}
            changed |= named_by_git(way, path) if by_git else set()
            if any(applied or not name.endswith(REJECTED) for name in changed - named):
                sys.stderr.write("it changes files that its headers do not name\n")
                fail(PATCH_FAILED)
        if applied:
            return way
    return None


def without_context(path):
    """Whether no hunk has a line of context, as `git diff -U0` makes them: without being told, git looks for the place
    of such a hunk at the end of the file, whatever its line number."""
    with open(path, "rb") as file:
        data = file.read()
    return b"\n@@ " in data and b"\n " not in data


def named_by_git(way, path):
    """The files that git reads a patch to make or change."""
    options = [*way[:2], "--numstat", "-z", *[one for one in way[2:] if one.startswith("-p")]]
    told = subprocess.run([*options, path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    return {line.split(b"\t", 2)[2] for line in told.stdout.split(b"\0") if line}


def states(names, tracked):
    """All files that git tracks, or all there are and git's own, each with its time, size and mode; none where nobody
    asks."""
    if names is None:
        return set()
    if tracked:
        listed = subprocess.run(["git", "ls-files", "-z"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        found = listed.stdout.split(b"\0")
    else:
        found = [os.path.join(top, name)[2:] for top, folders, files in os.walk(b".") for name in folders + files]
    there = [(name, os.lstat(name)) for name in found if name and os.path.lexists(name)]
    return {(name, (of.st_mtime_ns, of.st_size, of.st_mode)) for name, of in there if not stat.S_ISDIR(of.st_mode)}


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


def own_path(path):
    """Whether a path stays in the repository, by its letters."""
    return b".." not in path.split(b"/") and not path.startswith(b"/") and b"\0" not in path


def forget_modules(paths):
    """The compiled forms of Python files: one that is changed in the second it was made in, and keeps its size, would
    be taken for what was compiled. Each folder is read once, however many of its files a patch names."""
    by_folder = {}
    for folder, name in map(os.path.split, filter(own_path, paths)):
        if name.endswith(b".py"):
            by_folder.setdefault(os.path.join(folder, b"__pycache__"), set()).add(name[: -len(b".py")])
    for cache, modules in by_folder.items():
        with contextlib.suppress(OSError):  # there is none, or it is not this user's
            for entry in os.listdir(cache):
                parts = entry.split(b".")  # a.cpython-311.pyc, a.cpython-311.opt-1.pyc
                if any(b".".join(parts[:end]) in modules for end in range(1, len(parts))):
                    os.unlink(os.path.join(cache, entry))


def forget_compiled(patch):
    """Before a patch changes files, their compiled forms; and before it takes some away, all of their folders', which
    would keep a folder alive that is to go, or in the place of what is to come."""
    folders, changed, path, before = set(), set(), b"", b""
    with open(patch, "rb") as file:
        for line in file:
            line = line.rstrip(b"\t\r\n")
            if line.startswith(b"diff --git a/"):
                path = line[len(b"diff --git a/") : (len(line) + len(b"diff --git")) // 2]
            elif line.startswith(b"deleted file mode "):
                folders.add(os.path.dirname(path))
            elif line.startswith(b"rename from "):
                folders.add(os.path.dirname(line[len(b"rename from ") :]))
            elif line.split(b"\t")[0] == b"+++ /dev/null" and before.startswith(b"--- a/"):
                folders.add(os.path.dirname(before[len(b"--- a/") :].split(b"\t")[0]))
            elif line.startswith(b"+++ "):
                named = line[len(b"+++ ") :].split(b"\t")[0]
                changed.update((named, named.partition(b"/")[2]))  # with the side and without
            before = line
    forget_modules(changed)
    for folder in folders:
        if own_path(folder):
            shutil.rmtree(os.path.join(folder, b"__pycache__"), ignore_errors=True)


class Channel:
    """The first lines of the channel; the watcher goes on with its numbers."""

    def __init__(self, fd, nonce):
        self.fd, self.nonce, self.lines = fd, nonce, 0

    def say(self, line):
        data = ("%s %s\n" % (self.nonce, json.dumps(dict(line, n=self.lines)))).encode("ascii")
        self.lines += 1
        while data:
            data = data[os.write(self.fd, data) :]

    def tell(self, path, most):
        """The text of a test file."""
        data = ""
        if os.path.isfile(path) and os.path.getsize(path) <= most:
            with open(path, "rb") as file:
                data = base64.b64encode(zlib.compress(file.read())).decode("ascii")
        self.say({"kind": "file", "path": path, "data": data})


def rewrite(path, digest, edits):
    """Make edits in a test file, which must be the one they are for."""
    with open(path, "rb") as file:
        data = file.read()
    if hashlib.sha256(data).hexdigest() != digest:
        sys.stdout.write("%s is not what it is over the reference\n" % path)
        sys.stdout.flush()
        sys.exit(TESTS_DIFFER)
    edits.sort(key=lambda one: one[:2])  # of one place, in their order
    for start, end, text in reversed(edits):
        data = data[:start] + text.encode("utf-8") + data[end:]
    with open(path, "wb") as file:
        file.write(data)
    forget_modules([os.fsencode(path)])


def prepare():
    """All of it; gives the argument vector that follows."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "prepare.json")) as file:
        job = json.load(file)
    os.chdir(job["workdir"])
    channel = Channel(job["channel_fd"], job["nonce"])
    for line in job["says"]:
        channel.say(line)
    given = [[way[0], *way[1:2], "-R", *way[2:]] for way in WAYS] if job["reverse"] else WAYS
    if job["bare"] and not job["reverse"]:
        given = [*WAYS, *BARE_WAYS]
    if not job["reverse"] and without_context(os.path.join(here, "candidate.diff")):
        given = [[*TESTS_WAY, "--unidiff-zero"], *given]
    for name, ways, code in (("candidate.diff", given, PATCH_FAILED), ("tests.diff", (TESTS_WAY,), TESTS_FAILED)):
        if name == "tests.diff" and not restore(job["restore"], job["commit"]):
            fail(RESTORE_FAILED)
        path = os.path.join(here, name)
        forget_compiled(path)
        names = job["names"] if name == "candidate.diff" else None
        if os.path.getsize(path) and apply(path, ways, names, job["headed"]) is None:
            fail(code)
    for path in job["reads"]:
        channel.tell(path, job["read_bytes"])
    for path, digest, edits in job["rewrites"]:
        rewrite(path, digest, edits)
    for name in ("prepare.json", "candidate.diff", "tests.diff", "prepare.py"):
        os.unlink(os.path.join(here, name))
    return [job["workdir"], *job["watch"]]


def guarded():
    try:
        return prepare()
    except OSError as error:
        if error.errno in SHORT:
            hindered(str(error))
        if error.errno == errno.ENOSPC:
            fail(PATCH_FAILED)
        raise


def in_child(said):
    """Prepare in this process, and say what came of it: an exit code, or what follows."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    code = 1
    try:
        word = json.dumps(guarded())
        code = 0
    except SystemExit as ended:
        word = json.dumps(ended.code)
    except BaseException:
        traceback.print_exc()
        word = "1"
    with os.fdopen(said, "w") as file:
        file.write(word + "\n")
    sys.stderr.flush()
    os._exit(code)


def main():
    """The tests' process, of which the kernel tells all others what it has read and written, must be the same whatever
    the job said: what prepares is another process, for which it does not wait, so that its counts are added to none."""
    os.dup2(1, 2)  # one stream: what the tests print is for people only
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    heard, said = os.pipe()
    if not os.fork():
        os.close(heard)
        in_child(said)
    os.close(said)
    with os.fdopen(heard) as file:
        word = file.read()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(-1, 0)  # until it is gone
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if not word.endswith("\n"):  # it was killed
        os.kill(os.getpid(), signal.SIGKILL)
    follows = json.loads(word)
    if isinstance(follows, int):
        sys.exit(follows)
    os.chdir(follows[0])
    os.execv(follows[1], follows[1:])


try:
    main()
except OSError as error:
    if error.errno in SHORT:
        hindered(str(error))
    raise
