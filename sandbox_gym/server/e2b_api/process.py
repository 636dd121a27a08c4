"""envd's process service: start, connect, list, input, signals, terminals. One running sandbox at a time."""

from __future__ import annotations

import base64
import binascii
import signal
import time
from collections.abc import AsyncGenerator, Mapping
from functools import partial
from typing import Final

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream
from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.errors import BoxLost
from sandbox_gym.faults import log_failure
from sandbox_gym.server.e2b_api.bodies import text, texts
from sandbox_gym.server.e2b_api.connect_rpc import (
    Document,
    Streaming,
    StreamReply,
    answer_method,
    ping_of,
    read_messages,
    timeout_of,
)
from sandbox_gym.server.e2b_api.faults import Fault
from sandbox_gym.server.e2b_api.jobs import Config, Event, Job, Work, number
from sandbox_gym.server.e2b_api.sandbox import Sandbox

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/sandbox-gym/bin"
MAX_ARGS: Final = 1000
MAX_COMMAND: Final = 1 << 20
PIECE: Final = 1 << 20
STREAM_S: Final = 24 * 3600.0
INPUT_S: Final = 60.0
_PING: Final[Document] = {"event": {"keepalive": {}}}
_SIGNALS: Final = {"SIGNAL_SIGTERM": signal.SIGTERM, "SIGNAL_SIGKILL": signal.SIGKILL, 15: 15, 9: 9}


def base_environment(sandbox: Sandbox) -> dict[str, str]:
    """What every process of a sandbox starts with."""
    return {
        "PATH": PATH,
        "E2B_SANDBOX": "true",
        "E2B_SANDBOX_ID": sandbox.sandbox_id,
        "E2B_TEMPLATE_ID": sandbox.kept.template,
        **({"SANDBOX_GYM_ISOLATION": sandbox.box.isolation} if sandbox.box else {}),
        **sandbox.kept.env,
    }


class Processes:
    """The service of one sandbox, for one request."""

    def __init__(self, sandbox: Sandbox, work: Work, tasks: anyio.abc.TaskGroup) -> None:
        self._sandbox, self._work, self._tasks = sandbox, work, tasks

    async def answer(self, request: Request, method: str) -> Response:
        unary = {
            "List": self._list,
            "Update": self._update,
            "SendInput": self._send_input,
            "SendSignal": self._send_signal,
            "CloseStdin": self._close_stdin,
        }
        streams: dict[str, Streaming] = {
            "StreamInput": self._stream_input,
            "Start": partial(self._stream, method=method),
            "Connect": partial(self._stream, method=method),
        }
        return await answer_method(request, "process.Process", method, unary, streams)

    # -- streams

    async def _stream(self, request: Request, method: str) -> Response:
        """What goes wrong before the first event is an end of the stream, as the protocol has it."""
        message: Document = {}
        failure: Exception | None = None
        seconds = 0.0
        try:
            async for one in read_messages(request):
                message = one
            seconds = timeout_of(request)
        except Fault as error:
            failure = error

        async def events() -> AsyncGenerator[Document, None]:
            if failure is not None:
                raise failure
            if method == "Start":
                job, heard = await self._start(message, seconds)
            else:
                job = self._job(message)
                heard = job.listen()
            # a process is killed at its time; the word of that comes from the sandbox, a little later
            within_s = (seconds + (5.0 if method == "Start" else 0.0)) if seconds else STREAM_S
            async for event in _events(job, heard, within_s):
                yield event

        return StreamReply(events, ping=_PING, ping_s=ping_of(request))

    async def _start(self, message: Document, seconds: float) -> tuple[Job, MemoryObjectReceiveStream[Event]]:
        config, size, wants_input = _config(message)
        request = {
            "op": "start",
            "cmd": config.cmd,
            "args": list(config.args),
            "envs": dict(config.envs),
            "cwd": config.cwd or "",
            "stdin": wants_input,
            "size": size,
            "timeout_s": seconds,
            "base": base_environment(self._sandbox),
        }
        reply, stream = await self._work.envd.open(request)
        job = Job(number(reply, "pid"), config, stream)
        heard = job.listen()
        self._work.jobs[job.pid] = job
        self._tasks.start_soon(self._run, job)
        return job, heard

    async def _run(self, job: Job) -> None:
        try:
            await job.run()
        except Exception as error:  # this program's stream; the server's other tasks go on
            log_failure("job_failed", error)
        finally:
            if self._work.jobs.get(job.pid) is job:
                del self._work.jobs[job.pid]

    async def _stream_input(self, request: Request) -> Response:
        """Input as it comes; the reply is a stream of one empty message."""
        failure: Exception | None = None
        seconds = timeout_of(request)
        try:
            with anyio.fail_after(seconds + 1 if seconds else STREAM_S):
                job: Job | None = None
                async for message in read_messages(request):
                    event = _object(message, "event") if "event" in message else message
                    if "start" in event:
                        job = self._job(_object(event, "start"))
                    elif "data" in event:
                        if job is None:
                            raise Fault(400, "the first message names the process")
                        await self._put(job, _object(event, "data"), STREAM_S)
        except Exception as error:
            failure = error

        async def events() -> AsyncGenerator[Document, None]:
            if failure is not None:
                raise failure
            yield {}

        return StreamReply(events, ping=None, ping_s=0)

    # -- calls

    async def _list(self, request: Request, message: Document) -> Document:
        return {"processes": [_view(job) for job in self._work.jobs.values()]}

    async def _update(self, request: Request, message: Document) -> Document:
        size = _size(message)
        if size is not None:
            await self._work.envd.call({"op": "resize", "pid": self._job(message).pid, "size": size})
        return {}

    async def _send_input(self, request: Request, message: Document) -> Document:
        await self._put(self._job(message), message, timeout_of(request) or INPUT_S)
        return {}

    async def _put(self, job: Job, message: Document, within_s: float) -> None:
        given = _object(message, "input")
        if not {"stdin", "pty"} & set(given):
            return
        if ("pty" in given) != job.config.pty:
            raise Fault(400, "the process has no terminal" if "pty" in given else "the process has a terminal")
        data = decode(given.get("stdin", given.get("pty")))
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            await self._work.envd.ask({"op": "input", "pid": job.pid}, piece, within_s=within_s)

    async def _send_signal(self, request: Request, message: Document) -> Document:
        wanted = message.get("signal")
        sent = _SIGNALS.get(wanted) if isinstance(wanted, str | int) else None
        if sent is None:
            raise Fault(400, "the signal is SIGTERM or SIGKILL")
        await self._work.envd.call({"op": "signal", "pid": self._job(message).pid, "number": int(sent)})
        return {}

    async def _close_stdin(self, request: Request, message: Document) -> Document:
        await self._work.envd.call({"op": "end_input", "pid": self._job(message).pid})
        return {}

    def _job(self, message: Document) -> Job:
        """The process that a selector names. Raises Fault 404."""
        selector = _object(message, "process")
        pid, tag = selector.get("pid"), selector.get("tag")
        if type(pid) is int and pid in self._work.jobs:
            return self._work.jobs[pid]
        if isinstance(tag, str):
            found = [job for job in self._work.jobs.values() if job.config.tag == tag]
            if found:
                return found[0]
        raise Fault(404, f"process with {'tag' if isinstance(tag, str) else 'pid'} {str(tag or pid)[:40]} not found")


async def _events(job: Job, heard: MemoryObjectReceiveStream[Event], within_s: float) -> AsyncGenerator[Document, None]:
    """A process's events from the first word on. Raises Fault when its time is up, BoxLost when the sandbox went."""
    deadline = time.monotonic() + within_s
    with heard:
        yield {"event": {"start": {"pid": job.pid}}}
        while True:
            try:
                with anyio.fail_after(max(0.0, deadline - time.monotonic())):
                    header, body = await heard.receive()
            except TimeoutError:
                raise Fault(504, "the operation timed out", code="deadline_exceeded") from None
            except anyio.EndOfStream:
                if job.lost:
                    raise BoxLost("the sandbox went") from None
                raise Fault(500, "the process was not listened to in time") from None
            kind = header.get("event")
            if kind in ("stdout", "stderr", "pty"):
                yield {"event": {"data": {str(kind): base64.b64encode(body).decode("ascii")}}}
            elif kind == "end":
                if header.get("timed_out") is True:
                    raise Fault(504, "the command ran out of its time", code="deadline_exceeded")
                yield {"event": {"end": _end(header)}}
                return


def _end(header: Mapping[str, object]) -> dict[str, object]:
    code, killed_by = number(header, "code"), number(header, "signal")
    if killed_by:
        name = signal.Signals(killed_by).name if killed_by in set(signal.Signals) else str(killed_by)
        words = f"signal: {_SPOKEN.get(name, name)}"
        return {"exited": False, "status": words, "error": words, "exitCode": code}
    status = f"exit status {code}"
    end: dict[str, object] = {"exited": True, "status": status}
    return {**end, "exitCode": code, "error": status} if code else end


_SPOKEN: Final = {"SIGKILL": "killed", "SIGTERM": "terminated", "SIGINT": "interrupt", "SIGSEGV": "segmentation fault"}


def _config(message: Document) -> tuple[Config, tuple[int, int] | None, bool]:
    process = _object(message, "process")
    args = process.get("args") or []
    if not isinstance(args, list) or len(args) > MAX_ARGS or not all(isinstance(one, str) for one in args):
        raise Fault(400, f"args is a list of at most {MAX_ARGS} texts")
    if any("\0" in one for one in args) or sum(map(len, args)) > MAX_COMMAND:
        raise Fault(400, f"args hold no NUL and at most {MAX_COMMAND} characters")
    cwd = text(process, "cwd", 4096) if process.get("cwd") else None
    tag = text(message, "tag", 256) if message.get("tag") else None
    size = _size(message)
    config = Config(
        text(process, "cmd", 4096), tuple(args), texts(process, "envs"), cwd=cwd, tag=tag, pty=size is not None
    )
    if not config.cmd:
        raise Fault(400, "process.cmd is missing")
    return config, size, message.get("stdin") is not False or size is not None


def _size(message: Document) -> tuple[int, int] | None:
    if not isinstance(message.get("pty"), dict):
        return None
    size = _object(_object(message, "pty"), "size")
    rows, columns = size.get("rows", 24), size.get("cols", 80)
    if type(rows) is not int or type(columns) is not int:
        raise Fault(400, "pty.size holds rows and cols")
    return rows, columns


def _object(message: Document, name: str) -> Document:
    value = message.get(name)
    if not isinstance(value, dict):
        raise Fault(400, f"{name} is missing")
    return value


def _view(job: Job) -> dict[str, object]:
    config = job.config
    shown: dict[str, object] = {"cmd": config.cmd, "args": list(config.args), "envs": dict(config.envs)}
    if config.cwd is not None:
        shown["cwd"] = config.cwd
    view: dict[str, object] = {"pid": job.pid, "config": shown}
    return {**view, "tag": config.tag} if config.tag is not None else view


def decode(value: object) -> bytes:
    """Bytes in JSON. Raises Fault 400."""
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        raise Fault(400, "bytes are base64") from None
