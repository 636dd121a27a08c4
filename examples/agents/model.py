"""A model that plays scripts, behind OpenAI's chat completions and Responses API on loopback.

It knows a task by `[instance_id]` in the prompt and where it stands by the tool outputs that it is sent back. Like a
careful model it begins anew when an output says that the sandbox was lost. Owns the scripts and what each step cost.
"""

from __future__ import annotations

import json
import shlex
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final, Literal

from examples.agents.instances import Document, Task

Wire = Literal["chat", "responses"]
MOST_STEPS: Final = 60
_SUBMIT: Final = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
_LOST: Final = "the sandbox was lost"
_FAILED: Final = ('"failure_kind"', f"{_LOST} during this")


@dataclass(frozen=True)
class Call:
    """One tool call."""

    name: str
    arguments: Mapping[str, object]


def bash_script(task: Task) -> list[Call]:
    """For agents with a shell alone, as mini-swe-agent has it: each command in a process of its own."""
    submit = f"git add -A && git diff --cached HEAD > /tmp/patch.txt && {_SUBMIT} && cat /tmp/patch.txt"
    commands = [*_look(task), *_edit(task), "git status --short && git diff | cat", _tests(task), submit]
    return [_bash(command) for command in commands]


def tools_script(task: Task) -> list[Call]:
    """For agents with the tools of our SWE server."""
    calls = [Call("view", {"path": "."}), *map(_bash, [*_look(task), *_edit(task)])]
    calls += [Call("run_tests", {}), _bash("git diff | cat")]
    return calls if task.plan == "left" else [*calls, Call("submit", {})]


def _look(task: Task) -> list[str]:
    return ["git log --oneline | cat; ls", f"{_tests(task)} 2>&1 | tail -3"]


def _edit(task: Task) -> list[str]:
    """From the base commit, so that it may be done again whatever was kept of it."""
    return [f"git checkout -q . && printf %s {shlex.quote(task.patch)} | git apply"] if task.patch else []


def _tests(task: Task) -> str:
    return "python -m unittest -q" if task.row.get("runner") == "unittest" else "python -m pytest -q -x --co | tail -1"


def _bash(command: str) -> Call:
    return Call("bash", {"command": command})


@dataclass
class Conversation:
    """One attempt at a task. `waits`: seconds from each answer to the request that brought its outcome."""

    waits: list[float] = field(default_factory=list)
    steps: int = 0
    losses: int = 0
    began_at: float = field(default_factory=time.monotonic)
    answered_at: float = 0.0


@dataclass
class ScriptedModel:
    """`think_s`: before each answer."""

    scripts: Mapping[str, Sequence[Call]]
    think_s: float = 0.0
    conversations: dict[str, list[Conversation]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_call(self, prompt: str, outputs: Sequence[str]) -> Call | None:
        """None: it is done. Raises LookupError for a task without a script."""
        asked_at = time.monotonic()
        name = next(name for name in self.scripts if f"[{name}]" in prompt)
        with self._lock:
            known = self.conversations.setdefault(name, [])
            if not outputs:
                known.append(Conversation())
            of = known[-1]
            if outputs:
                of.waits.append(asked_at - of.answered_at)
            of.steps, of.losses = len(outputs), sum(_LOST in output for output in outputs)
        time.sleep(self.think_s)
        of.answered_at = time.monotonic()
        script, done = self.scripts[name], progress(outputs)
        return script[done] if done < len(script) and len(outputs) < MOST_STEPS else None


def progress(outputs: Sequence[str]) -> int:
    """How many calls of a script are done and still count."""
    done = 0
    for output in outputs:
        failed = any(sign in output for sign in _FAILED)
        if _LOST in output:  # what was done since the last snapshot is gone; a first look need not be repeated
            done = 0 if done or failed else 1
        elif not failed:  # else the server can't serve it now
            done += 1
    return done


@contextmanager
def serving(model: ScriptedModel) -> Iterator[str]:
    """Its base URL, while the body runs."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = _completion if self.path.endswith("/chat/completions") else _response
            try:
                status, document = 200, answer(model, body)
            except StopIteration:
                status, document = 404, {"error": {"message": "the prompt names no instance of this run"}}
            raw = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _text(content: object) -> str:
    """A message's text, whichever of OpenAI's forms it has."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def _completion(model: ScriptedModel, body: Document) -> Document:
    given = body["messages"]
    messages: list[Document] = given if isinstance(given, list) else []
    prompt = "\n".join(_text(one["content"]) for one in messages if one["role"] == "user")
    call = model.next_call(prompt, [_text(one["content"]) for one in messages if one["role"] == "tool"])
    message: Document = {"role": "assistant", "content": "Done." if call is None else "Next."}
    if call is not None:
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        message["tool_calls"] = [{"id": f"call_{len(messages)}", "type": "function", "function": function}]
    reason = "stop" if call is None else "tool_calls"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return {
        "id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice], "usage": usage
    }  # fmt: skip


def _response(model: ScriptedModel, body: Document) -> Document:
    given = body["input"]
    items: list[Document] = given if isinstance(given, list) else [{"role": "user", "content": given}]
    prompt = "\n".join(_text(item["content"]) for item in items if item.get("role") == "user")
    outputs = [str(item.get("output")) for item in items if item.get("type") == "function_call_output"]
    call = model.next_call(prompt, outputs)
    number = len(outputs)
    if call is None:
        part = {"type": "output_text", "text": "Done.", "annotations": []}
        output: Document = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [part]}
    else:
        output = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": call.name}
        output["arguments"] = json.dumps(call.arguments)
    usage: Document = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{number}", "object": "response", "created_at": 0, "model": "scripted",
        "output": [{**output, "status": "completed"}], "parallel_tool_calls": False, "tool_choice": "auto",
        "tools": body.get("tools") or [], "usage": usage,
    }  # fmt: skip
