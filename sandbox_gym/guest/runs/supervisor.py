"""The supervisor: one channel to the host, one program at a time. Owns clocks, pipes and caps of runs.

Frames from the host: config, put, data, drop, run, chan, cancel, reset, ping. To the host: hello, result, chan, took,
beat, cancelled, reset, pong, broken. docs/design/ has the table. The supervisor always
reads the host: `took` bounds the input that programs have yet to take, and where the host has yet to take output the
programs wait, not the supervisor.
"""

import json
import os
import resource
import selectors
import signal
import sys
import time

from ..protocol import frames
from ..protocol.channel import Channel
from . import init_client, removal, zygote
from .evidence import Evidence, world_writable
from .run import Run, signs_in
from .starvation import Starvation

MAX_BLOBS = 256 << 20
TAKEN = frames.MAX_BACKLOG >> 2
"""Bytes of input taken after which `took` is sent."""
FINAL_S = 10.0
_SIGNS = 8


class Blob:
    """A file's content, while something refers to it."""

    def __init__(self, size):
        self.size = size
        self.fd = os.memfd_create("blob", os.MFD_CLOEXEC)

    def close(self):
        """Idempotent."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close


class Supervisor:
    """`programs`: `run(spec, beginning)` is a program in a process that executes no command, `prepare(sessions)` has it
    hold what programs, or sessions, have from their start, `load()` the libraries that some have from then on, too."""

    def __init__(self, read_fd, write_fd, programs):
        self._programs = programs
        self.selector = selectors.DefaultSelector()
        self.programs = selectors.DefaultSelector()
        """Pipes of programs; not polled while the host has yet to take output."""
        self._channel = Channel(read_fd, write_fd, self.selector, self._on_frame, self._beat)
        self.send = self._channel.send
        self._polling = False
        self._blobs = {}
        self._blob_bytes = 0
        self._receiving = None
        self._queue = []
        self._last_run = {}
        self._current = None
        self.shared = None
        """The process of a run that others of the same program may join."""
        self._signs = []
        """Signs of tampering in processes that ended when they had no input: the next result has them."""
        self._runs = 0
        self._cancelling = False
        self._beat_s = 0
        self._beaten = 0.0

    # -- the channel

    def serve(self):
        """Serve until the host's end closes and, in batch use, the last run is done."""
        channel = self._channel
        while not (channel.ended and self._current is None and not self._queue and not channel.waiting):
            if not channel.selectable and not channel.ended and self._backlog() < frames.MAX_BACKLOG:
                channel.read()
            self._poll_programs()
            _call_back(self.selector, self._pause())
            if self._current is not None and self._current.finished():
                self._finish()
            self._start_next()

    def send_final(self, header):
        """Send a last frame, if the host still reads."""
        self.send(header)
        self._channel.flush(FINAL_S)

    def _pause(self):
        """Seconds until something is due; None when nothing is. Sends the heartbeats of a run."""
        due_s = self._channel.due_s(self._current is None)
        if self._current is None:
            return None if self._channel.selectable or self._channel.ended else 0
        pause = self._current.tick()
        pause = pause if due_s is None else min(pause, due_s)
        self._beat()
        return min(pause, self._beat_s) if self._beat_s and not self._current.is_session else pause

    def _beat(self):
        now = time.monotonic()
        if self._current is not None and self._current.is_session:
            return
        if self._beat_s and now - self._beaten >= self._beat_s and not self._channel.waiting:
            self.send({"op": "beat"})
            self._beaten = now
            zygote.resume(self._zygote_pid)
            self.init_client.resume()

    def _backlog(self):
        runs = self._queue + ([self._current] if self._current else [])
        return sum(len(run.streams.backlog) for run in runs)

    def _poll_programs(self):
        """Poll programs only while the host takes their output; send `took` for the input that they took."""
        wanted = not self._channel.full
        if wanted != self._polling:
            self._polling = wanted
            if wanted:
                self.selector.register(self.programs, selectors.EVENT_READ, self._on_programs)
            else:
                self.selector.unregister(self.programs)
        run = self._current
        if run is not None and run.streams.taken() >= TAKEN:
            self.send({"op": "took", "id": run.id, "bytes": run.streams.note_taken()})

    def _on_programs(self):
        _call_back(self.programs, 0)

    def _on_frame(self, header, body):
        getattr(self, "_op_" + str(header.get("op")), self._unknown)(header, body)

    def _unknown(self, header, body):
        raise frames.BadFrame("no such operation: %r" % (header.get("op"),))

    # -- operations

    def _op_config(self, header, body):
        self.tier = header["tier"]
        self._dirs = header["dirs"]
        self._uid_base = header["uid_base"]
        self._limit_data = header["limit_data"]
        self.shared_uid = header.get("shared_uid", False)
        self._beat_s = header.get("beat_s", 0)
        sessions, own_network = bool(header.get("sessions")), header.get("own_network", False)
        self._programs.prepare(sessions)
        self._zygote_pid, sock = zygote.start(self.tier, own_network, sessions, self._programs)
        trusted = {1, os.getpid(), self._zygote_pid}
        self.init_client = init_client.InitClient(sock, self.selector, trusted, self._beat)
        if header.get("guests"):  # it shares its PID namespace with older processes
            trusted.update(int(name) for name in os.listdir("/proc") if name.isdigit())
        self.evidence = Evidence(header["cgroup"], trusted)
        self.starvation = Starvation(self.evidence, header["cgroup"], trusted, self._beat)
        self._world_writable = world_writable(self._dirs) if self.tier == "uid" else []
        self._reset_times()
        self._baseline_fds = len(os.listdir("/proc/self/fd"))
        # what programs use is an init's own network where each has one
        self._quiet_network = not own_network and not self.evidence.connections()
        self._network = self.evidence.network() if self._quiet_network else []
        version = "%d.%d.%d" % sys.version_info[:3]
        memory = "cgroup" if self.evidence.has_memory_cgroup else "rlimit"
        self.send({"op": "hello", "tier": self.tier, "python": version, "memory": memory})

    def _op_put(self, header, body):
        self._blob_bytes += header["size"]
        if self._blob_bytes > MAX_BLOBS:
            raise frames.BadFrame("files of over %d bytes" % MAX_BLOBS)
        self._receiving = self._blobs[header["blob"]] = Blob(header["size"])
        self._to_blob(body)

    def _to_blob(self, body):
        view = memoryview(body)
        while view:
            view = view[os.write(self._receiving.fd, view) :]

    def _op_drop(self, header, body):
        """Forget files; queued runs keep their own references."""
        self._receiving = None
        for number in header["blobs"]:
            self._blob_bytes -= self._blobs.pop(number).size

    def _op_data(self, header, body):
        if "id" not in header:
            self._to_blob(body)
            return
        for run in self._addressed(header):
            run.streams.add_input(body)

    def _addressed(self, header):
        """[the run that a frame names], started or queued; empty when it has ended."""
        runs = self._queue + ([self._current] if self._current else [])
        return [run for run in runs if run.id == header["id"]]

    def _op_run(self, header, body):
        self._last_run = header
        passed = self._channel.passed.popleft() if header["channel"] == "direct" else None
        self._queue.append(Run(self, header, body, self._blobs, passed))

    def _op_again(self, header, body):
        """The run before this one once more, on another input."""
        self._last_run = dict(self._last_run, id=header["id"], join=True, keep=header["keep"])
        self._last_run["stdin_size"] = header["stdin_size"]
        self._queue.append(Run(self, self._last_run, body, self._blobs))

    def _op_chan(self, header, body):
        for run in self._addressed(header):
            run.streams.add_relayed(body, header.get("eof", False))

    def _op_cancel(self, header, body):
        self._queue = []
        self._cancelling = True
        if self._current is not None:
            self._current.kill("cancelled")
        else:
            self._end_shared()
            self._cancelled()

    def _cancelled(self, run=None):
        """Report that runs were cancelled. `run`: the one that was killed, of which only the costs are sent."""
        self._cancelling = False
        costs = (run.cpu_s, run.wall_s(), run.starved_s()) if run else (0.0, 0.0, 0.0)
        self.send({"op": "cancelled", **dict(zip(("cpu_s", "wall_s", "starved_s"), costs))})

    def _op_ping(self, header, body):
        self.send({"op": "pong"})

    def _op_reset(self, header, body):
        for blob in self._blobs.values():  # no run needs them, whatever still refers to one
            blob.close()
        self._blobs, self._blob_bytes, self._receiving, self._signs = {}, 0, None, []
        why = "a run is still going on" if self._current is not None or self._queue else self._canary()
        self.send({"op": "reset", "ok": not why, "why": why, "oom_kills": self.evidence.oom_kills()})

    def _canary(self):
        """Why this box differs from its state before the first run; empty where it does not."""
        self._end_shared()
        inits = int(self.init_client.settle())
        sockets = inits + self.init_client.loaded
        left = len(self.evidence.program_pids()) - inits
        if left:
            return "%d processes are left" % left
        if len(os.listdir("/proc/self/fd")) - sockets != self._baseline_fds:
            return "file descriptors are left"
        if self._quiet_network and self.evidence.network() != self._network:
            return "its network was used, and keeps ports for a minute and its counters for good"
        for folder in self._dirs:
            if os.listdir(folder):
                return "%s is not empty" % folder
        return ""

    # -- runs

    def _start_next(self):
        while self._current is None and self._queue and not self._channel.full:
            self._runs += 1
            self._beaten = time.monotonic()
            self._current = self._queue.pop(0)
            if self._joined():
                continue
            uid = self._uid_base + self._runs % 20000 if self.tier == "uid" else 0
            workdir = "/scratch/work-%d" % uid if uid else "/scratch/work"
            workdir = self._current.workdir or workdir
            self._current.start(uid, workdir, self._limit_data and not self.evidence.has_memory_cgroup)

    def _joined(self):
        """Whether the current run goes on in the process that was kept for it; any other is ended."""
        run, shared = self._current, self.shared
        if shared is None:
            return False
        # one that has ended may have left its end of the socket in a socket of its own
        if run.joins and self.init_client.busy and shared.idle() and run.join(shared):
            return True
        self._end_shared()
        return False

    def _end_shared(self):
        shared, self.shared = self.shared, None
        if shared is not None:
            self.init_client.hand_over(shared)
            self.init_client.end_program()
            shared.close()
            self._signs += signs_in(json.loads(shared.report)) if shared.report else []
            self._clean()

    def _finish(self):
        run, self._current = self._current, None
        run.close()
        if run.kept:
            self.init_client.hand_over(self.shared)
        else:
            if self.shared is not None:  # it has ended
                self.shared.close()
                self.shared = None
            self._clean()
        if self._cancelling:
            self._signs += run.signs()
            self._cancelled(run)
        elif run.broken:
            self.send({"op": "broken", "why": run.broken})
        else:
            header, body = run.result()
            header["tamper"] += [sign for sign in dict.fromkeys(self._signs) if sign not in header["tamper"]][:_SIGNS]
            self._signs = []
            self.send(header, body, later=run.kept)

    def _clean(self):
        """Remove what a run without namespaces wrote."""
        removal.empty(self._dirs, self._beat)
        self._reset_times()

    def _reset_times(self):
        """Reset the times of shared files, from which the next run could learn when the last one ended."""
        for path in self._world_writable:
            try:
                os.utime(path, ns=(0, 0))
            except OSError:
                pass  # a program, which has fewer rights than this supervisor, could not set them either


def _call_back(selector, pause):
    """Call the callback of everything that is ready within `pause` seconds."""
    for key, _events in selector.select(pause):
        now = selector.get_map().get(key.fd)
        if now is not None and now.data == key.data:  # an earlier callback may have closed it
            key.data()


def run(supervisor):
    """Serve until the host's end closes, then end this process; an error is the last frame."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # what it began with was the server's at that moment
        supervisor.serve()
    except Exception as error:
        try:
            supervisor.send_final({"op": "broken", "why": "%s: %s" % (type(error).__name__, error)})
        except OSError:
            pass  # the host is gone already
        os._exit(1)
    os._exit(0)
