"""envd's process service for one sandbox: start, connect, list, input, signals, terminals."""

from __future__ import annotations

import base64
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

from sandbox_gym.e2b_server.control.shapes import checked
from sandbox_gym.e2b_server.envd import routes as declared
from sandbox_gym.e2b_server.envd import shapes
from sandbox_gym.e2b_server.envd.connect_rpc import (
    Document,
    answer_method,
    ping_of,
    read_messages,
    read_opening,
    stream_reply,
    timeout_of,
)
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.processes import Event, ProcessConfig, RunningProcess, Work, number
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.errors import BoxLost
from sandbox_gym.faults import log_failure
from sandbox_gym.sandbox.channel.envd import USER, Envd

PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/sandbox-gym/bin"
PIECE: Final = 1 << 20
STREAM_S: Final = 24 * 3600.0
INPUT_S: Final = 60.0
_PING: Final[Document] = {"event": {"keepalive": {}}}
_SIGNALS: Final = {"SIGNAL_SIGTERM": signal.SIGTERM, "SIGNAL_SIGKILL": signal.SIGKILL, 15: 15, 9: 9}


def base_environment(sandbox: Sandbox, user: str = USER) -> dict[str, str]:
    """The environment variables that every process of a user starts with."""
    return {
        **({"USER": user, "LOGNAME": user} if user != USER else {}),
        "PATH": PATH,
        "E2B_SANDBOX": "true",
        "E2B_SANDBOX_ID": sandbox.sandbox_id,
        "E2B_TEMPLATE_ID": sandbox.record.template_id or sandbox.record.template,
        **({"SANDBOX_GYM_ISOLATION": sandbox.box.isolation} if sandbox.box else {}),
        **sandbox.record.env,
    }


class Processes:
    """The service of one sandbox, for one request of a user, whose driver is `envd`."""

    def __init__(self, sandbox: Sandbox, work: Work, tasks: anyio.abc.TaskGroup, envd: Envd, user: str = USER) -> None:
        self._sandbox, self._work, self._tasks = sandbox, work, tasks
        self._envd, self._user = envd, user

    async def answer(self, request: Request, method: str) -> Response:
        methods = [
            declared.LIST_PROCESSES.by(self._list),
            declared.UPDATE.by(self._update),
            declared.SEND_INPUT.by(self._send_input),
            declared.SEND_SIGNAL.by(self._send_signal),
            declared.CLOSE_STDIN.by(self._close_stdin),
            declared.STREAM_INPUT.streamed_by(self._stream_input),
            declared.START.streamed_by(partial(self._stream, method=method)),
            declared.CONNECT_PROCESS.streamed_by(partial(self._stream, method=method)),
        ]
        return await answer_method(request, declared.PROCESS, method, dict(methods))

    # -- streams

    async def _stream(self, request: Request, method: str) -> Response:
        message, seconds = await read_opening(request)

        async def events() -> AsyncGenerator[Document, None]:
            if method == "Start":
                process, received = await self.start(checked(shapes.StartProcess, message), seconds)
            else:
                process = self._process(checked(shapes.OneProcess, message).process)
                received = process.listen()
            # the sandbox kills the process at its timeout and reports that a little later
            within_s = (seconds + (5.0 if method == "Start" else 0.0)) if seconds else STREAM_S
            async for event in _events(process, received, within_s):
                yield event

        return stream_reply(events, _PING, ping_of(request))

    async def start(
        self, asked: shapes.StartProcess, seconds: float
    ) -> tuple[RunningProcess, MemoryObjectReceiveStream[Event]]:
        command, size = asked.process, _size(asked.pty)
        config: ProcessConfig = {"cmd": command.cmd, "args": command.args or [], "envs": command.envs or {}}
        if command.cwd:
            config["cwd"] = command.cwd
        request = {
            **config,
            "op": "start",
            "cwd": command.cwd or self._sandbox.record.workdir,
            "stdin": asked.stdin is not False or size is not None,
            "size": size,
            "timeout_s": seconds,
            "base": base_environment(self._sandbox, self._user),
        }
        reply, stream = await self._envd.open(request, lasting=True)
        process = RunningProcess(number(reply, "pid"), config, stream, tag=asked.tag or None, pty=size is not None)
        received = process.listen()
        self._work.processes[process.pid] = process
        if self._work.suspended:
            process.let_go()
        self._tasks.start_soon(self._run, process)
        return process, received

    async def _run(self, process: RunningProcess) -> None:
        try:
            await process.run()
        except Exception as error:  # of this process alone
            log_failure("job_failed", error)
        finally:
            if self._work.processes.get(process.pid) is process:
                del self._work.processes[process.pid]

    async def _stream_input(self, request: Request) -> Response:
        """Pass input on as it arrives; the reply is a stream of one empty message."""
        seconds = timeout_of(request)
        with anyio.fail_after(seconds + 1 if seconds else STREAM_S):
            process: RunningProcess | None = None
            async for message in read_messages(request):
                one = checked(shapes.InputMessage, message)
                event = one.event or one
                if event.start is not None:
                    process = self._process(event.start.process)
                elif event.data is not None:
                    if process is None:
                        raise Fault(400, "the first message must name the process")
                    await self._put(process, event.data.input, STREAM_S)

        async def events() -> AsyncGenerator[Document, None]:
            yield {}

        return stream_reply(events)

    # -- calls

    async def _list(self, request: Request, asked: shapes.Empty) -> shapes.Processes:
        return {"processes": [_view(process) for process in self._work.processes.values()]}

    async def _update(self, request: Request, asked: shapes.UpdateProcess) -> shapes.Nothing:
        size = _size(asked.pty)
        if size is not None:
            process = self._process(asked.process)
            await process.envd.call({"op": "resize", "pid": process.pid, "size": size})
        return {}

    async def _send_input(self, request: Request, asked: shapes.SendInput) -> shapes.Nothing:
        await self._put(self._process(asked.process), asked.input, timeout_of(request) or INPUT_S)
        return {}

    async def _put(self, process: RunningProcess, given: shapes.Input, within_s: float) -> None:
        data = given.pty if given.pty is not None else given.stdin
        if data is None:
            return
        if (given.pty is not None) != process.pty:
            raise Fault(400, "the process has a terminal" if given.pty is None else "the process has no terminal")
        for start in range(0, len(data), PIECE):
            piece = data[start : start + PIECE]
            await process.envd.ask({"op": "input", "pid": process.pid}, piece, within_s=within_s)

    async def _send_signal(self, request: Request, asked: shapes.SendSignal) -> shapes.Nothing:
        number = int(_SIGNALS[asked.signal])
        process = self._process(asked.process)
        await process.envd.call({"op": "signal", "pid": process.pid, "number": number})
        return {}

    async def _close_stdin(self, request: Request, asked: shapes.OneProcess) -> shapes.Nothing:
        process = self._process(asked.process)
        await process.envd.call({"op": "end_input", "pid": process.pid})
        return {}

    def _process(self, selector: shapes.Selector) -> RunningProcess:
        """The process that a selector names. Raises Fault 404."""
        pid, tag = selector.pid, selector.tag
        if pid is not None and pid in self._work.processes:
            return self._work.processes[pid]
        if tag is not None:
            found = [process for process in self._work.processes.values() if process.tag == tag]
            if found:
                return found[0]
        raise Fault(404, f"process with {'tag' if tag is not None else 'pid'} {str(tag or pid)[:40]} not found")


async def _events(
    process: RunningProcess, received: MemoryObjectReceiveStream[Event], within_s: float
) -> AsyncGenerator[Document, None]:
    """A process's events, `start` first. Raises Fault at the timeout, BoxLost when the sandbox is lost."""
    deadline = time.monotonic() + within_s
    with received:
        yield {"event": {"start": {"pid": process.pid}}}
        while True:
            try:
                with anyio.fail_after(max(0.0, deadline - time.monotonic())):
                    header, body = await received.receive()
            except TimeoutError:
                raise Fault(504, "the operation timed out", code="deadline_exceeded") from None
            except anyio.EndOfStream:
                if process.lost or process.paused:
                    raise BoxLost("the sandbox went") from None
                raise Fault(500, "the client did not read the process's output in time") from None
            kind = header.get("event")
            if kind in ("stdout", "stderr", "pty"):
                yield {"event": {"data": {str(kind): base64.b64encode(body).decode("ascii")}}}
            elif kind == "end":
                if header.get("timed_out") is True:
                    raise Fault(504, "the command timed out", code="deadline_exceeded")
                yield {"event": {"end": _end(header)}}
                return


def _end(header: Mapping[str, object]) -> dict[str, object]:
    code, killed_by = number(header, "code"), number(header, "signal")
    if killed_by:  # as envd's Go has it: no exit code, and a name for the old signals alone
        named = (signal.strsignal(killed_by) or "").lower() if killed_by <= signal.SIGTERM else f"signal {killed_by}"
        said = f"signal: {named}"
        return {"exited": False, "status": said, "error": said, "exitCode": -1}
    status = f"exit status {code}"
    end: dict[str, object] = {"exited": True, "status": status}
    return {**end, "exitCode": code, "error": status} if code else end


def _size(terminal: shapes.Terminal | None) -> tuple[int, int] | None:
    return None if terminal is None else (terminal.size.rows, terminal.size.cols)


def _view(process: RunningProcess) -> shapes.ProcessView:
    view: shapes.ProcessView = {"pid": process.pid, "config": process.config}
    if process.tag is not None:
        view["tag"] = process.tag
    return view
