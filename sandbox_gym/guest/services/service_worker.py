"""A service's program: answers requests in forked workers, each under a CPU limit, a wall time limit and a memory cap.

`serve(handle)` forks workers from a process that has everything imported. A worker takes one request at a time; one
that ends or is killed is replaced by another fork in milliseconds. Runs in a box, as an ordinary program.
Frames on fd 3: from the host `ask` and `drop`, to the host `ready` and `answer`.
"""

import gc
import os
import resource
import selectors
import signal
import socket
import time

import forks
import frames
import starvation

CHANNEL_FD = 3
RECYCLE_REQUESTS = 5000
RECYCLE_GROWTH = 256 << 20
"""Growth of resident bytes at which a worker is replaced by a new one."""
MAX_ANSWER = 1 << 19
_UNABLE = 199
"""The exit code of a worker that failed at a step of its own: the request is answered as if it had been killed."""


def serve(handle, workers, memory_bytes):
    """Serve until the host closes the channel. `handle(body, say)` returns bytes; `say(phase)` reports its progress."""
    gc.collect()
    gc.freeze()
    _ForkServer(handle, workers, memory_bytes).run()


class _Worker:
    def __init__(self, pid, sock):
        self.pid, self.sock = pid, sock
        self.reader = frames.FrameReader()
        self.cpu_s = 0.0
        self.request = None
        self.waits = None

    def begin(self, request):
        """A request is given to this worker."""
        self.request, request.started = request, time.monotonic()
        self.waits = starvation.Waits(*self._threads())

    def starved_s(self):
        """Seconds since `begin` for which others kept it from a CPU; None where the kernel does not count them."""
        threads = self._threads()
        return self.waits.look(*threads) if threads[0] else None

    def _threads(self):
        threads = starvation.threads(self.pid)
        return threads, sum(cpu_s for _thread, cpu_s, _wait_s, _slices in threads), 0.0


class _Request:
    def __init__(self, header, body):
        self.id = header["id"]
        self.cpu_s, self.wall_s = header["cpu_s"], header["wall_s"]
        self.body = body
        self.phase = ""
        self.started = 0.0


class _ForkServer:
    def __init__(self, handle, workers, memory_bytes):
        self._handle, self._count, self._memory_bytes = handle, workers, memory_bytes
        self._selector = selectors.DefaultSelector()
        self._channel = socket.socket(fileno=CHANNEL_FD)
        self._reader = frames.FrameReader()
        self._workers = []
        self._queue = []

    def run(self):
        for _ in range(self._count):
            self._fork()
        self._selector.register(self._channel, selectors.EVENT_READ)
        self._send({"op": "ready", "workers": self._count})
        while True:
            for key, _events in self._selector.select(self._pause()):
                if key.fileobj is self._channel:
                    if not self._on_host():
                        return
                elif key.data in self._workers:
                    self._on_worker(key.data)
            self._enforce()
            self._dispatch()

    # -- the host

    def _send(self, header, body=b""):
        self._channel.sendall(frames.pack(header, body))

    def _on_host(self):
        data = self._channel.recv(1 << 18)
        if not data:
            return False
        self._reader.feed(data)
        for header, body in self._reader:
            if header["op"] == "ask":
                self._queue.append(_Request(header, body))
            elif header["op"] == "drop":
                self._drop(header["id"])
        return True

    def _drop(self, request_id):
        """The caller waits for this answer no longer: drop the request."""
        self._queue = [request for request in self._queue if request.id != request_id]
        for worker in list(self._workers):
            if worker.request is not None and worker.request.id == request_id:
                worker.request = None
                self._replace(worker)

    def _answer(self, request, status, cpu_s, body=b"", detail="", starved_s=None):
        wall_s = time.monotonic() - request.started
        header = {"op": "answer", "id": request.id, "status": status, "cpu_s": cpu_s, "wall_s": wall_s}
        self._send(dict(header, phase=request.phase, detail=detail, starved_s=starved_s), body)

    # -- workers

    def _fork(self):
        mine, its = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            try:
                self._channel.close()
                mine.close()
                for worker in self._workers:
                    worker.sock.close()
                _answer_requests(its, self._handle, self._memory_bytes)
            except OSError:
                os._exit(_UNABLE)
            finally:
                os._exit(1)
        its.close()
        worker = _Worker(pid, mine)
        self._workers.append(worker)
        self._selector.register(mine, selectors.EVENT_READ, worker)

    def _replace(self, worker):
        """End a worker, fork another; CPU seconds since its last answer."""
        try:
            os.kill(worker.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it is not reaped yet, so this is not expected
        return self._ended(worker)[1]

    def _ended(self, worker):
        """Reap a worker, fork another; (its wait status, CPU seconds since its last answer)."""
        self._selector.unregister(worker.sock)
        worker.sock.close()
        self._workers.remove(worker)
        _pid, status, usage = os.wait4(worker.pid, 0)
        self._fork()
        return status, max(0.0, usage.ru_utime + usage.ru_stime - worker.cpu_s)

    def _on_worker(self, worker):
        try:
            data = worker.sock.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            self._reap(worker)
            return
        worker.reader.feed(data)
        for header, body in worker.reader:
            request = worker.request
            if "phase" in header:
                if request is not None:
                    request.phase = header["phase"]
                continue
            worker.request, worker.cpu_s = None, header["total_cpu_s"]
            if request is not None:
                self._answer(request, header["status"], header["cpu_s"], body, header["detail"])
            if header["leaving"]:
                self._replace(worker)
                return

    def _reap(self, worker):
        """A worker ended by itself or by a signal: answer its request with the cause."""
        request, worker.request = worker.request, None
        status, cpu_s = self._ended(worker)
        if request is None:
            return
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == _UNABLE:
            number = signal.SIGKILL
        if number == signal.SIGPROF:
            self._answer(request, "cpu_time_limit", cpu_s)
        elif number:  # the host decides whose fault it was
            self._answer(request, "killed", cpu_s, detail=str(int(number)))
        else:
            self._answer(request, "runtime_error", cpu_s, detail="exit code %d" % os.WEXITSTATUS(status))

    # -- clocks and turns

    def _pause(self):
        busy = [worker.request for worker in self._workers if worker.request is not None]
        ends = [request.started + request.wall_s for request in busy]
        return max(0.0, min(ends) - time.monotonic()) if ends else None

    def _enforce(self):
        now = time.monotonic()
        for worker in list(self._workers):
            request = worker.request
            if request is not None and now >= request.started + request.wall_s:
                worker.request, starved_s = None, worker.starved_s()
                cpu_s = self._replace(worker)
                self._answer(request, "wall_time_limit", cpu_s, starved_s=starved_s)

    def _dispatch(self):
        for worker in list(self._workers):
            if not self._queue:
                return
            if worker.request is None:
                request = self._queue.pop(0)
                worker.begin(request)
                try:
                    worker.sock.sendall(frames.pack({"cpu_s": request.cpu_s}, request.body))
                except OSError:
                    self._reap(worker)


def _answer_requests(sock, handle, memory_bytes):
    """The loop of one worker."""
    with open("/proc/self/statm") as file:
        space, resident = (int(number) * os.sysconf("SC_PAGE_SIZE") for number in file.read().split()[:2])
    ceiling = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = space + memory_bytes
    if ceiling != resource.RLIM_INFINITY:
        wanted = min(wanted, ceiling)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    gc.enable()
    reader = frames.FrameReader()
    claim = forks.Claim(sock.fileno())

    def say(phase):
        if claim.mine():
            sock.sendall(frames.pack({"phase": phase}))

    done = 0
    while True:
        frame = reader.next()
        if frame is None:
            data = sock.recv(1 << 18)
            if not data:
                os._exit(0)
            reader.feed(data)
            continue
        header, body = frame
        done += 1
        before = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, header["cpu_s"])
        status, detail, answer = _handled(handle, body, say)
        claim.leave_if_forked()
        signal.setitimer(signal.ITIMER_PROF, 0)
        total = time.process_time()
        with open("/proc/self/statm") as file:
            grown = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") - resident
        leaving = status == "memory_limit" or done >= RECYCLE_REQUESTS or grown > RECYCLE_GROWTH
        word = {"status": status, "detail": detail, "cpu_s": total - before, "total_cpu_s": total, "leaving": leaving}
        sock.sendall(frames.pack(word, answer))


def _handled(handle, body, say):
    try:
        answer = handle(body, say)
        if len(answer) > MAX_ANSWER:
            return "output_limit", "an answer of %d bytes" % len(answer), b""
        return "ok", "", answer
    except MemoryError:
        return "memory_limit", "no more memory", b""
    except BaseException as error:
        return "runtime_error", type(error).__name__, b""
