"""SandboxFusion's datasets over the user's own rows: those of a request, or of a folder of JSON lines, a file for each
dataset. Owns where rows come from, what is asked of a model, and which tests a row has; judges nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal

import anyio.to_thread
from pydantic import BaseModel, BeforeValidator, Field
from typing_extensions import TypedDict

from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.server.coding import predictions
from sandbox_gym.server.coding.row_tests import printed_answer, setup_of, test_of
from sandbox_gym.server.coding.sandbox_fusion import Timeouts, without_unset
from sandbox_gym.server.coding.sandbox_fusion_programs import MARK, only_imports, unix_lines
from sandbox_gym.server.protocol.resources import ToolCall
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.tools.shapes import Nothing, tool_method
from sandbox_gym.verifiers.coding import language_named, unpacked

_NAME: Final = re.compile(r"[\w.-]{1,200}")
_REMEDY: Final = "give config.provided_data a row, or serve a folder that has it (sandbox_fusion_datasets)"
_NO_TESTS: Final = "give config.provided_data a test list of {input: {stdin}, output: {stdout}}, or a verifier_metadata"
_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*\}\}|\$\{(\w+)\}|\$(\w+)")
"""In a prompt's template."""
_BY_TEST: Final = {
    "go": ("go_test", re.compile(r"\*testing\.T\b")),
    "java": ("junit", re.compile(r"@(?:[\w.]{1,100}\.)?Test\b")),
    "python": ("pytest", re.compile(r"^class\s{1,9}Test\w*\s{0,9}(?:\(\s{0,9}(?:object)?\s{0,9}\))?\s{0,9}:", re.M)),
    "rust": ("rust_test", re.compile(r"#\[test\]")),
    "d": ("d_ut", re.compile(r"\bunittest\s*\{")),
    "javascript": ("jest", re.compile(r"\bexpect\([^\n]{0,2000}\)\s*\.(?:not\.)?to[A-Z]\w*\(")),
}
"""What runs a test that no program begins, by the language of its answer; D's unittests may have an empty one."""
_OF_ONE_LANGUAGE: Final = re.compile(
    r"(?:(?:shadow_)?(?:humaneval|multiple|mbxp|ncb)[a-z]*|cruxeval_x)_([a-zA-Z]+(?:_(?:test|ut|script))?)(?:_(?:en|zh))?"
)
_OF_HUMANEVAL_X: Final = re.compile(r"(CPP|Go|Java|JavaScript|Python|Rust)/\d+")
"""Datasets that have a language in their name, and rows that have it in their id."""
_CONSOLE_ASSERT: Final = "console.assert = (ok, said) => { if (!ok) throw new Error(said) }; "
"""Node's own prints what failed, and its program ends well."""
_BEGINS: Final = re.compile(r"\b[mM]ain\s*\(")
MAX_ROWS: Final = 100_000
"""Of a request."""
Id = str | int


class FusionExtra(BaseModel):
    """Of a config: what is our own, and what is SandboxFusion's for its datasets."""

    run_all_cases: bool = False
    code_block_idx: object = None
    autoeval_extract_code_mode: object = None
    repr_code: object = None
    mode: object = None
    fewshot: object = None
    context: object = None
    prompt_template: object = None


class FusionConfig(Timeouts):
    """SandboxFusion's TestConfig."""

    language: str | None = None
    provided_data: dict[str, object] | Annotated[list[dict[str, object]], Field(max_length=MAX_ROWS)] | None = None
    extra: Annotated[FusionExtra, BeforeValidator(without_unset)] = Field(default_factory=FusionExtra)
    custom_extract_logic: str | None = None
    is_fewshot: bool | None = None
    locale: str | None = None


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
    """What goes before an answer that does not bring it: imports, the head of a Verilog module."""
    prompt: str = ""
    """What an answer may continue, if it is code."""
    stops: Sequence[str] = ()
    answer: str | None = None
    """What is run in place of a completion that is no program."""
    prints: str = ""
    """The function whose result is printed behind an answer that only defines it."""

    def preface(self, code: str) -> str:
        """The answer between what stands before it and what prints its result."""
        if self.prints:
            rest, defined = re.subn(rf"^def {self.prints}\(.*(?:\n(?:[ \t].*)?)*", "", code, flags=re.M)
            return code if not defined or f"{self.prints}(" in rest else f"{code}\nprint({self.prints}())"
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
        return [_prompt(row, wanted.config) for row in rows[wanted.offset : wanted.offset + wanted.limit]]

    @tool_method(FusionRow, FusionPrompt)
    async def get_prompt_by_id(self, engine: Engine, call: ToolCall, wanted: FusionRow) -> FusionPrompt:
        """What one row asks of a model."""
        return _prompt(await self.row(wanted.dataset, wanted.id, wanted.config), wanted.config)

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
        version, kept = path.stat().st_mtime_ns, self._read.get(path)
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
    named = (row.get(name) for name in ("id", "task_id", "name"))
    return next((one for one in named if isinstance(one, str | int) and one != ""), "")


def labels_of(row: Document) -> dict[str, object]:
    """Text of JSON in a table's column, too."""
    found = unpacked(row.get("labels"))
    return found if isinstance(found, dict) else {}


def _prompt(row: Document, config: FusionConfig) -> FusionPrompt:
    """As AutoEval puts it together: the row's context, few-shot examples where they are asked for, its question."""
    labels, extra, tests = labels_of(row), config.extra, test_of(row)
    prompt = _said(row, "prompt", "content", "description", "text") or predictions.question(row, extra.mode)
    prompt += f"\n\n{row['code_preface']}" if row.get("code_preface") else ""
    if isinstance(tests, list) and tests and isinstance(tests[0], str):  # how the function is called
        prompt += f"\n\nA test of it:\n\n{tests[0]}"
    told = {name: getattr(extra, name) or labels.get(name) or "" for name in ("context", "fewshot", "prompt_template")}
    said = {name: text for name, text in told.items() if isinstance(text, str)}
    template = said.pop("prompt_template", "")
    if template:
        said |= {"question": prompt, "locale": config.locale or "en"}
        prompt = _VARIABLE.sub(lambda found: said.get(found[1] or found[2] or found[3], found[0]), template)
    else:
        shown = (said.get("context"), said.get("fewshot") if config.is_fewshot else "", prompt)
        prompt = "\n\n".join(one for one in shown if one)
    return {"id": _id(row), "prompt": prompt, "labels": labels}


def language_of(row: Document, config: FusionConfig, dataset: str) -> str | None:
    """The one in which a row's test is run: its own, else the request's; else that of the answer, or of the dataset by
    its name's end, or of the id. VerilogEval's rows have the head of a module."""
    labels, test = labels_of(row), test_of(row)
    if row.get("code_preface") or dataset.startswith("verilogeval"):
        return "verilog"
    told = (labels.get("execution_language"), config.language)
    told = (*(told if isinstance(test, str | dict) else told[::-1]), labels.get("programming_language"))
    named = next((one for one in (*told, row.get("language")) if isinstance(one, str) and one), None)
    by_name = _OF_ONE_LANGUAGE.fullmatch(dataset) or _OF_HUMANEVAL_X.fullmatch(str(_id(row)))
    tested = isinstance(test, str) or predictions.is_blank(row)
    if named is None and by_name is not None and tested and language_named(by_name[1]):
        named = by_name[1]
    language = language_named(named or "")
    source = test.get("code") if isinstance(test, dict) else test
    if language is None or not isinstance(source, str) or (language.name != "d" and _BEGINS.search(source)):
        return named
    runner, sign = _BY_TEST.get("javascript" if language.name == "typescript" else language.name, ("", None))
    return runner if sign is not None and sign.search(source) else named


def tests_of(row: Document, language: str, wanted: FusionRow, completion: str) -> Tests:
    """A row's tests, by their form. Raises RequestError."""
    own, test, labels = row.get("verifier_metadata"), test_of(row), labels_of(row)
    if isinstance(own, dict):
        return Tests(own)
    if predictions.is_asked(row):
        mode: Literal["input", "output"]
        mode = "output" if str(wanted.config.extra.mode or wanted.dataset).endswith("output") else "input"
        if predictions.is_blank(row):
            source, predicted = predictions.filled(row, completion, mode, language)
            return Tests({}, source=source, answer=predicted)
        code, test_list = predictions.tested(row, completion, mode)
        return Tests({"test_list": test_list}, answer=code)
    if test is None and (printed := printed_answer(row, labels)):
        return Tests(*printed, prints="solution")
    if isinstance(test, list) and test and all(isinstance(one, str) for one in test):
        return Tests({"test_list": test, "test_setup_code": setup_of(row, labels)})
    if isinstance(test, list) and test:
        inputs = [_text(case, "input", "stdin", index) for index, case in enumerate(test)]
        outputs = [_text(case, "output", "stdout", index) for index, case in enumerate(test)]
        return Tests({"unit_tests": {"inputs": inputs, "outputs": outputs}}, test)
    if isinstance(test, dict) and "fn_name" in test:
        return Tests({"unit_tests": test})
    asset = unpacked(test.get("asset")) if isinstance(test, dict) else None
    test = test.get("code") if isinstance(test, dict) else test
    if not isinstance(test, str) or not test.strip():
        raise RequestError("config.provided_data.test", "is no list of tests", _NO_TESTS)
    test, setup, prompt = map(unix_lines, (test, _said(row, "test_setup"), _said(row, "prompt", "content")))
    if language == "python" and not asset:
        called = re.search(r"^check\((\w+)\)\s*\Z", test, re.M)  # as HumanEval-X's tests end
        entry = labels.get("entry_point") or row.get("entry_point") or (called and called[1])
        if isinstance(entry, str) and re.search(r"^def check\(", test, re.M):
            return Tests({"test": test, "entry_point": entry, "prompt": prompt})
        before, _, rest = test.rpartition(MARK)
        if not before or only_imports(before):
            return Tests({"test_list": [f"{before}{rest}"]}, before=before.strip())
    if language in ("javascript", "typescript") and "console.assert" in test:
        test = _CONSOLE_ASSERT + test
    stops = row.get("stop_tokens", labels.get("stop_tokens"))
    is_head = language == "verilog" and re.match(r"\s*module\b", prompt) is not None
    return Tests(
        {},
        source=test,
        files=asset if isinstance(asset, dict) else None,
        before=_said(row, "code_preface") or (prompt if is_head else ""),
        prompt="\n".join(one for one in (setup, prompt) if one),
        stops=[one for one in stops if isinstance(one, str) and one] if isinstance(stops, list) else (),
    )


def _said(row: Document, *names: str) -> str:
    return next((held for name in names if isinstance(held := row.get(name), str)), "")


def _text(case: object, side: str, name: str, index: int) -> str:
    held = case.get(side) if isinstance(case, dict) else None
    text = held.get(name, "" if side == "input" else None) if isinstance(held, dict) else None
    if isinstance(held, dict) and held.keys() - {name}:
        remedy = "give a verifier_metadata, or a test text that reads and compares them"
        raise RequestError(f"config.provided_data.test[{index}].{side}", "has files beside the streams", remedy)
    if not isinstance(text, str):
        raise RequestError(f"config.provided_data.test[{index}].{side}.{name}", "is no text", _NO_TESTS)
    return text
