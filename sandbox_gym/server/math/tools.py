"""Python for math agents: math_with_code's execute_python and end_session, ns_tools' stateful_python_code_exec.

All three work on the session's own Python (session_tools): one namespace that lives between calls. numpy, sympy and
scipy are there by name and imported when a cell first uses them.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel
from typing_extensions import TypedDict

from sandbox_gym.engine import Engine
from sandbox_gym.errors import Unavailable
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.tools.session_tools import run_cell
from sandbox_gym.server.tools.shapes import tool_method

PRELOADED: Final = (("np", "numpy"), ("numpy", "numpy"), ("sympy", "sympy"), ("scipy", "scipy"), ("math", "math"))
MAX_REMEMBERED: Final = 100_000
MAX_PRINTED: Final = 1 << 20


class Code(BaseModel):
    """A cell for the session's Python."""

    code: str


class Nothing(BaseModel):
    """No arguments."""


class PythonExecuted(TypedDict):
    """What a cell printed and gave."""

    success: bool
    stdout: str
    stderr: str
    error_message: str | None
    result: str | None


@dataclass(slots=True)
class Spent:
    """What a session's tool calls took."""

    seconds: float = 0.0
    calls: int = 0
    timeouts: int = 0
    """Calls that were interrupted or killed."""
    request_timeouts: int = 0
    """Calls that got no answer from their sandbox."""


class MathTools:
    """The tools, and what each session spent on them until its verify."""

    def __init__(self, timeout_s: float, output_chars: int) -> None:
        self._timeout_s, self._output_chars = timeout_s, output_chars
        self._spent: OrderedDict[str, Spent] = OrderedDict()

    @tool_method(Code, PythonExecuted)
    async def execute_python(self, engine: Engine, call: ToolCall, wanted: Code) -> PythonExecuted:
        """Run a cell in the session's Python; `result` is the last expression's repr."""
        code = wanted.code
        with self._counted(call.session_id) as spent:
            cell = await run_cell(
                engine, call, code, self._timeout_s, echo=False, shown_bytes=self._output_chars, preload=PRELOADED
            )
        spent.timeouts += cell.status in ("interrupted", "killed")
        problem = cell.note.strip("[]\n") or (cell.stderr.strip().rpartition("\n")[2] if cell.status != "ok" else "")
        return {
            "success": cell.status == "ok",
            "stdout": cell.said + cell.stdout,
            "stderr": cell.stderr + cell.note,
            "error_message": (problem or f"the call ended as {cell.status}") if cell.status != "ok" else None,
            "result": cell.value,
        }

    @tool_method(Nothing, PythonExecuted)
    async def end_session(self, engine: Engine, call: ToolCall, _: Nothing) -> PythonExecuted:
        """End the session: its Python and files are gone; a later call starts anew."""
        if engine.sessions is not None:
            engine.sessions.discard(call.session_id)
        return {"success": True, "stdout": "", "stderr": "", "error_message": None, "result": None}

    @tool_method(Code, str)
    async def stateful_python_code_exec(self, engine: Engine, call: ToolCall, wanted: Code) -> str:
        """Run a cell as a notebook would: output, the last value, the traceback; without the last newline."""
        code = wanted.code
        with self._counted(call.session_id) as spent:
            cell = await run_cell(
                engine, call, code, self._timeout_s, shown_bytes=self._output_chars, preload=PRELOADED
            )
        spent.timeouts += cell.status in ("interrupted", "killed")
        return cell.output.removesuffix("\n")

    def spent(self, session_id: str) -> Spent:
        """What a session spent, once: its verify is its end."""
        return self._spent.pop(session_id, Spent())

    @contextmanager
    def _counted(self, session_id: str) -> Iterator[Spent]:
        spent = self._spent.setdefault(session_id, Spent())
        while len(self._spent) > MAX_REMEMBERED:
            self._spent.popitem(last=False)
        started = time.monotonic()
        try:
            yield spent
        except Unavailable:
            spent.request_timeouts += 1
            raise
        finally:
            spent.calls += 1
            spent.seconds += time.monotonic() - started

    @staticmethod
    def printed(output: object) -> str:
        """What a tool's output item shows of standard output: execute_python's field, or the text itself."""
        if not isinstance(output, str) or len(output) > MAX_PRINTED:
            return ""
        try:
            value: object = json.loads(output)
        except (ValueError, RecursionError):
            return output
        stdout = value.get("stdout") if isinstance(value, dict) else None
        return stdout if isinstance(stdout, str) else ""
