"""The Protocols of the host's partners: an engine that judges, and a resources server that knows its rows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from pydantic import BaseModel

from sandbox_gym.contract import Judgement
from sandbox_gym.engine import Engine
from sandbox_gym.errors import Unavailable
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool's arguments, the calling session, and the public tests that it was seeded with."""

    arguments: Document
    public_tests: Document | None
    session_id: str = ""
    caller: Caller = ANYONE


ToolAnswer = Mapping[str, object] | Sequence[object] | str
"""A string is answered as plain text, else JSON."""
Tool = Callable[[Engine, ToolCall], Awaitable[ToolAnswer]]


@dataclass(frozen=True, slots=True)
class VerifyResult:
    """What a verify answers, and the runs behind it in the order in which they were asked for."""

    fields: VerifyFields
    judgements: tuple[Judgement, ...] = ()
    row: Document | None = None
    """What was judged by, where reading it once was work enough."""


class ServesAgents(Protocol):
    """What an agent's session uses of a resources server: its tools, and what the session begins with."""

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Tool routes by name: POST /{name}."""
        ...

    async def seed(self, engine: Engine, session_id: str, row: Document) -> None:
        """Prepare a session's initial state from the row that seeds it. Raises RequestError and Unavailable."""
        ...

    def public_tests(self, row: Document) -> Document | None:
        """The tests that an agent may see, from the row that seeds a session. Raises RequestError."""
        ...


class ResourcesServer(ServesAgents, Protocol):
    """One kind of task. `verify` raises RequestError and Unavailable; the host turns them into HTTP."""

    @property
    def name(self) -> str:
        """The instance name, part of the session cookie's name."""
        ...

    @property
    def kind(self) -> str:
        """The kind of server, independent of its instance name: `coding`."""
        ...

    def row(self, body: Document) -> Document:
        """The part of a request that describes its task, without the answer; the journal records it and its digest."""
        ...

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult: ...

    def aggregate(self, verify_responses: list[Document]) -> Document:
        """NeMo Gym's AggregateMetrics. Raises RequestError."""
        ...


@runtime_checkable
class HasAffinity(Protocol):
    """A resources server whose tasks are costly to prepare: requests of one affinity go to one worker."""

    def affinity_of(self, body: Document) -> str | None:
        """What is prepared once for several requests, such as an instance; of a request without a session, by its row.
        None where nothing is."""
        ...


@runtime_checkable
class DescribesVerify(Protocol):
    """A resources server that declares its verify responses."""

    @property
    def verify_fields(self) -> Sequence[type[VerifyFields]]:
        """Every form of its verify responses."""
        ...

    @property
    def verify_examples(self) -> Mapping[str, Document]:
        """Complete example requests by name, each of which gets a verdict."""
        ...


@runtime_checkable
class DescribesTools(Protocol):
    """A resources server that describes its tools to models."""

    @property
    def tool_arguments(self) -> Mapping[str, type[BaseModel]]:
        """The tools for models by name: the model of its arguments, whose docstring describes the tool."""
        ...


def no_verdict(server_name: str, error: Unavailable) -> VerifyFields:
    """The response without a verdict: masked, with the reason. The reward only fills a required field."""
    return VerifyFields(
        reward=0.0,
        mask_sample=True,
        failure_kind=f"{server_name}:{error.failure_kind}",
        failure_reason=str(error) or error.failure_kind,
    )
