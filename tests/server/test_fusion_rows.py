"""Rows as SandboxFusion's datasets have them, and answers in any style: what a program has once is there once, a prompt
is continued or its function written anew, and what a test has in a text is data."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.server.coding.braces import net
from sandbox_gym.server.coding.sandbox_fusion_datasets import FusionConfig, language_of
from sandbox_gym.server.coding.sandbox_fusion_programs import program_with
from sandbox_gym.server.protocol.wire import Document
from tests.server.fusion_rows import AUTOEVAL, CONTINUED, PREDICTED, STYLES
from tests.server.test_fusion_ends import clients, on, where
from tests.server.test_fusion_more import asked

__all__ = ["clients"]
pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def client(clients: dict[str, TestClient]) -> TestClient:
    return clients["local"]


def submitted(client: TestClient, row: Document, completion: str, dataset: str = "x", **config: object) -> Document:
    given = {"provided_data": row, "compile_timeout": 60, "run_timeout": 30, **config}
    done = asked(client, "submit", dataset=dataset, id="", completion=completion, config=given)
    assert isinstance(done, dict)
    return done


@pytest.mark.parametrize(
    ("provider", "language", "name"), [on(where(row[0])[0], row[0], name) for name, row in AUTOEVAL.items()]
)
def test_a_row_of_autoeval(clients: dict[str, TestClient], provider: str, language: str, name: str) -> None:
    _, row, right, wrong, extra = AUTOEVAL[name]
    assert submitted(clients[provider], row, right, extra=extra)["accepted"] is True
    if wrong is not None:
        assert submitted(clients[provider], row, wrong, extra=extra)["accepted"] is False


@pytest.mark.parametrize(("provider", "language"), [on(where(one)[0], one) for one in CONTINUED])
def test_a_prompt_is_continued_or_written_anew(clients: dict[str, TestClient], provider: str, language: str) -> None:
    row, dataset, bodies, wrong = CONTINUED[language]
    found = {body: submitted(clients[provider], row, body, dataset)["accepted"] for body in (*bodies, wrong)}
    assert found == {**dict.fromkeys(bodies, True), wrong: False}


@pytest.mark.parametrize("name", STYLES)
def test_what_a_program_has_once_is_there_once(name: str) -> None:
    language, prompt, answer, test, wanted, unwanted = STYLES[name]
    whole = program_with(answer, test, language, prompt=prompt)(test)
    for text in wanted:
        assert whole.count(text) == 1, whole
    assert not [text for text in unwanted if text in whole], whole
    assert net(whole) == 0, whole


@pytest.mark.parametrize(("mode", "completion", "right"), PREDICTED)
def test_a_prediction_is_read_and_never_run(client: TestClient, mode: str, completion: str, right: bool) -> None:
    row: Document = {
        "id": "s",
        "code": "def f(nums):\n    return [n * 2 for n in nums]",
        "input": "[1, 2]",
        "output": "[2, 4]",
    }
    assert submitted(client, row, completion, "cruxeval", extra={"mode": mode})["accepted"] is right
    prompt = asked(client, "get_prompts", dataset="c", config={"provided_data": [row], "extra": {"mode": mode}})
    assert isinstance(prompt, list)
    assert "??" in prompt[0]["prompt"]


def test_prompts_of_autoeval_have_their_context_examples_and_template(client: TestClient) -> None:
    labels: Document = {"context": "C", "fewshot": "F"}
    row: Document = {"task_id": "T/1", "content": "Q", "labels": labels, "test": {"code": "t"}}

    def prompt(row: Document, **config: object) -> object:
        found = asked(client, "get_prompts", dataset="d", config={"provided_data": [row], **config})
        assert isinstance(found, list)
        assert found[0]["id"] == "T/1"
        return found[0]["prompt"]

    assert prompt(row) == "C\n\nQ"
    assert prompt(row, is_fewshot=True) == "C\n\nF\n\nQ"
    assert prompt(row, extra={"context": "D"}) == "D\n\nQ"
    assert prompt(row, is_fewshot=True, extra={"fewshot": 3, "context": ["C"], "mode": 1}) == "Q", "others' options"
    templated = {**row, "labels": {**labels, "prompt_template": "{{ question }}/${context}/$locale/$other"}}
    assert prompt(templated, locale="zh") == "Q/C/zh/$other"


@pytest.mark.parametrize(
    ("labels", "dataset", "test", "language"),
    [
        ({"programming_language": "sql", "execution_language": "python"}, "d", "assert 1", "python"),
        ({"programming_language": "go"}, "d", "func TestF(t *testing.T) { }", "go_test"),
        ({"programming_language": "go"}, "d", "func main() { }", "go"),
        ({"programming_language": "java"}, "d", "public class A { @Test void f() { } }", "junit"),
        ({"programming_language": "typescript"}, "d", "test('f', () => { expect(f(2)).toBe(4); });", "jest"),
        ({}, "multiple_d", "unittest { assert(f(2) == 4); } void main() { }", "d_ut"),
        ({}, "multiple_cpp", "int main() { }", "cpp"),
        ({}, "ncb_python_zh", "assert f(2) == 4", "python"),
        ({}, "group_c", "assert f(2) == 4", None),
        ({}, "verilogeval_human", "module tb(); endmodule", "verilog"),
    ],
)
def test_what_runs_a_row_s_test(labels: Document, dataset: str, test: str, language: str | None) -> None:
    assert language_of({"labels": labels, "test": test}, FusionConfig(), dataset) == language


def test_reading_a_long_answer_takes_no_time() -> None:
    test = "int main() { }"
    for part in ("main() ", "{", "int main(", "class A ", "@a\n", "import x;\n", "{\nclass A\n", "package p\n"):
        code = part * (60_000 // len(part))
        for language in ("cpp", "java", "go", "csharp", "haskell", "php"):
            program_with(code, test, language, prompt="int f(int n) {\n")(test)
