"""Wraps text in the forms of NeMo Gym's rows and responses, and extracts it again. Pure."""

from __future__ import annotations

from sandbox_gym.errors import RequestError
from sandbox_gym.server.protocol.wire import Document, ShortRow, check_shape

_PROMPTS = ("question", "prompt", "problem", "problem_statement")


def response_of(text: str, name: str = "0", *, model: str = "answer") -> Document:
    """A minimal OpenAI response with this output text."""
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"id": f"msg_{name}", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    return {
        "id": f"resp_{name}",
        "created_at": 0,
        "model": model,
        "object": "response",
        "output": [message],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def body_of(row: Document, name: str = "0") -> Document:
    """A row with its answer as NeMo Gym's verify body: one with a `response` is one, or is about to be; else the
    `answer` becomes its response. Raises RequestError."""
    given = row.get("response")
    if isinstance(given, str) and "answer" in row:
        raise RequestError("response", "is a text beside an `answer`", "leave out the one that is not to be judged")
    if given is not None:
        return row
    if "answer" not in row and "model_patch" not in row:
        raise RequestError("response", "is missing", "give the row a `response` or an `answer`")
    response = response_of(check_shape(ShortRow, row).answer, name)
    return {"responses_create_params": {"input": []}, **row, "response": response}


def text_of_completion(response: Document) -> str | None:
    """The text of a chat completion; None for any other value."""
    choices = response.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, str) else None


def params_of(row: Document) -> Document:
    """A row's `responses_create_params`, else made of its question or prompt. Raises RequestError."""
    params = row.get("responses_create_params")
    if isinstance(params, dict) and isinstance(params.get("input"), str | list) and params["input"]:
        return params
    metadata = row.get("verifier_metadata")
    holders = (row, metadata) if isinstance(metadata, dict) else (row,)
    for holder in holders:
        for name in _PROMPTS:
            text = holder.get(name)
            if isinstance(text, str) and text.strip():
                given = params if isinstance(params, dict) else {}
                return {**given, "input": [{"role": "user", "content": text}]}
    wanted = ", ".join(_PROMPTS)
    raise RequestError("responses_create_params.input", "is missing", f"give it, or one of {wanted}")


def messages_of(params: Document) -> list[dict[str, str]]:
    """The input as plain-text messages, `instructions` first. Raises RequestError for content that is not text."""
    instructions, given = params.get("instructions"), params.get("input")
    messages = [{"role": "system", "content": instructions}] if isinstance(instructions, str) and instructions else []
    if isinstance(given, str):
        return [*messages, {"role": "user", "content": given}]
    for index, item in enumerate(given if isinstance(given, list) else []):
        field = f"responses_create_params.input[{index}]"
        role = item.get("role") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(role, str):
            raise RequestError(field, "is not a message", "an evaluator's prompt may contain only messages")
        messages.append({"role": role, "content": _plain(item.get("content"), f"{field}.content")})
    return messages


def _plain(content: object, field: str) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise RequestError(field, "is not plain text", "an evaluator's messages may contain only text")
    return "".join(str(text) for text in texts)
