"""Aggregates the workers' responses: sums health counters, labels each worker's metrics."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Metric, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from starlette.responses import Response

from sandbox_gym.errors import Unavailable
from sandbox_gym.observe.metrics import CONTENT_TYPE
from sandbox_gym.server.protocol.exchange import error_reply, reply
from sandbox_gym.server.protocol.wire import Document

_ADDED = ("stats", "sessions", "journal")


@dataclass(frozen=True, slots=True)
class Told:
    """One worker's response; without a body where it sent none in time."""

    number: int
    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @classmethod
    def unavailable(cls, number: int, error: Unavailable) -> Told:
        answer = error_reply(error)
        headers = {name: answer.headers[name] for name in ("content-type", "retry-after")}
        return cls(number, answer.status_code, headers, bytes(answer.body))

    def document(self) -> Document:
        """The response's JSON object; empty where it is not one."""
        try:
            found = json.loads(self.body)
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def health_of(answers: Sequence[Told]) -> Response:
    """Healthy while one worker is: requests of other workers' sessions wait for their successors."""
    documents = [answer.document() for answer in answers]
    up = [answer.status == 200 for answer in answers]
    first = documents[up.index(True)] if any(up) else documents[0]
    workers = [
        {"number": answer.number, "up": alive, "reason": said.get("reason", said.get("detail", "no answer"))}
        for answer, alive, said in zip(answers, up, documents, strict=True)
    ]
    document = {**first, **{name: _added([said.get(name) for said in documents]) for name in _ADDED}}
    document["workers"] = workers
    return reply(document, 200) if any(up) else reply({**document, "status": "down"}, 503, {"Retry-After": "5"})


def _added(counts: Iterable[object]) -> dict[str, int | float]:
    total: dict[str, int | float] = {}
    for each in counts:
        for name, value in (each if isinstance(each, dict) else {}).items():
            if isinstance(value, int | float):
                total[name] = total.get(name, 0) + value
    return total


class _Labelled(Collector):
    """Every worker's samples, labelled with its number."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterable[Metric]:
        families: dict[str, Metric] = {}
        for number, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                merged = families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    merged.add_sample(sample.name, {**sample.labels, "worker": str(number)}, sample.value)
        return families.values()


def metrics_of(answers: Sequence[Told]) -> Response:
    """The status over the workers that answered; an error status where one refuses, as without a token."""
    refused = next((answer for answer in answers if 400 <= answer.status < 500), None)
    if refused is not None:
        return Response(refused.body, refused.status, dict(refused.headers))
    registry = CollectorRegistry()
    registry.register(_Labelled({answer.number: answer.body.decode() for answer in answers if answer.status == 200}))
    return Response(generate_latest(registry), media_type=CONTENT_TYPE)
