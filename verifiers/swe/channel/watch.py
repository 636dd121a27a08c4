"""The watcher: starts a repository's tests in a box and reports how each ended, on a channel that is not their output.

This file and the runner, guard.py with plugin.py, are text to us: they are put side by side into a
folder of the box and read before any code of the candidate's runs. This one is started as a script, by the interpreter
that the repository is installed for. It needs Python 3.6 and imports nothing of ours. It reads the job from standard
input, keeps the nonce and the channel to itself, and never imports a line of the repository. The runner, a second
interpreter, gets neither: it reports on a pipe, with a key of its own, which test begins and how it ended. The watcher
has the clock: a test that takes too long is killed with its process, and the rest go on in another.

On the channel: lines of the nonce, a blank and a JSON object. reader.py is the other end and has their meaning.
"""

import contextlib
import ctypes
import errno
import json
import os
import secrets
import select
import signal
import subprocess
import sys
import time

DETAIL = 600  # characters of a failure's text
ID = 1 << 15  # characters of a test's id
LINE = 1 << 16  # bytes read at once from the runner
FIELDS = frozenset(["kind", "id", "status", "detail", "sign", "what", "hook", "file"])  # of its lines
PR_SET_DUMPABLE = 4
THREADS = 4096  # whose waits are read: who forks without end must not keep the clock from its work
HINDERED = 45  # as in prepare.py
SHORT = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EIO)
STARTED = []  # runners: from the first one on, code of the candidate's runs beside this process
_FILES = """conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml tox.ini setup.cfg pyproject.toml
    sitecustomize.py usercustomize.py entry_points.txt"""
STEERING = frozenset(_FILES.split())  # what makes another test runner of the next one
WITHOUT_FOLDER = "import sys; sys.path.pop(0)\n"  # -c puts the working folder first, and that is the candidate's


class Channel:
    """The lines that the judge reads."""

    def __init__(self, fd, nonce, said):
        self.fd, self.nonce, self.lines = fd, nonce, said

    def say(self, **line):
        line["n"] = self.lines
        self.lines += 1
        data = (self.nonce + " " + json.dumps(line) + "\n").encode("ascii")
        while data:
            data = data[os.write(self.fd, data) :]


class Watch:
    """What is known of the tests so far. `wanted` maps the runner's ids to the row's, or is None for all."""

    def __init__(self, job, channel):
        self.job, self.channel = job, channel
        self.end_s = time.monotonic() + job["run_time_s"]
        self.done = set()
        self.current, self.began_s, self.ended = None, 0.0, False
        self.runner, self.waits = 0, {}  # its PID, and the waits of its threads as the test began
        self.key, self.prefix, self.began_at = "", b"", time.time()

    def new_key(self):
        """Of the next runner: no other process of the sandbox can write a line."""
        self.key = secrets.token_hex(16)
        self.prefix = self.key.encode("ascii") + b" "

    def deadline_s(self):
        limit = self.job["test_time_s"] if self.current is not None else self.job["collect_time_s"]
        return min(self.end_s, self.began_s + limit)

    def take(self, line):
        """One line of the runner's; any other line is reported and otherwise ignored."""
        line, spoken = line[len(self.prefix) :] if line.startswith(self.prefix) else b"", line
        try:
            said = {key: str(value) for key, value in json.loads(line.decode("utf-8")).items() if key in FIELDS}
        except (ValueError, AttributeError, RecursionError):
            said = {}
        kind, test = said.get("kind"), said.get("id", "")[:ID]
        if kind == "start":
            self.current, self.began_s, self.waits = test, time.monotonic(), waits(self.runner)
        elif kind == "done":
            self.finish(test, said.get("status"), said.get("detail", ""))
        elif kind == "end":
            self.ended = True
        elif kind in ("collect", "sign", "hook"):
            self.channel.say(**{key: value[:ID] for key, value in said.items()})
        else:
            self.channel.say(kind="sign", sign="garbled", what=repr(spoken[:80]))

    def waited_s(self):
        """For how long at most one thread wanted a CPU in vain since the test began."""
        return max([now - self.waits.get(thread, 0.0) for thread, now in waits(self.runner).items()], default=0.0)

    def finish(self, test, status, detail, **more):
        if test != self.current:
            self.channel.say(kind="sign", sign="result_without_start", what=test)
            status = "ERROR"
        wall_s = time.monotonic() - self.began_s
        self.done.add(test)
        self.channel.say(kind="done", id=test, status=status, detail=detail[:DETAIL], wall_s=round(wall_s, 4), **more)
        self.current, self.began_s = None, time.monotonic()


def waits(pid):
    """{thread: seconds in a run queue} of a process and all that it started; empty where the kernel does not say."""
    found, left = {}, [pid]
    while left and len(found) < THREADS:
        pid, threads = left.pop(), []
        with contextlib.suppress(OSError):
            threads = os.listdir("/proc/%d/task" % pid)
        for thread in threads:
            folder = "/proc/%d/task/%s/" % (pid, thread)
            with contextlib.suppress(OSError, ValueError, IndexError):  # it may have ended by now, and others not
                with open(folder + "schedstat") as file:
                    found[folder] = int(file.read().split()[1]) / 1e9
                with open(folder + "children") as file:
                    left += [int(child) for child in file.read().split()]
    return found


def watch_all(job, channel):
    """Runners, one after the other, until one of them came to its end or no test is left to blame."""
    state = Watch(job, channel)
    rounds, code = 0, None
    while rounds <= job["restarts"]:
        rounds += 1
        blamed, code = watch_one(job, state)
        if not blamed or state.ended or time.monotonic() >= state.end_s:
            break
        strange = changed(job["workdir"], state.began_at)
        if strange:  # the next runner would be the candidate's
            channel.say(kind="sign", sign="environment_changed", what=strange[:ID])
            break
    channel.say(kind="end", complete=state.ended, exit_code=code, rounds=rounds, tests=len(state.done))


def changed(workdir, since_s):
    """A file of the interpreter's environment, compiled ones too, or of the repository's test configuration, that
    changed since; empty where none did. The kernel keeps this time, and no owner can set it."""
    environment = os.path.dirname(os.path.dirname(sys.executable))  # sys.prefix is not a venv's without its site.py
    for top, names in ((environment, None), (workdir, STEERING)):
        for folder, folders, files in os.walk(top):
            if names is not None and "__pycache__" in folders:
                folders.remove("__pycache__")
            for name in files if names is None else [one for one in files if one in names or one.endswith(".pth")]:
                path = os.path.join(folder, name)
                with contextlib.suppress(OSError):
                    if os.lstat(path).st_ctime >= since_s:
                        return path
    return ""


def watch_one(job, state):
    """One runner; whether a test is to blame that it did not come to its end, and the exit code."""
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    state.new_key()
    told = dict(job, skip=sorted(state.done), fd=write_end, key=state.key)
    told.pop("nonce")
    told.pop("runner_source")
    argv = [sys.executable, *job["interpreter_flags"], "-c", WITHOUT_FOLDER + job["runner_source"]]
    runner = subprocess.Popen(
        argv, stdin=subprocess.PIPE, pass_fds=[write_end], cwd=job["workdir"], start_new_session=True
    )
    STARTED.append(runner.pid)
    state.runner = runner.pid
    os.close(write_end)
    state.current, state.began_s = None, time.monotonic()
    try:
        with contextlib.suppress(OSError):  # it may have ended by now; then its exit code says so
            runner.stdin.write(json.dumps(told).encode("utf-8"))
            runner.stdin.close()
        late = listen(read_end, state)
        waited_s = state.waited_s() if late else 0.0
    finally:
        os.close(read_end)
        if not state.ended:
            kill(runner)
    try:
        runner.wait(timeout=10)
    except subprocess.TimeoutExpired:  # its threads or its exit handlers hang; all its tests are reported
        kill(runner)
        runner.wait()
    if state.ended:
        return False, runner.returncode
    return blame(state, late, waited_s, runner.returncode), runner.returncode


def kill(runner):
    with contextlib.suppress(OSError):
        os.killpg(runner.pid, signal.SIGKILL)


def listen(fd, state):
    """Take lines until the runner's end or the end of its pipe; true when time was up first."""
    held = b""
    while not state.ended:
        left_s = state.deadline_s() - time.monotonic()
        if left_s <= 0:
            return True
        if not select.select([fd], [], [], left_s)[0]:
            continue
        data = os.read(fd, LINE)
        if not data:
            return False
        *lines, held = (held + data).split(b"\n")
        for line in lines:
            state.take(line)
        if len(held) > 16 * LINE:
            state.channel.say(kind="sign", sign="garbled", what="an endless line")
            held = b""
    return False


def blame(state, late, waited_s, code):
    """Report the test that was running when the runner was lost, and leave it out of the next; false where none was.
    `late`: the clock ended it, after `waited_s` in which it wanted a CPU in vain."""
    if state.current is None:
        why = "collection took too long" if late else "the test process ended with %s" % code
        state.channel.say(kind="crash", detail=why, waited_s=round(waited_s, 4))
        return False
    if late:
        state.finish(state.current, "TIMEOUT", "took too long", waited_s=round(waited_s, 4))
    else:
        state.finish(state.current, "ERROR", "the test process ended with %s" % code)
    return True


def watch():
    job = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    with contextlib.suppress(OSError, AttributeError):  # no libc to ask: the nonce is then as safe as its process
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # no other process of this user reads our memory or fds
    here = os.path.dirname(os.path.abspath(__file__))
    job["runner_source"] = ""
    for name in job["runner_scripts"]:
        with open(os.path.join(here, name), encoding="utf-8") as file:
            job["runner_source"] += file.read()  # now, before a test can rewrite it for the next runner
    fd = os.dup(job["channel_fd"])  # above, closed on exec
    os.close(job["channel_fd"])
    channel = Channel(fd, job["nonce"], job["said"])
    channel.say(kind="begin", python="%d.%d.%d" % sys.version_info[:3])
    watch_all(job, channel)


if __name__ == "__main__":
    try:
        watch()
    except OSError as error:
        if STARTED or error.errno not in SHORT:
            raise
        sys.stdout.write("%s\n" % error)
        sys.stdout.flush()
        sys.exit(HINDERED)
