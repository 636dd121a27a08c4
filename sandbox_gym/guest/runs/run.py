"""One run as the supervisor sees it: pipes, caps, clocks, and the result."""

import fcntl
import json
import os
import selectors
import socket
import time

from . import init_client

_READ = 1 << 17
CHANNEL_MAX = (16 << 20) + 4
_STUCK_S = 15.0
_UNWATCHED_S = 0.005
"""So long a run's pipes keep what it prints: most runs are over by then, and are read once."""
_CPUS = os.cpu_count() or 1
_NO_CAP = 1 << 20
_STACKS = 1 << 30
"""Where data are capped and not memory, what a runtime's threads may set aside for stacks and never touch, such as
Java's; the peak then tells what was used."""
_FILES = 64 << 20
"""Of a peak: libraries and other files that are mapped, which are no data."""
_CPU_GRACE = 1.2
"""A program is over its CPU time at its limit, and killed at this much of it: the host can tell little from much."""
_LOOK_S = 0.05
"""Between two looks at a run's processes where no cgroup counts their CPU time."""


class Run:
    def __init__(self, supervisor, header, body, blobs):
        self._supervisor = supervisor
        self._header = header
        self._files = {path: blobs[number] for path, number in header["files"].items()}
        self.id = header["id"]
        self.backlog = bytearray(body)
        self._received, self._noted = len(body), 0
        self._input_left = header["stdin_size"] - len(body)
        self._limits = header["limits"]
        self.workdir = header.get("workdir", "")
        self.quiet = header["mode"] == "session"  # nobody listens between its calls
        self._input = self._channel = None
        self._opened = self._relay_ended = False
        self._outputs = {}
        self._pipes = {}
        self._unwatched = set()
        self._passed_on = 0
        self._over = False
        self._dead = False
        self._late = False
        self._report = b""
        self.why = ""
        self.broken = ""

    # -- start

    def start(self, uid, workdir, limit_data):
        header, limits = self._header, self._limits
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": workdir, "TMPDIR": "/tmp", "LANG": "C.UTF-8",
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        }  # fmt: skip
        environment.update(header["env"])
        spec = {key: header[key] for key in ("mode", "argv", "main", "entry_point", "recursion_limit", "requires")}
        spec["implicit_imports"] = header["implicit_imports"]
        spec["own_workdir"] = not self.workdir
        processes, cpu_s = limits["processes"] + (0 if uid else 4), _CPU_GRACE * limits["cpu_time_s"]
        if self._supervisor.shared_uid:
            processes = _NO_CAP  # the kernel counts a user's processes over all boxes; the box's own cap holds them
        spec["limits"] = dict(limits, processes=processes, cpu_time_s=cpu_s)
        spec["files"] = sorted(header["files"])
        spec["channel"] = header["channel"] in ("capture", "relay") or header.get("captures", False)
        stacks = _STACKS if header["mode"] == "exec" else 0
        spec["data_bytes"] = limits["memory_bytes"] + (16 << 20) + stacks if limit_data else 0
        self._peak_bytes = limits["memory_bytes"] + _FILES if limit_data and stacks else 0
        spec.update(env=environment, uid=uid, workdir=workdir)
        self._evidence = self._supervisor.evidence
        self._counted = self._evidence.counters()
        self._starvation = self._supervisor.starvation
        self._open(spec, [self._files[path].fd for path in spec["files"]])
        # only now: an earlier init, which the start may have ended, takes its sum with it
        self._evidence.begin()
        self._started = time.monotonic()
        self._starvation.begin(self._started, 0 if self.quiet else limits["wall_time_s"])
        self._next_cpu_check = self._started + self._cpu_pause(limits["cpu_time_s"])

    def _open(self, spec, files):
        stdin_r, stdin_w = os.pipe2(os.O_CLOEXEC)
        stdout_r, stdout_w = os.pipe2(os.O_CLOEXEC)
        stderr_r, stderr_w = os.pipe2(os.O_CLOEXEC)
        fds = [stdin_r, stdout_w, stderr_w] + files
        self._channel = channel = None
        if spec["channel"]:
            self._channel, channel = socket.socketpair()
            self._channel.setblocking(False)
            fds.append(channel.fileno())
        self._supervisor.inits.run(spec, fds, self)
        for fd in (stdin_r, stdout_w, stderr_w):
            os.close(fd)
        if channel is not None:
            channel.close()
        self._watch_output("stdout", stdout_r, self._limits["stdout_bytes"])
        self._watch_output("stderr", stderr_r, self._limits["stderr_bytes"])
        self._open_input(stdin_w)

    def _open_input(self, stdin_w):
        """Input goes to fd 0, or to fd 3 where the program is called over its channel."""
        self._input, self._input_is_channel, self._opened = stdin_w, False, True
        mode = self._header["channel"]
        if self._channel is not None:
            cap = 0 if mode == "relay" else CHANNEL_MAX
            self._outputs["channel"] = [bytearray(), cap]
            self._register(self._channel, selectors.EVENT_READ, self._on_channel)
        if mode in ("capture", "relay") and self._header["mode"] != "exec":
            os.close(stdin_w)
            self._input_is_channel = True
            self._input = self._channel.fileno()
        else:
            fcntl.fcntl(stdin_w, fcntl.F_SETFL, os.O_NONBLOCK)
        self._writing = False
        self._pump()

    def _register(self, file, events, callback):
        self._supervisor.programs.register(file, events, callback)

    def _forget(self, file):
        self._supervisor.programs.unregister(file)

    # -- input

    def taken(self):
        """How much of its input has gone since that was last noted, to the program or because it wants none."""
        return self._received - len(self.backlog) - self._noted

    def take_note(self):
        """The same, noted."""
        taken = self.taken()
        self._noted += taken
        return taken

    def more_input(self, body):
        self._received += len(body)
        self._input_left -= len(body)
        self.backlog += body
        if self._opened:
            self._pump()

    def relay_in(self, body, eof):
        self._received += len(body)
        self.backlog += body
        self._relay_ended = self._relay_ended or eof
        if self._opened:
            self._pump()

    def _pump(self):
        """Write what the program takes now; wait for room when it takes no more; close when all is written."""
        if self._input is None:
            self.backlog.clear()
            return
        try:
            while self.backlog:
                written = os.write(self._input, memoryview(self.backlog)[:65536])
                del self.backlog[:written]
        except BlockingIOError:
            pass
        except OSError:  # the program closed its end: it wants no more
            self.backlog.clear()
            self._close_input()
            return
        relay = self._header["channel"] in ("relay", "stdio")
        done = not self.backlog and (self._relay_ended if relay else self._input_left <= 0)
        if done:
            self._close_input()
        else:
            self._want_write(bool(self.backlog))

    def _want_write(self, wanted):
        if self._input_is_channel:
            if self._channel is not None:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
                self._supervisor.programs.modify(self._channel, events, self._on_channel)
        elif wanted != self._writing:
            if wanted:
                self._register(self._input, selectors.EVENT_WRITE, self._pump)
            else:
                self._forget(self._input)
            self._writing = wanted

    def _close_input(self):
        if self._input is None:
            return
        self._want_write(False)
        if self._input_is_channel:
            try:
                self._channel.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the other end is gone
        else:
            os.close(self._input)
        self._input = None

    # -- output

    def _watch_output(self, name, fd, cap):
        os.set_blocking(fd, False)
        self._outputs[name] = [bytearray(), cap]
        self._pipes[name] = fd
        self._unwatched.add(name)
        if self._header["channel"] in ("relay", "stdio"):  # somebody waits for it
            self._watch_all()

    def _watch_all(self):
        for name in self._unwatched:
            self._register(self._pipes[name], selectors.EVENT_READ, lambda name=name: self._on_output(name))
        self._unwatched = set()

    def _read_all(self):
        """Nothing that lives holds the other ends: what the pipes and the channel have is all there will be. Ends that
        the program sent into sockets of its own are open until the kernel collects those; nobody waits for that."""
        for name in list(self._pipes):
            while self._on_output(name):
                pass
            self._end_output(name)
        if self._channel is not None:
            while self._on_channel():
                pass
            self._end_channel()

    def _on_output(self, name):
        """Take what is there; False when that is all for now, or for good."""
        try:
            data = os.read(self._pipes[name], _READ)
        except BlockingIOError:
            return False
        if data:
            self._keep(name, data)
        else:
            self._end_output(name)
        return bool(data)

    def _end_output(self, name):
        fd = self._pipes.pop(name, -1)
        if fd < 0:
            return
        if name in self._unwatched:
            self._unwatched.remove(name)
        else:
            self._forget(fd)
        os.close(fd)
        if name == "stdout" and self._header["channel"] == "stdio":
            self._supervisor.send({"op": "chan", "id": self.id, "eof": True})

    def _keep(self, name, data):
        kept = self._outputs[name]
        if name == "stdout" and self._header["channel"] == "stdio":
            self._pass_on(data)
            return
        room = kept[1] - len(kept[0])
        kept[0] += data[:room]
        if len(data) > room:
            self.kill("output_limit")

    def _pass_on(self, data):
        """Standard output of a dialogue goes to the other program as it comes."""
        self._passed_on += len(data)
        if self._passed_on > self._limits["stdout_bytes"]:
            self.kill("output_limit")
        else:
            self._supervisor.send({"op": "chan", "id": self.id, "eof": False}, data)

    def _on_channel(self):
        """Take what is there; False when that is all for now, or for good."""
        if self.backlog:
            self._pump()
        try:
            data = self._channel.recv(_READ)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._end_channel()
        elif self._header["channel"] == "relay":
            self._supervisor.send({"op": "chan", "id": self.id, "eof": False}, data)
        else:
            self._keep("channel", data)
        return bool(data)

    def _end_channel(self):
        if self._channel is not None and self._header["channel"] == "relay":
            self._supervisor.send({"op": "chan", "id": self.id, "eof": True})
        self._close_channel()

    def _close_channel(self):
        if self._channel is not None:
            if self._input_is_channel:
                self._input = None
                self.backlog.clear()
            self._forget(self._channel)
            self._channel.close()
            self._channel = None

    # -- end

    def reported(self, data):
        """What init says, when nothing of the run lives: what its pipes hold is all there will be."""
        self._report = data
        self._over = True
        if not data.startswith(init_client.BROKEN):
            self.all_dead()

    def unreported(self):
        """Init's end closed without a word: the zygote tells when it is gone, and with its PID namespace everything."""
        if self._supervisor.tier == "uid":
            raise OSError("an init ended, and what its run started may live on")
        self._over = True

    def all_dead(self):
        self._dead = True
        self._read_all()

    def finished(self):
        return self._dead and self._over

    def kill(self, why):
        if not self.why:
            self.why = why
            self._killed = time.monotonic()
            self._starvation.look(self._killed)
            self._supervisor.inits.kill()

    def tick(self):
        """Enforce the clocks; seconds until the next look."""
        now = time.monotonic()
        if self._dead:
            return 0.05
        if self._unwatched:
            if now - self._started < _UNWATCHED_S:
                return _UNWATCHED_S
            self._watch_all()
        if self.why and now - self._killed > _STUCK_S:
            raise OSError("a run can't be killed")
        left = self._started + self._limits["wall_time_s"] - now
        if left <= 0:
            if not self._late:  # what has come while this supervisor had no CPU counts: it may have ended in time
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
        """Seconds until the next look at the CPU time: no sooner than it may be used up, but where only looks tell of
        processes that nobody reaps. A session waits for long, and its cells have clocks of their own."""
        return max(0.1, unused_s / _CPUS) if self._evidence.has_cpu_cgroup or self.quiet else _LOOK_S

    def _cpu_s(self):
        """What all of the run's processes used: the cgroup's word, since init reaps only what its parent left."""
        account = self._account
        used = self._evidence.used_s() - (account.get("own_s", 0.0) if self._evidence.has_cpu_cgroup else 0.0)
        return max(0.0, used, account.get("cpu_s", 0.0))

    def close(self):
        self._close_input()
        self._close_channel()
        try:
            self._account = json.loads(self._report.decode("ascii")) if self._report else {}
        except ValueError:
            self._account = {}
        self.broken = self._account.get("broken", "")
        self._used_s = self._cpu_s()

    def cpu_s(self):
        """Of a run that was closed."""
        return self._used_s

    def starved_s(self):
        return self._starvation.seconds()

    def wall_s(self):
        return self._account.get("wall_s", time.monotonic() - self._started)

    def result(self):
        account = self._account
        tamper = []
        ours = self.why and self._header["mode"] == "check"  # the kill of a test's parent leaves its child
        if account.get("left") and not ours:
            tamper.append("processes_left_behind")
        if account.get("seen"):
            tried = ["%s %d times" % pair for pair in sorted(account["seen"].items())]
            tamper.append("debugging: " + ", ".join(tried))
        bodies = [bytes(self._outputs[name][0]) for name in ("stdout", "stderr", "channel") if name in self._outputs]
        bodies += [b""] * (3 - len(bodies))
        header = {
            "op": "result", "id": self.id, "trace": self._header.get("trace", ""), "ending": self._ending(),
            "wall_s": account.get("wall_s", time.monotonic() - self._started), "cpu_s": self._used_s,
            "starved_s": self.starved_s(),
            "sizes": [len(body) for body in bodies], "tamper": tamper,
        }  # fmt: skip
        return header, b"".join(bodies)

    def _ending(self):
        """What was seen of the end. Whose doing it was, the host says: it also sees what is around the box."""
        account, reported = self._account, bool(self._report)
        status, peak = account.get("status", 0), account.get("peak_kb", 0) * 1024
        killed = os.WIFSIGNALED(status)
        counted = [now - before for now, before in zip(self._evidence.counters(), self._counted)]
        words = bytes(self._outputs["stderr"][0][:300]).decode("utf-8", "replace").strip()
        return {
            "stopped": self.why, "reported": reported,
            "exit_code": os.WEXITSTATUS(status) if reported and not killed else None,
            "signal": os.WTERMSIG(status) if reported and killed else None,
            "unstarted": words if account.get("unstarted") else None,  # init's word, of a process that was no program
            "peak_bytes": peak, "data_over": 0 < self._peak_bytes < peak,
            "oom_kills": counted[0], "memory_full": self._evidence.memory_full(self._counted[1]),
            "forks_denied": counted[2], "processes_full": self._evidence.processes_full(counted[3]),
        }  # fmt: skip
