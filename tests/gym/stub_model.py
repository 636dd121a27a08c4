"""An OpenAI-compatible policy that plays each task's script: its tool calls one by one, then its answer. Speaks
responses and chat completions.

`python stub_model.py PORT SCRIPTS.json`. SCRIPTS is {marker: [turn, ...]}; a task's prompt holds its marker, or is it.
A turn is {"call": name, "arguments": {...}}, or {"say": text}, or {"say": text, "if_seen": needle, "else": text}: the
text, where the last tool's output holds the needle, else the other. Standard library only: NeMo Gym's own environments
stay apart.
"""

from __future__ import annotations

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def text_of(item: dict[str, object]) -> str:
    """A message's text, whichever of OpenAI's forms it has."""
    content = item.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


def answer(scripts: dict[str, list[dict[str, object]]], body: dict[str, object]) -> dict[str, object]:
    """The response to a request. Raises LookupError where no script fits."""
    given = body["input"]
    items: list[dict[str, object]] = given if isinstance(given, list) else [{"role": "user", "content": given}]
    prompt = "\n".join(text_of(item) for item in items if item.get("role") == "user")
    marker = next(marker for marker in scripts if f"[{marker}]" in prompt or marker == prompt)
    outputs = [str(item.get("output")) for item in items if item.get("type") == "function_call_output"]
    turn = scripts[marker][len(outputs)]
    marker = re.sub(r"\W+", "_", marker)[:40]
    if "call" in turn:
        call_id = f"call_{marker}_{len(outputs)}"
        output: dict[str, object] = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id}
        output |= {"name": turn["call"], "arguments": json.dumps(turn["arguments"]), "status": "completed"}
    else:
        seen = "if_seen" not in turn or str(turn["if_seen"]) in outputs[-1]
        part = {"type": "output_text", "text": turn["say"] if seen else turn["else"], "annotations": []}
        output = {"type": "message", "id": f"msg_{marker}", "role": "assistant", "status": "completed"}
        output["content"] = [part]
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"resp_{marker}_{len(outputs)}",
        "object": "response",
        "created_at": 0,
        "model": "stub",
        "output": [output],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": body.get("tools") or [],
        "usage": usage | details,
    }


def completion(scripts: dict[str, list[dict[str, object]]], body: dict[str, object]) -> dict[str, object]:
    """The same for chat completions, where scripts call no tools."""
    response = answer(scripts, {"input": body["messages"]})
    output = response["output"]
    assert isinstance(output, list)
    message = {"role": "assistant", "content": text_of(output[0])}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "stub",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def main() -> None:
    scripts = json.loads(Path(sys.argv[2]).read_text())

    class Policy(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                play = completion if self.path.endswith("/chat/completions") else answer
                status, document = 200, play(scripts, body)
            except (LookupError, StopIteration) as error:
                status, document = 500, {"error": {"message": f"no script: {error!r}"}}
            raw = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:
            """Silence."""

    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Policy).serve_forever()


if __name__ == "__main__":
    main()
