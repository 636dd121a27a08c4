"""NeMo Evaluator's protocol: a task by its number, a verdict on a text, how many tasks there are.

Translates between it and NeMo Gym's verify; what judges is the host's. Nothing is kept between requests: what names a
task travels in `metadata`, which the client sends back as it came.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Final, NotRequired

from fastapi import Request, Response
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

from sandbox_gym.errors import RequestError, Unavailable, wrong
from sandbox_gym.server.protocol.dataset import Dataset
from sandbox_gym.server.protocol.envelope import messages_of, params_of, response_of, text_of_completion
from sandbox_gym.server.protocol.exchange import reply, unavailable
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest, check_shape

ROW: Final = "sandbox_gym_row"
TASK: Final = "sandbox_gym_task"
_TAKEN: Final = frozenset({"response", "expected", "expected_answer", "sandbox", "answer", "idx", ROW, TASK})
"""Names that the client's own call of verify uses, or that would tell what the answer is."""
_LABELS: Final = (
    *("id", "uuid", "hash_id", "task_id", "problem_id", "name", "dataset", "source", "split", "subset"),
    *("subset_for_metrics", "category", "level", "difficulty"),
)
_LABEL_CHARS: Final = 200


class EvaluatorSeed(BaseModel):
    """Which row is wanted."""

    idx: int = Field(0, strict=True)


class EvaluatorVerify(BaseModel):
    """An answer to a row: as text, as a chat completion or as a response."""

    model_config = ConfigDict(extra="allow")

    response: str | dict[str, object]
    expected: object = None
    metadata: dict[str, object] | None = Field(None, description="The seed's, as it came; it names the row.")
    responses_create_params: dict[str, object] | None = None


class EvaluatorTask(TypedDict):
    """A row as an evaluator asks it."""

    prompt: str
    expected_answer: str
    metadata: Document
    messages: list[dict[str, str]]
    system: None
    sandbox_spec: None


class EvaluatorVerdict(TypedDict):
    """A verdict as an evaluator reads it; its gym form has the request's fields too."""

    reward: float
    extracted_answer: object
    scoring_details: Document
    metadata: Document
    expected_answer: NotRequired[object]
    responses_create_params: NotRequired[object]
    response: NotRequired[object]


class EvaluatorHealth(TypedDict):
    """Of a server with a dataset."""

    benchmark: str
    dataset_size: int
    protocol: str


class EvaluatorProtocol:
    """One resources server's tasks as NeMo Evaluator asks for them. `dataset`: the rows it may ask for by number."""

    def __init__(self, resources: ResourcesServer, dataset: Dataset | None) -> None:
        self._resources, self._dataset = resources, dataset

    def wants_seed(self, body: Document) -> bool:
        """Whether a seed's body is this protocol's: NeMo Gym's own is a row, or has a session's id."""
        other = "responses_create_params" in body or "resources_session_id" in body
        return self._dataset is not None and not other and (not body or "idx" in body)

    @staticmethod
    def wants_verify(body: Document) -> bool:
        """Whether a verify's body is this protocol's: a text as response, or `expected` beside it. A row's own text
        beside its `answer` is not."""
        return "expected" in body or ("answer" not in body and _is_text_or_completion(body.get("response")))

    def size(self) -> int:
        """How many tasks. Raises RequestError without a dataset."""
        return len(self._rows())

    def health(self) -> EvaluatorHealth | None:
        """What the health document says beside its own; None without a dataset."""
        if self._dataset is None:
            return None
        return {"benchmark": self._dataset.name, "dataset_size": len(self._dataset), "protocol": "evaluator"}

    async def seed(self, body: Document) -> EvaluatorTask:
        """{idx} -> what to ask. Raises RequestError."""
        index = check_shape(EvaluatorSeed, body).idx
        row = await self._rows().row(index)
        messages = messages_of(params_of(row))
        users = [message["content"] for message in messages if message["role"] == "user"]
        return {
            "prompt": users[-1] if users else messages[-1]["content"],
            "expected_answer": gold_of(row),
            "metadata": {**labels_of(row), ROW: index, TASK: task_digest(self._resources, row)},
            "messages": messages,
            "system": None,
            "sandbox_spec": None,
        }

    async def verify_body(self, body: Document) -> Document:
        """NeMo Gym's verify body for an evaluator's. Raises RequestError."""
        given_body = check_shape(EvaluatorVerify, body)
        row = await self._row(body)
        response = given_body.response
        if isinstance(response, str):
            given: object = response_of(response)
        else:
            text = text_of_completion(response)
            given = response if text is None else response_of(text)
        sent = given_body.responses_create_params
        asked = row.get("responses_create_params")
        params = sent if isinstance(sent, dict) else asked if isinstance(asked, dict) else {"input": []}
        return {**row, "responses_create_params": params, "response": given}

    def verdict_reply(self, body: Document, fields: Document, headers: Mapping[str, str]) -> Response:
        """What an evaluator reads of a verdict; its gym form gets its request echoed too."""
        if fields.get("mask_sample"):  # it knows no mask, and would count the reward
            return reply(fields, 503)
        extracted = fields.get("extracted_answer") or fields.get("extracted_model_code")
        details = {key: value for key, value in fields.items() if key not in ("reward", "metadata")}
        document: Document = {
            "reward": fields["reward"],
            "extracted_answer": extracted,
            "scoring_details": details,
            "metadata": {},
        }
        if "expected" not in body:
            names = ("expected_answer", "responses_create_params", "response")
            document |= {name: body[name] for name in names if name in body}
        return reply(document, 200, headers)

    def no_verdict_reply(
        self, request: Request, wanted: VerifyRequest, none: VerifyFields, error: Unavailable
    ) -> Response:
        """503 without the row, which is not the evaluator's to see."""
        return unavailable(error, none.document())

    def _rows(self) -> Dataset:
        if self._dataset is None:
            raise RequestError("idx", "names a row, and this server holds none", "serve with --dataset FILE")
        return self._dataset

    async def _row(self, body: Document) -> Document:
        """The task: of the dataset, by number; or as it travels in the metadata; or an expected answer alone."""
        metadata = body.get("metadata")
        labels: Document = metadata if isinstance(metadata, dict) else {}
        index = labels.get(ROW)
        if index is not None and self._dataset is not None:
            return await self._named(index, labels)
        known = {key: value for key, value in {**body, **labels}.items() if key not in (*_TAKEN, "metadata")}
        expected = body.get("expected", body.get("expected_answer"))
        if expected not in (None, ""):
            known.setdefault("expected_answer", expected)
        judged_by = ("verifier_metadata", "expected_answer", "expected_result")
        if not any(known.get(name) for name in judged_by):
            remedy = f"send the seed's metadata back with its {ROW}, or a verifier_metadata"
            raise RequestError("metadata", "names no task", remedy)
        return known

    async def _named(self, index: object, labels: Mapping[str, object]) -> Document:
        if type(index) is not int:
            raise wrong(f"metadata.{ROW}", index, "send the seed's metadata back")
        row = await self._rows().row(index)
        if labels.get(TASK) not in (None, task_digest(self._resources, row)):
            remedy = "serve the rows that the seeds came from"
            raise RequestError(f"metadata.{TASK}", f"is not that of row {index} here", remedy)
        return row


def _is_text_or_completion(response: object) -> bool:
    return isinstance(response, str) or (isinstance(response, dict) and "choices" in response)


def task_digest(resources: ResourcesServer, row: Document) -> str:
    """Names what a row is judged by, so that a verdict by another file's row of that number is refused."""
    text = json.dumps(resources.row(row), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:16]


def gold_of(row: Document) -> str:
    """A math row's answer; empty for a row that is judged by tests, which stay here."""
    gold = row.get("expected_answer", row.get("expected_result"))
    return "" if gold is None else gold if isinstance(gold, str) else json.dumps(gold)


def labels_of(row: Document) -> Document:
    """A row's labels, for the evaluator's reports: what is not known to be one may tell the answer."""
    metadata = row.get("verifier_metadata")
    found = {**(metadata if isinstance(metadata, dict) else {}), **row}
    return {name: found[name] for name in _LABELS if _is_label(found.get(name))}


def _is_label(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= _LABEL_CHARS)
