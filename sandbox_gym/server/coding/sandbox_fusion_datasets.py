"""SandboxFusion's datasets over the user's own rows: those of a request, or of a folder of JSON lines, a file for each
dataset. Owns where rows come from, what is asked of a model, and which tests a row has; judges nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import anyio.to_thread
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.server.coding.sandbox_fusion import Timeouts
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.tools.shapes import Nothing, tool_method

_NAME: Final = re.compile(r"[\w.-]{1,200}")
_REMEDY: Final = "give config.provided_data a row, or serve a folder that has it (sandbox_fusion_datasets)"
_NO_TESTS: Final = "give config.provided_data a test list of {input: {stdin}, output: {stdout}}, or a verifier_metadata"
MAX_ROWS: Final = 100_000
"""Of a request."""
Id = str | int


class FusionExtra(BaseModel):
    """Of a config: what is our own."""

    run_all_cases: bool = False


class FusionConfig(Timeouts):
    """SandboxFusion's TestConfig."""

    language: str | None = None
    provided_data: dict[str, object] | Annotated[list[dict[str, object]], Field(max_length=MAX_ROWS)] | None = None
    extra: FusionExtra = Field(default_factory=FusionExtra)
    custom_extract_logic: str | None = None
    is_fewshot: bool | None = None


class FusionRows(BaseModel):
    """SandboxFusion's GetPromptsRequest."""

    dataset: str = ""
    config: FusionConfig = Field(default_factory=FusionConfig)
    offset: int = Field(0, ge=0)
    limit: int = Field(1_000_000, ge=0)


class FusionRow(BaseModel):
    """SandboxFusion's GetPromptByIdRequest."""

    dataset: str = ""
    id: Id = ""
    config: FusionConfig = Field(default_factory=FusionConfig)


class FusionAccepted(BaseModel):
    """Of SandboxFusion's EvalResult, what counts."""

    id: Id
    accepted: bool


class FusionResults(BaseModel):
    """SandboxFusion's GetMetricsRequest."""

    results: Annotated[list[FusionAccepted], Field(max_length=MAX_ROWS)]


class FusionPrompt(TypedDict):
    """SandboxFusion's Prompt."""

    id: Id
    prompt: str
    labels: dict[str, object]


FusionMetrics = TypedDict("FusionMetrics", {"accuracy": float, "pass@1": float})
"""What is told of many results."""


class FusionNoFunction(TypedDict):
    """SandboxFusion's GetMetricsFunctionResult."""

    function: None


@dataclass(frozen=True, slots=True)
class Tests:
    """What a row asks of an answer: our `verifier_metadata`, or source behind the answer's whose exit decides."""

    metadata: Document
    cases: Sequence[object] = ()
    source: str = ""
    files: Mapping[str, str | None] | None = None
    before: str = ""

    def preface(self, code: str) -> str:
        """The answer, behind what it continues (the head of a Verilog module) unless it has that itself."""
        return code if not self.before or re.search(r"^\s*module\b", code, re.M) else f"{self.before}\n{code}"


class FusionDatasets:
    """The rows of `folder`, read once for each version of a file."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._read: dict[Path, tuple[int, list[Document]]] = {}

    @tool_method(FusionRows, list[FusionPrompt])
    async def get_prompts(self, engine: Engine, call: ToolCall, wanted: FusionRows) -> list[FusionPrompt]:
        """What a dataset's rows ask of a model."""
        rows = await self.rows(wanted.dataset, wanted.config)
        return [_prompt(row) for row in rows[wanted.offset : wanted.offset + wanted.limit]]

    @tool_method(FusionRow, FusionPrompt)
    async def get_prompt_by_id(self, engine: Engine, call: ToolCall, wanted: FusionRow) -> FusionPrompt:
        """What one row asks of a model."""
        return _prompt(await self.row(wanted.dataset, wanted.id, wanted.config))

    @tool_method(FusionRows, list[Id])
    async def list_ids(self, engine: Engine, call: ToolCall, wanted: FusionRows) -> list[Id]:
        """The ids of a dataset's rows."""
        rows = await self.rows(wanted.dataset, wanted.config)
        return [_id(row) for row in rows[wanted.offset : wanted.offset + wanted.limit]]

    @tool_method(Nothing, list[str])
    async def list_datasets(self, engine: Engine, call: ToolCall, wanted: Nothing) -> list[str]:
        """The names of the served datasets."""
        return sorted(path.stem for path in self._folder.glob("*.jsonl")) if self._folder is not None else []

    @tool_method(FusionResults, FusionMetrics)
    async def get_metrics(self, engine: Engine, call: ToolCall, wanted: FusionResults) -> FusionMetrics:
        """The share of accepted answers, and `pass@1`: its mean over the rows."""
        of_row: dict[Id, list[bool]] = {}
        for result in wanted.results:
            of_row.setdefault(result.id, []).append(result.accepted)
        every = [accepted for row in of_row.values() for accepted in row]
        shares = [sum(row) / len(row) for row in of_row.values()]
        mean = sum(shares) / len(shares) if shares else 0.0
        return {"accuracy": sum(every) / len(every) if every else 0.0, "pass@1": mean}

    @tool_method(FusionRows, FusionNoFunction)
    async def get_metrics_function(self, engine: Engine, call: ToolCall, wanted: FusionRows) -> FusionNoFunction:
        """No dataset has a function of its own for that."""
        return {"function": None}

    async def rows(self, dataset: str, config: FusionConfig) -> Sequence[Document]:
        """Those of the request, else the dataset's. Raises RequestError."""
        given = config.provided_data
        if given is not None:
            return given if isinstance(given, list) else [given]
        path = self._folder / f"{dataset}.jsonl" if self._folder is not None and _NAME.fullmatch(dataset) else None
        if path is None or not path.is_file():
            raise RequestError("dataset", f"is {dataset[:80]!r}, which is not served here", _REMEDY)
        return await anyio.to_thread.run_sync(self._rows_of, path)

    async def row(self, dataset: str, row_id: Id, config: FusionConfig) -> Document:
        """One row: the only one of the request, else by its id. Raises RequestError."""
        if isinstance(config.provided_data, dict):
            return config.provided_data
        for row in await self.rows(dataset, config):
            if str(_id(row)) == str(row_id):
                return row
        raise RequestError("id", f"is {str(row_id)[:80]!r}, which no row has", "list_ids says which there are")

    def _rows_of(self, path: Path) -> list[Document]:
        version = path.stat().st_mtime_ns
        kept = self._read.get(path)
        if kept is None or kept[0] != version:
            with path.open(encoding="utf-8") as lines:
                rows = [_row(line, path, number) for number, line in enumerate(lines, 1) if line.strip()]
            kept = self._read[path] = (version, rows)
        return kept[1]


def _row(line: str, path: Path, number: int) -> Document:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise RequestError("dataset", f"has no JSON object in line {number} of {path.name}", "mend that line")
    return row


def _id(row: Document) -> Id:
    found = row.get("id")
    return found if isinstance(found, str | int) else ""


def labels_of(row: Document) -> dict[str, object]:
    """Text of JSON in a table's column, too."""
    found = _unpacked(row.get("labels"))
    return found if isinstance(found, dict) else {}


def _unpacked(value: object) -> object:
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _prompt(row: Document) -> FusionPrompt:
    asked = row.get("prompt", row.get("content", row.get("description")))
    prompt, tests = asked if isinstance(asked, str) else "", _unpacked(row.get("test"))
    prompt += f"\n\n{row['code_preface']}" if row.get("code_preface") else ""
    if isinstance(tests, list) and tests and isinstance(tests[0], str):  # how the function is called
        prompt += f"\n\nA test of it:\n\n{tests[0]}"
    return {"id": _id(row), "prompt": prompt, "labels": labels_of(row)}


def language_of(row: Document, config: FusionConfig) -> str | None:
    """The request's, else the row's; VerilogEval's rows have the head of a module."""
    labels = labels_of(row)
    told = (config.language, labels.get("execution_language"), labels.get("programming_language"), row.get("language"))
    return next((one for one in told if isinstance(one, str) and one), "verilog" if row.get("code_preface") else None)


def tests_of(row: Document, language: str) -> Tests:
    """A row's tests, by their form. Raises RequestError."""
    own, test, labels = row.get("verifier_metadata"), _unpacked(row.get("test")), labels_of(row)
    if isinstance(own, dict):
        return Tests(own)
    if isinstance(test, list) and test and all(isinstance(one, str) for one in test):
        return Tests({"test_list": test, "test_setup_code": labels.get("test_setup_code") or ""})
    if isinstance(test, list) and test:
        inputs = [_text(case, "input", "stdin", index) for index, case in enumerate(test)]
        outputs = [_text(case, "output", "stdout", index) for index, case in enumerate(test)]
        return Tests({"unit_tests": {"inputs": inputs, "outputs": outputs}}, test)
    asset = _unpacked(test.get("asset")) if isinstance(test, dict) else None
    test = test.get("code") if isinstance(test, dict) else test
    if not isinstance(test, str) or not test.strip():
        raise RequestError("config.provided_data.test", "is no list of tests", _NO_TESTS)
    entry = labels.get("entry_point") or row.get("entry_point")
    if language == "python" and not asset:
        if isinstance(entry, str) and re.search(r"^def check\(", test, re.M):
            return Tests({"test": test, "entry_point": entry, "prompt": row.get("content") or row.get("prompt") or ""})
        return Tests({"test_list": [test]})
    before = row.get("code_preface")
    own_files = asset if isinstance(asset, dict) else None
    return Tests({}, source=test, files=own_files, before=before if isinstance(before, str) else "")


def _text(case: object, side: str, name: str, index: int) -> str:
    held = case.get(side) if isinstance(case, dict) else None
    text = held.get(name, "" if side == "input" else None) if isinstance(held, dict) else None
    if isinstance(held, dict) and held.keys() - {name}:
        remedy = "give a verifier_metadata, or a test text that reads and compares them"
        raise RequestError(f"config.provided_data.test[{index}].{side}", "has files beside the streams", remedy)
    if not isinstance(text, str):
        raise RequestError(f"config.provided_data.test[{index}].{side}.{name}", "is no text", _NO_TESTS)
    return text
