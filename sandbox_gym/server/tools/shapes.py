"""What a tool takes and gives, said once: the model that checks a call's arguments is the model that documents them.

`@tool` and `@tool_method` check the arguments and hand them over; what a tool gives is its return type, which mypy
holds it to and the documents show.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial, wraps
from typing import Final, TypeVar

from pydantic import BaseModel

from sandbox_gym.engine import Engine
from sandbox_gym.judging import asked
from sandbox_gym.server.protocol.resources import Tool, ToolCall
from sandbox_gym.server.protocol.wire import check_shape

_ATTRIBUTE: Final = "tool_shape"
_S = TypeVar("_S")
_M = TypeVar("_M", bound=BaseModel)
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class ToolShape:
    """Types that pydantic describes. `gives` is `str` for plain text."""

    takes: object
    gives: object

    @property
    def reads(self) -> bool:
        """Whether it takes nothing, so that GET asks for it."""
        return self.takes is Nothing


class Nothing(BaseModel):
    """No arguments."""


ANY: Final = ToolShape(dict[str, object], dict[str, object] | str)
"""Of a tool that says nothing of itself."""


def tool(
    takes: type[_M], gives: type[_R]
) -> Callable[[Callable[[Engine, ToolCall, _M], Awaitable[_R]]], Callable[[Engine, ToolCall], Awaitable[_R]]]:
    """A function of (engine, call, arguments) as a tool. The tool raises RequestError for other arguments."""

    def decorate(
        function: Callable[[Engine, ToolCall, _M], Awaitable[_R]],
    ) -> Callable[[Engine, ToolCall], Awaitable[_R]]:
        @wraps(function)
        async def checked(engine: Engine, call: ToolCall) -> _R:
            return await function(engine, call, await asked(partial(check_shape, takes, call.arguments)))

        return shaped(checked, ToolShape(takes, gives))

    return decorate


def tool_method(
    takes: type[_M], gives: type[_R]
) -> Callable[[Callable[[_S, Engine, ToolCall, _M], Awaitable[_R]]], Callable[[_S, Engine, ToolCall], Awaitable[_R]]]:
    """The same for a method."""

    def decorate(
        method: Callable[[_S, Engine, ToolCall, _M], Awaitable[_R]],
    ) -> Callable[[_S, Engine, ToolCall], Awaitable[_R]]:
        @wraps(method)
        async def checked(self: _S, engine: Engine, call: ToolCall) -> _R:
            return await method(self, engine, call, await asked(partial(check_shape, takes, call.arguments)))

        return shaped(checked, ToolShape(takes, gives))

    return decorate


_F = TypeVar("_F")


def shaped(function: _F, shape: ToolShape) -> _F:
    """The function, with what it takes and gives."""
    setattr(function, _ATTRIBUTE, shape)
    return function


def shape_of(one: Tool) -> ToolShape:
    """Of a tool, a bound method of one included."""
    found = getattr(one, _ATTRIBUTE, ANY)
    assert isinstance(found, ToolShape)
    return found
