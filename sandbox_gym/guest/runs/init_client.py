"""The supervisor's client of the init that runs a task's programs, one after the other.

An init makes its namespaces once, and a fresh file system in them for each run; it reports when no process of the run
is alive. It is ended after MAX_RUNS runs, so that its state stays bounded, and before another task; but one that has
run nothing but programs of one kind serves other tasks' programs of this kind, and no others, as long as it finds its
namespaces as they were.
"""

import array
import json
import os
import select
import selectors
import signal
import socket
import time

from . import init, zygote

MAX_RUNS = 256
BROKEN = b'{"broken"'
_SMALL = 60000
_END_S = 10.0
_BEAT_S = 0.1
_LOAD_S = 10.0
"""What takes longer to load is imported by each program; the host waits for a late run not much longer."""


class InitClient:
    """One init at a time, started when a run needs one. It calls a run's `reported(data)` when the run is over, or
    `unreported()` when the init's socket closed, and `all_dead()` when no process of the run lives."""

    def __init__(self, sock, selector, trusted, beat):
        """`sock`: the zygote's. `trusted`: PIDs of the guest, to which that of a zygote with libraries is added.
        `beat()` is called while something takes long."""
        self._zygotes, self._selector, self._trusted, self._beat = [sock], selector, trusted, beat
        self._loaded_pid = 0
        self._libraries = self._unloadable = False
        """Whether the init is of the zygote that has libraries; whether there can't be one."""
        self._control = self._run = None
        self._started = self._ended = self._runs = 0
        self._busy = False
        self._kind, self._kept = "", False
        """The kind of all that it ran; whether some were another task's."""
        selector.register(sock, selectors.EVENT_READ, self._on_zygotes)

    @property
    def loaded(self):
        """Zygotes that have libraries: 0 or 1."""
        return len(self._zygotes) - 1

    def resume(self):
        """Have a zygote that was stopped go on."""
        if self._loaded_pid:
            os.kill(self._loaded_pid, signal.SIGCONT)

    def prepare(self, libraries):
        """Load what the next run's program imports, before anything counts as the run's; else it does so itself."""
        if not libraries or self.loaded or self._unloadable:
            return
        self.end()  # while the zygote has an init it does not listen
        self._unloadable = True
        self._loaded_pid, sock = zygote.loader(self._zygotes[0], self._wait_for)
        self._trusted.add(self._loaded_pid)
        if self._is_readable(sock, _LOAD_S) and sock.recv(16) == zygote.LOADED:
            self._zygotes.append(sock)
            self._selector.register(sock, selectors.EVENT_READ, self._on_zygotes)
            return
        sock.close()
        zygote.end_loader(self._zygotes[0], self._loaded_pid, self._wait_for)
        self._trusted.discard(self._loaded_pid)
        self._loaded_pid = 0

    def _wait_for(self, sock):
        if not self._is_readable(sock, _END_S):
            raise OSError("a zygote or an init does not answer")

    def _is_readable(self, sock, within_s):
        """Whether it can be read within so many seconds."""
        deadline = time.monotonic() + within_s
        while not select.select([sock], [], [], _BEAT_S)[0]:
            if time.monotonic() > deadline:
                return False
            self._beat()
        return True

    def run(self, spec, fds, run):
        """Start a run: `fds` are its stdin, stdout, stderr, files and channel, copies of which the init gets."""
        self._read_zygote()
        kind = spec["kind"]
        # the next test must not see what a run left in its namespaces, and no program a library that it does not import
        fresh = self._runs and (spec["mode"] == "check" or spec["libraries"] != self._libraries)
        if fresh or self._runs >= MAX_RUNS or (self._kept and kind != self._kind):
            self.end()
        self._kind = kind if kind == self._kind or not self._runs else ""
        self._run, self._busy = run, True
        self._libraries = spec["libraries"]
        text = json.dumps(spec).encode("utf-8")
        if len(text) <= _SMALL:
            self._send(b"s" + text, fds)
            return
        fd = os.memfd_create("spec", os.MFD_CLOEXEC)
        try:
            view = memoryview(text)
            while view:
                view = view[os.write(fd, view) :]
            self._send(b"f", [fd] + fds)
        finally:
            os.close(fd)

    def _send(self, message, fds):
        run = self._run
        if self._control is not None:
            try:
                self._send_parts(message, fds)
                self._runs += 1
                return
            except OSError:  # it ended between two runs
                self.end()
                self._run = run
        self._start()
        self._send_parts(message, fds)
        self._runs += 1

    def _send_parts(self, message, fds):
        """Send the message with the last descriptors; those that one message can't carry go before it."""
        for start in range(0, len(fds), init.MAX_FDS):
            part = array.array("i", fds[start : start + init.MAX_FDS])
            last = start + init.MAX_FDS >= len(fds)
            self._control.sendmsg([message if last else b"m"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, part)])

    def _start(self):
        self._control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        zygote.send_init(self._zygotes[self._libraries and self.loaded], its.fileno())
        its.close()
        self._started += 1
        self._selector.register(self._control, selectors.EVENT_READ, self._on_control)

    @property
    def busy(self):
        """Whether a program is running."""
        return self._busy and self._control is not None

    def hand_over(self, run):
        """The program that is running is another run's from now on, or nothing's but a `SharedProcess`."""
        self._run = run

    def end_program(self):
        """Kill the program that is running, and wait for the init's report."""
        self.kill()
        while self.busy:
            self._wait_for(self._control)
            self._on_control()

    def kill(self):
        """Kill the current run."""
        try:
            self._control.send(b"k")
        except (AttributeError, OSError):
            pass  # the init has ended, and its run with it

    def _on_control(self):
        try:
            data = self._control.recv(8192, socket.MSG_DONTWAIT)
        except (AttributeError, BlockingIOError):
            return  # `end_program` has read it since the selector looked
        except OSError:
            data = b""
        run, self._busy = self._run, False
        if data:
            if not data.startswith(BROKEN):  # such an init ends, and the zygote reports it
                self._run = None
            if run is not None:
                run.reported(data)
            return
        self._close()
        if run is not None:
            run.unreported()

    def _on_zygotes(self):
        """Read what the zygotes report: an init has ended."""
        ready = select.select(self._zygotes, [], [], 0)[0]
        for sock in ready:
            if not sock.recv(64):
                raise OSError("the zygote is gone")
            self._ended += 1
        if self._ended == self._started and self._run is not None:
            self._run.all_dead()

    def _read_zygote(self):
        """Read what the zygote reported, so that no run is sent to an init that has ended."""
        while select.select(self._zygotes, [], [], 0)[0]:
            self._on_zygotes()
        if self._ended == self._started:
            self._close()

    def _close(self):
        if self._control is not None:
            self._selector.unregister(self._control)
            self._control.close()
            self._control = None
        self._runs = 0
        self._kind, self._kept = "", False

    def settle(self):
        """A task is over: end the init, unless it may serve other tasks. Whether it is still there."""
        self._kept = bool(self._kind) and not self._busy and self._is_clean()
        if not self._kept:
            self.end()
        return self._kept

    def _is_clean(self):
        """Whether there is an init, and its runs left nothing that another task could find."""
        self._read_zygote()
        if self._control is None:
            return False
        try:
            self._control.send(init.NEXT_TASK)
            self._wait_for(self._control)
            return self._control.recv(64) == init.CLEAN
        except OSError:
            return False  # it has ended, or does not answer

    def end(self):
        """End the init and wait until it is gone, with every process in its namespaces."""
        self._run = None
        self._close()
        while self._ended < self._started:
            if not select.select(self._zygotes, [], [], _END_S)[0]:
                raise OSError("an init does not end")
            self._on_zygotes()
