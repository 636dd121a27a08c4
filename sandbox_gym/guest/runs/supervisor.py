"""The supervisor: one channel to the host, one program at a time. Owns clocks, pipes and caps of runs.

Frames from the host: config, put, data, drop, run, chan, cancel, reset, ping. To the host: hello, result, chan, took,
beat, cancelled, reset, pong, broken. docs/design/ has the table. The host is always heard: what programs have
yet to take is bounded by what `took` grants, and what the host has yet to take makes programs wait, not the supervisor.
"""

import itertools
import os
import selectors
import signal
import sys
import time
import types

from ..protocol import frames
from ..protocol.channel import Channel
from . import init_client, zygote
from .evidence import Evidence, touchable
from .run import Run
from .starvation import Starvation

MAX_BLOBS = 256 << 20
MAX_BACKLOG = 4 << 20
"""Input that programs have not taken yet; the host sends no more."""
TAKEN = MAX_BACKLOG >> 2
"""So much of it taken is worth a word to the host."""
LAST_WORDS_S = 10.0
CLEAN_S = 60
SMALL = 64


class Blob:
    """A file's content, for as long as anything refers to it."""

    def __init__(self, size):
        self.size = size
        self.fd = os.memfd_create("blob", os.MFD_CLOEXEC)

    def __del__(self):
        os.close(self.fd)


class Supervisor:
    def __init__(self, read_fd, write_fd):
        self.selector = selectors.DefaultSelector()
        self.programs = selectors.DefaultSelector()
        """What is read of programs and written to them: not while the host has to take what there is already."""
        self._channel = Channel(read_fd, write_fd, self.selector, self._heed, self._beat)
        self.send = self._channel.send
        self._listening = False
        self._blobs = {}
        self._blob_bytes = 0
        self._receiving = None
        self._queue = []
        self._current = None
        self._runs = 0
        self._cancelling = False
        self._beat_s = 0
        self._beaten = 0.0

    # -- the channel

    def serve(self):
        """Until the host's end closes and, in batch use, the last run is done."""
        channel = self._channel
        while not (channel.ended and self._current is None and not self._queue and not channel.waiting):
            if not channel.selectable and not channel.ended and self._backlog() < MAX_BACKLOG:
                channel.read()
            self._listen()
            _call_back(self.selector, self._pause())
            if self._current is not None and self._current.finished():
                self._finish()
            self._start_next()

    def last_words(self, header):
        """Say that it is over, if the host still listens."""
        self.send(header)
        self._channel.flush(LAST_WORDS_S)

    def _pause(self):
        """Seconds until something is due; None when nothing is. A run that goes on is told by heartbeats."""
        if self._current is None:
            return None if self._channel.selectable or self._channel.ended else 0
        pause = self._current.tick()
        self._beat()
        return min(pause, self._beat_s) if self._beat_s and not self._current.quiet else pause

    def _beat(self):
        now = time.monotonic()
        if self._current is not None and self._current.quiet:
            return
        if self._beat_s and now - self._beaten >= self._beat_s and not self._channel.waiting:
            self.send({"op": "beat"})
            self._beaten = now

    def _backlog(self):
        runs = self._queue + ([self._current] if self._current else [])
        return sum(len(run.backlog) for run in runs)

    def _listen(self):
        """Hear programs only while the host takes what they say; tell it what they took of its own words."""
        wanted = not self._channel.full
        if wanted != self._listening:
            self._listening = wanted
            if wanted:
                self.selector.register(self.programs, selectors.EVENT_READ, self._on_programs)
            else:
                self.selector.unregister(self.programs)
        run = self._current
        if run is not None and run.taken() >= TAKEN:
            self.send({"op": "took", "id": run.id, "bytes": run.take_note()})

    def _on_programs(self):
        _call_back(self.programs, 0)

    def _heed(self, header, body):
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
        if header.get("sessions"):
            _load_session_modules()
        self._zygote_pid, sock = zygote.start(self.tier, header.get("own_network", False))
        self.inits = init_client.Inits(sock, self.selector)
        trusted = [1, os.getpid(), self._zygote_pid]
        if header.get("guests"):  # where it shares its PID namespace with what was there before
            trusted += [int(name) for name in os.listdir("/proc") if name.isdigit()]
        self.evidence = Evidence(header["cgroup"], trusted)
        self.starvation = Starvation(self.evidence, header["cgroup"], trusted)
        self._touchable = touchable(self._dirs) if self.tier == "uid" else []
        self._untouch()
        self._baseline_fds = len(os.listdir("/proc/self/fd"))
        self._network = self.evidence.network()
        self._quiet_network = not self.evidence.connections()
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
        """Forget files; runs that wait for them have their own hold on them."""
        self._receiving = None
        for number in header["blobs"]:
            self._blob_bytes -= self._blobs.pop(number).size

    def _op_data(self, header, body):
        if "id" not in header:
            self._to_blob(body)
            return
        for run in self._wanting(header):
            run.more_input(body)

    def _wanting(self, header):
        """The run that a frame speaks of, started or not; none when it has ended."""
        runs = self._queue + ([self._current] if self._current else [])
        return [run for run in runs if run.id == header["id"]]

    def _op_run(self, header, body):
        self._queue.append(Run(self, header, body, self._blobs))

    def _op_chan(self, header, body):
        for run in self._wanting(header):
            run.relay_in(body, header.get("eof", False))

    def _op_cancel(self, header, body):
        self._queue = []
        self._cancelling = True
        if self._current is not None:
            self._current.kill("cancelled")
        else:
            self._cancelled()

    def _cancelled(self, run=None):
        """`run`: what was ended for it, of which nothing but its costs is told."""
        self._cancelling = False
        costs = (run.cpu_s(), run.wall_s(), run.starved_s()) if run else (0.0, 0.0, 0.0)
        self.send({"op": "cancelled", **dict(zip(("cpu_s", "wall_s", "starved_s"), costs))})

    def _op_ping(self, header, body):
        self.send({"op": "pong"})

    def _op_reset(self, header, body):
        self._blobs, self._blob_bytes, self._receiving = {}, 0, None
        why = "a run is still going on" if self._current is not None or self._queue else self._canary()
        self.send({"op": "reset", "ok": not why, "why": why, "oom_kills": self.evidence.oom_kills()})

    def _canary(self):
        """Why this box is not as it was before its first run; empty when it is."""
        self.inits.end()
        strangers = self.evidence.strangers()
        if strangers:
            return "%d processes are left" % len(strangers)
        if len(os.listdir("/proc/self/fd")) != self._baseline_fds:
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
            uid = self._uid_base + self._runs % 20000 if self.tier == "uid" else 0
            workdir = "/scratch/work-%d" % uid if uid else "/scratch/work"
            workdir = self._current.workdir or workdir
            self._current.start(uid, workdir, self._limit_data and not self.evidence.has_memory_cgroup)

    def _finish(self):
        run, self._current = self._current, None
        run.close()
        self._clean()
        if self._cancelling:
            self._cancelled(run)
        elif run.broken:
            self.send({"op": "broken", "why": run.broken})
        else:
            header, body = run.result()
            self.send(header, body)

    def _clean(self):
        """Without namespaces what a run wrote outlives it, until here. Nobody races: all its processes are dead."""
        left = False
        for folder in self._dirs:
            for entry in os.scandir(folder):
                left = not _remove_small(entry) or left
        if left:
            self._remove_slowly()
        self._untouch()

    def _untouch(self):
        """The times of what all runs share say nothing of the last one but when it ended."""
        for path in self._touchable:
            try:
                os.utime(path, ns=(0, 0))
            except OSError:
                pass  # where this supervisor may not, a program that is less may not either

    def _remove_slowly(self):
        """Thousands of files, or folders in folders: by a process of its own, while the heart beats on."""
        command = ["find"] + self._dirs + ["-mindepth", "1", "-delete"]
        pid = os.posix_spawnp("find", command, {"PATH": "/usr/bin:/bin"})
        deadline = time.monotonic() + CLEAN_S
        while True:
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                raise OSError("what a run wrote can't be removed within %d s" % CLEAN_S)
            self._beat()
            time.sleep(0.002)
        if status:
            raise OSError("what a run wrote can't be removed")


def _call_back(selector, pause):
    """Have everything that is ready within `pause` seconds dealt with."""
    for key, _events in selector.select(pause):
        now = selector.get_map().get(key.fd)
        if now is not None and now.data == key.data:  # an earlier callback may have closed it
            key.data()


def _remove_small(entry):
    """Remove a file, or a folder of a few files; False for what is more, which stays."""
    if not entry.is_dir(follow_symlinks=False):
        os.unlink(entry.path)
        return True
    with os.scandir(entry.path) as entries:
        found = list(itertools.islice(entries, SMALL + 1))
    if len(found) > SMALL or any(one.is_dir(follow_symlinks=False) for one in found):
        return False
    for one in found:
        os.unlink(one.path)
    os.rmdir(entry.path)
    return True


def _load_session_modules():
    """The zygote must hold them: a session's program has nothing but what it was forked with."""
    package = sys.modules[__package__.partition(".")[0]]
    lazy, package.lazy = package.lazy, {}
    for name, source in lazy.items():
        room, leaf = name.rpartition(".")[::2]
        parent = getattr(package, room) if room else package
        module = types.ModuleType("%s.%s" % (parent.__name__, leaf))
        module.__package__ = parent.__name__
        sys.modules[module.__name__] = module
        setattr(parent, leaf, module)
        exec(compile(source, "<guest/%s>" % name, "exec"), module.__dict__)


def main(read_fd, write_fd):
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    supervisor = Supervisor(read_fd, write_fd)
    try:
        supervisor.serve()
    except Exception as error:
        try:
            supervisor.last_words({"op": "broken", "why": "%s: %s" % (type(error).__name__, error)})
        except OSError:
            pass  # the host is gone already
        os._exit(1)
    os._exit(0)
