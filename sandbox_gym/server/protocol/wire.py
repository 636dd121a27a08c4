"""The bytes on the wire: JSON in and out, the verify request, the verify response.

Owns the models of NeMo Gym's `/verify`; must not know HTTP routes, engines or any kind of task.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from typing_extensions import TypedDict

from sandbox_gym.errors import RequestError, SessionFailed, wrong
from sandbox_gym.server.protocol.verdicts import VerdictDocument

Document = dict[str, object]
MAX_DEPTH = 256
"""Depth of nested arrays and objects in a request."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_SHOULD: Final = re.compile(r"^(?:Value error, |\w+ should )")
_SHAPES = "the server's page /docs has all fields, and docs/rows those of rows"
_M = TypeVar("_M", bound=BaseModel)


def loads(raw: bytes) -> Document:
    """One JSON object. NaN and the infinities read as null, as NeMo Gym's own encoder writes them.

    Raises RequestError: not JSON, not an object, a repeated field in an object, or nested deeper than MAX_DEPTH.
    """
    try:
        value = _parsed(raw, _object)
    except _Twice:
        field = _field_given_twice(_parsed(raw, _Pairs))
        raise RequestError(field, "is given twice in one object", "send each field once") from None
    if not isinstance(value, dict):
        raise RequestError("body", "is JSON, but no object", "send one JSON object")
    _must_be_shallow(value)
    return value


def _parsed(raw: bytes, made: Callable[[list[tuple[str, object]]], object]) -> object:
    try:
        value: object = json.loads(raw, parse_constant=lambda _name: None, object_pairs_hook=made)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:  # covers JSONDecodeError, UnicodeDecodeError and integers with too many digits
        raise RequestError("body", f"is not JSON ({_why_not(error)})", "send one JSON object in UTF-8") from None
    return value


def _why_not(error: ValueError) -> str:
    """Of a text of one line, which may be any line of a file, the column alone."""
    if isinstance(error, json.JSONDecodeError) and "\n" not in error.doc.strip():
        return f"{error.msg}, column {error.colno}"
    return str(error)[:200]


class _Twice(Exception):
    """An object has two fields of one name."""


class _Pairs(list[tuple[str, object]]):
    """An object's fields as written, repeated ones included."""


def _object(pairs: list[tuple[str, object]]) -> Document:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise _Twice
    return made


def _field_given_twice(value: object) -> str:
    waiting: list[tuple[object, str]] = [(value, "")]
    while waiting:
        one, path = waiting.pop()
        seen: set[str] = set()
        if isinstance(one, _Pairs):
            for name, item in one:
                field = f"{path}.{name}".lstrip(".")
                if name in seen:
                    return field[:500]
                seen.add(name)
                waiting.append((item, field))
        elif isinstance(one, list):
            waiting.extend((item, f"{path}[{index}]") for index, item in enumerate(one))
    return "body"


def _must_be_shallow(value: object) -> None:
    """Check the depth level by level, because code that handles the value later may recurse."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = [
            item
            for one in level
            for item in (one.values() if isinstance(one, dict) else one if isinstance(one, list) else ())
            if isinstance(item, dict | list)
        ]


def _too_deep() -> RequestError:
    return RequestError("body", "is nested too deep", f"nest at most {MAX_DEPTH} arrays and objects")


def dumps(document: Mapping[str, object] | Sequence[object]) -> bytes:
    """UTF-8 JSON on one line that every parser accepts: lone surrogates become U+FFFD, NaN and infinities null."""
    try:
        try:
            text = _encode(document)
        except ValueError:
            text = _encode(_finite(document))
    except RecursionError:
        raise _too_deep() from None
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _SURROGATES.sub("\ufffd", text).encode()


def _encode(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def check_shape(model: type[_M], body: Document) -> _M:
    """The body as `model`. Raises RequestError naming the first wrong field and its value."""
    try:
        return model.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        field = _dotted(first["loc"]) or "body"
        if first["type"] == "missing":
            raise RequestError(field, "is missing", "send it") from None
        remedy = _SHOULD.sub("it must ", first["msg"]).partition(", unable to")[0]
        raise wrong(field, first["input"], f"{remedy}; {_SHAPES}") from None


def _dotted(parts: tuple[int | str, ...]) -> str:
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in parts).lstrip(".")


class ModelResponse(BaseModel):
    """An OpenAI response; its messages' texts are the answer."""

    model_config = ConfigDict(extra="allow")

    output: list[dict[str, object]]


class VerifyBody(BaseModel):
    """A model's prompt and response, and the row's own fields: those of its task, and any others."""

    model_config = ConfigDict(extra="allow")

    responses_create_params: dict[str, object]
    response: ModelResponse
    verifier_metadata: dict[str, object] | None = None


class ShortRow(BaseModel):
    """A row as it is, and beside its fields what the model said: `verifier_metadata` and so on, and `answer`."""

    model_config = ConfigDict(extra="allow")

    answer: str = Field("", description="Left out only where the row has a `model_patch`.")
    verifier_metadata: dict[str, object] | None = None


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """A checked verify request. `body` is the request unchanged, which the response echoes."""

    body: Document
    output_text: str
    """Every output_text part of every message, joined: OpenAI's `response.output_text`."""
    reasoning_texts: tuple[str, ...]
    verifier_metadata: Document
    session_id: str = ""
    """The session of the request's cookie, if any."""
    seeded: bool = False
    """A row was seeded in that session, and no verify has had its verdict since."""
    session_failure: SessionFailed | None = None
    """Why nothing in that session is an answer, where it could not begin."""

    @classmethod
    def parse(cls, body: Document) -> VerifyRequest:
        """Raises RequestError naming the field."""
        shape = check_shape(VerifyBody, body)
        texts: list[str] = []
        reasoning: list[str] = []
        for index, item in enumerate(shape.response.output):
            field = f"response.output[{index}]"
            if item.get("type") == "message":
                texts += _texts(item.get("content"), f"{field}.content", "output_text")
            elif item.get("type") == "reasoning":
                reasoning += _texts(item.get("summary"), f"{field}.summary", "summary_text")
        return cls(body, "".join(texts), tuple(reasoning), shape.verifier_metadata or {})


def _texts(parts: object, field: str, wanted: str) -> list[str]:
    if parts is None:
        return []
    if isinstance(parts, str):
        return [parts]
    if not isinstance(parts, list):
        raise wrong(field, parts, "send a list of parts")
    texts: list[str] = []
    for index, part in enumerate(parts):
        if not isinstance(part, dict):
            raise wrong(f"{field}[{index}]", part, "send an object")
        if part.get("type", wanted) != wanted:
            continue
        text = part.get("text")
        if not isinstance(text, str):
            raise wrong(f"{field}[{index}].text", text, "send a string")
        texts.append(text)
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyFields:
    """The fields of a verify response besides the echoed request; each server adds its own."""

    __pydantic_config__ = ConfigDict(json_schema_serialization_defaults_required=True)  # for the OpenAPI document

    reward: float
    verdict: VerdictDocument | None = None
    mask_sample: bool = False
    """True: there is no verdict, the reward is a placeholder, and the sample must not be trained on or counted."""
    failure_kind: str | None = None
    """`<server>:<kind>` in NeMo Gym's vocabulary of failure kinds: why there is no verdict."""
    failure_reason: str | None = None

    def answer(self, request: VerifyRequest) -> Document:
        """The whole response: the request unchanged, with these fields on top."""
        return {**request.body, **self.document()}

    def document(self) -> Document:
        """These fields alone."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def set_aside(document: Document) -> Document:
    """A masked verify response with NeMo Gym 0.4.0's marker: its collector puts such rows into a file of failures, not
    into rollouts and metrics, and tries them again when it resumes."""
    if document.get("mask_sample") is not True:
        return document
    return {**document, "_ng_failure_class": document.get("failure_kind") or "masked"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFields(VerifyFields):
    """Fields of NeMo Gym's code_gen."""

    extracted_model_output: str | None = None
    extracted_model_code: str | None = None
    result: list[int | bool] | None = None
    metadata: Document | None = None
    unit_tests_time_taken: float | None = None
    reasoning_format_violation_rate: float = 0.0
    difficulty: str | None = None


class WrongField(TypedDict):
    """Which field is wrong, why, and the remedy."""

    field: str
    problem: str
    remedy: str


class Unprocessable(TypedDict):
    """The request is wrong: which field, and the remedy."""

    error: WrongField
    detail: str


def request_error_document(error: RequestError) -> Unprocessable:
    """A RequestError as the body of a 422, or as an `error` line of `verify`."""
    fields: WrongField = {"field": error.field, "problem": error.problem, "remedy": error.remedy}
    return {"error": fields, "detail": str(error)}
