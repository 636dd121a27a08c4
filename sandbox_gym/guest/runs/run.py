"""One run as the supervisor sees it: its start, its clocks and caps, and its result."""

import json
import os
import time

from . import init_client
from .shared_process import SharedProcess
from .streams import NAMES, Streams

_STUCK_S = 15.0
_UNWATCHED_S = 0.005
"""Output stays in a run's pipes for this long: most runs are over by then, and are read once."""
_DIRECT_S = 0.05
"""The same for two programs that talk to each other, whose words go elsewhere."""
_CPUS = os.cpu_count() or 1
_NO_CAP = 1 << 20
_STACKS = 1 << 30
"""Added to a cap of data where memory is not capped: threads of a runtime such as Java's reserve stacks that they never
touch. The peak shows what was used."""
_FILES = 64 << 20
"""Subtracted from a peak: mapped libraries and files, which are no data."""
_CPU_GRACE = 1.2
"""A program is killed at this multiple of its CPU time limit, so that the host sees whether it was slightly over."""
_NAMES = frozenset(("main.py", "test.py"))
"""Of an answer's files, where it did not name them itself."""
_LOOK_S = 0.05
"""Seconds between two readings of /proc where no cgroup counts CPU time."""


def signs_in(account):
    """Signs of tampering in an init's account of a process."""
    signs = ["processes_left_behind"] if account.get("left") else []
    if account.get("seen"):
        tried = ["%s %d times" % pair for pair in sorted(account["seen"].items())]
        signs.append("debugging: " + ", ".join(tried))
    return signs


def _kind(header):
    """The kind of a program whose init may serve other tasks' programs of the kind; empty where it may not. An init's
    memory keeps words of what it ran: of an answer's kind are those that say nothing which an answer chose."""
    if header["mode"] == "ask":
        return "test"
    chosen = header["argv"] or header["requires"] or header["env"] or not _NAMES.issuperset(header["files"])
    return "answer" if header["mode"] in ("fork", "call") and not chosen else ""


class Run:
    """One run of the supervisor's. `header` and `body` are its frame, `blobs` the contents that its files refer to;
    `passed`: see `Streams`."""

    def __init__(self, supervisor, header, body, blobs, passed=None):
        self._supervisor = supervisor
        self._header = header
        self._files = {path: blobs[number] for path, number in header["files"].items()}
        self.id = header["id"]
        self.streams = Streams(header, body, supervisor.programs, supervisor.send, passed)
        self._limits = header["limits"]
        self.workdir = header.get("workdir", "")
        self.joins, self._keeps, self._looks_shared = header["join"], header["keep"], header["shared"]
        self.kept = self._joined = False
        self._peak_bytes = 0
        self.is_session = header["mode"] == "session"  # the host waits for nothing between its calls
        self._over = False
        self._dead = False
        self._late = False
        self._report = b""
        self.why = ""
        self.broken = ""

    # -- start

    def start(self, uid, workdir, limit_data):
        """Start the program in a process of its own, which further runs may join."""
        spec = self._spec(uid, workdir, limit_data)
        self._supervisor.init_client.prepare(spec["libraries"])
        ends = self._begin(spec["channel"])
        files = [self._files[path].fd for path in spec["files"]]
        fds = ends[:3] + files + ends[3:]
        if self._looks_shared:
            ends_alone = self._supervisor.tier != "uid"
            self._supervisor.shared = SharedProcess(
                self._supervisor.selector, self._evidence, self._through, ends_alone
            )
            fds.append(self._supervisor.shared.its_end)
        self._supervisor.init_client.run(spec, fds, self)
        if self._looks_shared:
            os.close(fds[-1])
        self.streams.begin()
        # after the start, which may have ended an earlier init: its CPU time leaves the sum with it
        self._evidence.begin()
        self._clock()

    def join(self, shared):
        """Have the process that was kept run the program once more, on this run's input; False where it is gone."""
        ends = self._begin(self._has_channel(), shared.counted)
        self._evidence.go_on(shared.reading)  # what it used since the input before counts for this one
        if not shared.give(ends, self._through, last=not self._keeps):
            self.streams.abandon()
            return False
        self._supervisor.init_client.hand_over(self)
        self._joined = True
        self.streams.begin()
        self._clock()
        return True

    def _has_channel(self):
        return self._header["channel"] in ("capture", "relay", "direct") or self._header.get("captures", False)

    def _begin(self, with_channel, counted=None):
        """`counted`: the counters as they were at the end of the process's last run."""
        self._evidence = self._supervisor.evidence
        self._counted = self._evidence.counters() if counted is None else counted
        self._starvation = self._supervisor.starvation
        return self.streams.make(with_channel)

    def _clock(self):
        limits = self._limits
        self._started = time.monotonic()
        measured_s = 0 if self.is_session else limits["wall_time_s"]
        self._starvation.begin(self._started, measured_s, goes_on=self._joined)
        self._next_cpu_check = self._started + self._cpu_pause(limits["cpu_time_s"])

    def _spec(self, uid, workdir, limit_data):
        header, limits = self._header, self._limits
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin" + (":/opt/sandbox-gym/bin" if self.is_session else ""),
            "HOME": workdir, "TMPDIR": "/tmp", "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        }  # fmt: skip
        if not self.is_session:
            environment.update(USER="user", LOGNAME="user")
        environment.update(header["env"])
        spec = {key: header[key] for key in ("mode", "argv", "main", "entry_point", "recursion_limit", "requires")}
        spec["implicit_imports"], spec["libraries"] = header["implicit_imports"], header["libraries"]
        spec["own_workdir"] = not self.workdir
        processes, cpu_s = limits["processes"] + (0 if uid else 4), _CPU_GRACE * limits["cpu_time_s"]
        if self._supervisor.shared_uid:
            processes = _NO_CAP  # the kernel counts a user's processes over all boxes; the box's cgroup limits them
        spec["limits"] = dict(limits, processes=processes, cpu_time_s=cpu_s)
        spec["files"] = sorted(header["files"])
        spec["channel"], spec["shared"], spec["kind"] = self._has_channel(), self._looks_shared, _kind(header)
        stacks = _STACKS if header["mode"] == "exec" else 0
        spec["data_bytes"] = limits["memory_bytes"] + (16 << 20) + stacks if limit_data else 0
        self._peak_bytes = limits["memory_bytes"] + _FILES if limit_data and stacks else 0
        spec.update(env=environment, uid=uid, workdir=workdir)
        return spec

    # -- end

    def _through(self):
        """The process is through with this run's input, and waits for another. It counts as an exit with 0."""
        if self.why or self._dead:
            return
        if not self._keeps:  # it has no other input, and ends as any process does
            return self._supervisor.shared.close()
        self.streams.read_all()
        self._check_output()
        if self.why:
            return
        self._wall_s = time.monotonic() - self._started
        self._kept_s = self._evidence.used_s(until=self._supervisor.shared.reading)
        self.kept = self._over = self._dead = True

    def reported(self, data):
        """Init's report: no process of the run lives, unless init itself failed."""
        self._report = data
        self._over = True
        if not data.startswith(init_client.BROKEN):
            self.all_dead()

    def unreported(self):
        """Init's socket closed without a report: the zygote reports its end, and its PID namespace ends with it."""
        if self._supervisor.tier == "uid":
            raise OSError("an init ended, and what its run started may live on")
        self._over = True

    def all_dead(self):
        self._dead = True
        self.streams.read_all()
        self._check_output()

    def finished(self):
        return self._dead and self._over

    def kill(self, why):
        if not self.why:
            self.why = why
            self._killed = time.monotonic()
            self._starvation.look(self._killed)
            self._supervisor.init_client.kill()

    def _check_output(self):
        if self.streams.over_limit:
            self.kill("output_limit")

    def tick(self):
        """Enforce caps and clocks; seconds until the next look."""
        now = time.monotonic()
        if self._dead:
            return 0.05
        self._check_output()
        if self.streams.unwatched:
            pause_s = _UNWATCHED_S if self._header["channel"] != "direct" else _DIRECT_S
            if now - self._started < pause_s:
                return pause_s
            self.streams.watch()
        if self.why and now - self._killed > _STUCK_S:
            raise OSError("a run can't be killed")
        left = self._started + self._limits["wall_time_s"] - now
        if left <= 0:
            if not self._late:  # one more turn: this supervisor may have had no CPU, and the run may have ended in time
                self._late = True
                return 0
            self.kill("wall_time_limit")
            return 0.1
        if now >= self._next_cpu_check:
            unused = _CPU_GRACE * self._limits["cpu_time_s"] - self._evidence.used_s()
            self._next_cpu_check = now + self._cpu_pause(unused)
            if unused < 0:
                self.kill("cpu_time_limit")
        return max(0.001, min(left, self._next_cpu_check - now, self._starvation.due_s(now)))

    def _cpu_pause(self, unused_s):
        """Seconds until the next reading of the CPU time: no sooner than it can be used up. Without a cgroup only
        readings see processes that end unreaped, so they are frequent; a session's are not, its cells have their own
        clocks."""
        return max(0.1, unused_s / _CPUS) if self._evidence.has_cpu_cgroup or self.is_session else _LOOK_S

    def _cpu_s(self):
        """CPU seconds of all processes of the run: from the cgroup, since init reaps orphans only. Of a process that
        ran more than this run the init's account is of all of them, and its own share is not known: what the init used
        for one run can't be subtracted from another."""
        account = self._account
        if self.kept:
            return max(0.0, self._kept_s)
        if self._joined:
            return max(0.0, self._evidence.used_s())
        used = self._evidence.used_s() - (account.get("own_s", 0.0) if self._evidence.has_cpu_cgroup else 0.0)
        return max(0.0, used, account.get("cpu_s", 0.0))

    def close(self):
        self.streams.close()
        try:
            self._account = json.loads(self._report.decode("ascii")) if self._report else {}
        except ValueError:
            self._account = {}
        self.broken = self._account.get("broken", "")
        if self.kept:  # how the process ended, if it has meanwhile, is not this run's end
            signs = {key: self._account[key] for key in ("left", "seen") if key in self._account}
            self._account = dict(signs, wall_s=self._wall_s)
        elif self._joined:  # the init measured the process, and this is its last input alone
            self._account["wall_s"] = time.monotonic() - self._started
        self.cpu_s = self._cpu_s()

    def starved_s(self):
        return self._starvation.seconds()

    def wall_s(self):
        return self._account.get("wall_s", time.monotonic() - self._started)

    def signs(self):
        """Signs of tampering in the init's report."""
        ours = self.why and self._header["mode"] == "check"  # a kill of the test's parent leaves its child
        return signs_in({key: value for key, value in self._account.items() if key != "left" or not ours})

    def result(self):
        bodies = [self.streams.kept(name) for name in NAMES]
        header = {
            "op": "result", "id": self.id, "trace": self._header.get("trace", ""), "ending": self._ending(),
            "wall_s": self.wall_s(), "cpu_s": self.cpu_s,
            "starved_s": self.starved_s(),
            "sizes": [len(body) for body in bodies], "tamper": self.signs(), "shared": self._joined,
        }  # fmt: skip
        return header, b"".join(bodies)

    def _ending(self):
        """How the run ended, without blame: the host decides whose fault it was, since it also sees outside the box."""
        account, reported = self._account, bool(self._report) or self.kept
        status, peak = account.get("status", 0), account.get("peak_kb", 0) * 1024
        killed = os.WIFSIGNALED(status)
        counters = self._evidence.counters()
        if self.kept:
            self._supervisor.shared.counted = counters
        counted = [now - before for now, before in zip(counters, self._counted)]
        return {
            "stopped": self.why, "reported": reported,
            "exit_code": os.WEXITSTATUS(status) if reported and not killed else None,
            "signal": os.WTERMSIG(status) if reported and killed else None,
            "unstarted": account.get("unstarted"), "unprepared": account.get("unprepared"),
            "peak_bytes": peak, "data_over": 0 < self._peak_bytes < peak,
            "oom_kills": counted[0], "memory_full": counted[0] > 0 and self._evidence.memory_full(self._counted[1]),
            "forks_denied": counted[2], "processes_full": not counted[2] or self._evidence.processes_full(counted[3]),
        }  # fmt: skip
