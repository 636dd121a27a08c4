"""Rows as SandboxFusion's datasets have them, and answers in any style: what a program has once is there once, a prompt
is continued or its function written anew, and what a test has in a text is data."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.server.coding.braces import net
from sandbox_gym.server.coding.predictions import filled
from sandbox_gym.server.coding.sandbox_fusion_datasets import FusionConfig, language_of
from sandbox_gym.server.coding.sandbox_fusion_programs import program_with
from sandbox_gym.server.protocol.wire import Document
from tests.server.fusion_begins import BEGINS, NAMED, TESTED
from tests.server.fusion_blanks import CODE, FORGED
from tests.server.fusion_blanks import row as blank_row
from tests.server.fusion_humaneval_x import HUMANEVAL_X, MBXP_ANSWERS, MBXP_PROMPT, MBXP_TEST
from tests.server.fusion_rows import AUTOEVAL, CONTINUED, DOUBLES, PREDICTED, PY, STYLES
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


@pytest.mark.parametrize("of", HUMANEVAL_X)
def test_a_row_of_humaneval_x_has_its_language_in_its_id(client: TestClient, of: str) -> None:
    prompt, test, right, wrong = HUMANEVAL_X[of]
    row: Document = {"task_id": f"{of}/0", "prompt": prompt, "test": test}
    rights = (*right, f"```\n{prompt}{right[0]}```", f"```{of.lower()}\n{prompt}{right[0]}```")
    found = {body: submitted(client, row, body)["accepted"] for body in (*rights, *wrong)}
    assert found == {**dict.fromkeys(rights, True), **dict.fromkeys(wrong, False)}


def test_what_a_prompt_opens_and_its_test_closes_is_kept(client: TestClient) -> None:
    row: Document = {"task_id": "MBCSP/1", "language": "csharp", "prompt": MBXP_PROMPT, "test": MBXP_TEST}
    assert submitted(client, row, MBXP_ANSWERS[0])["accepted"] is True
    for answer in MBXP_ANSWERS:
        whole = program_with(answer, MBXP_TEST, "csharp", prompt=MBXP_PROMPT)(MBXP_TEST)
        kept = (net(whole), whole.count("namespace"), whole.count("int F"), whole.count("void Main"))
        assert kept == (0, 1, 1, 1), whole


@pytest.mark.parametrize("name", [*STYLES, *BEGINS])
def test_what_a_program_has_once_is_there_once(name: str) -> None:
    language, prompt, answer, test, wanted, unwanted = {**STYLES, **BEGINS}[name]
    whole = program_with(answer, test, language, prompt=prompt)(test)
    for text in wanted:
        assert whole.count(text) == 1, whole
    assert not [text for text in unwanted if text in whole], whole
    assert net(whole) == 0, whole


@pytest.mark.parametrize("name", NAMED)
def test_javascript_may_have_the_names_of_its_test(client: TestClient, name: str) -> None:
    for test in TESTED:
        row: Document = {"id": 1, "labels": {"programming_language": "javascript"}, "test": {"code": test}}
        wrong = NAMED[name].replace("2 * n", "n").replace("equal(f(1), 2);", "")
        found = [submitted(client, row, f"```js\n{code}\n```")["accepted"] for code in (NAMED[name], wrong)]
        assert found == [True, False], test


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


@pytest.mark.parametrize("language", CODE)
def test_a_blank_of_another_language_s_test_is_filled(client: TestClient, language: str) -> None:
    given, value = CODE[language][2]
    said = {
        "output": [(f"[ANSWER]{value}[/ANSWER]", True), (f"It is `{given}`", False), ("", False)],
        "input": [(f"So:\n```\n{given}\n```", True), (given.replace("3", "5"), False), (value, False)],
    }
    said["output"] += [(one, False) for one in FORGED[language]]
    for mode, completions in said.items():
        for completion, right in completions:
            extra = {"mode": mode}
            done = submitted(client, blank_row(language), completion, f"cruxeval_x_{language}", extra=extra)
            assert done["accepted"] is right, (mode, completion, done)
            assert right <= ("????" not in str(done["full_code"]))


def test_a_row_of_studenteval(client: TestClient) -> None:
    row: Document = {"id": 1, "prompt": "def f(n):\n", "entrypoint": "f", "assertions": DOUBLES}
    found = [submitted(client, row, f"```python\n{code}```", language="python") for code in (PY, PY.replace("2", "3"))]
    assert [one["accepted"] for one in found] == [True, False]


@pytest.mark.parametrize("packed", [False, True])
def test_a_row_of_livecodebench(client: TestClient, packed: bool) -> None:
    def form(inputs: list[str], outputs: list[str], **more: object) -> object:
        table = {"inputs": inputs, "outputs": outputs, **more}
        return {"input_output": json.dumps(table)} if packed else table

    programs = {"id": 1, "content": "Double it.", "test": form(["2\n", "5\n"], ["4\n", "10\n"], fn_name=None)}
    calls = {"id": 2, "content": "Double it.", "tests": form(["2", "5"], ["4", "10"], fn_name="f")}
    for row, answer in (
        (programs, "print(2 * int(input()))"),
        (calls, "class Solution:\n  def f(self, n): return 2 * n"),
    ):
        for code, right in ((answer, True), (answer.replace("2 *", "3 *"), False)):
            done = submitted(client, row, f"```python\n{code}\n```", "livecodebench", language="python")
            assert done["accepted"] is right, done


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
        ({"programming_language": "rust"}, "d", "#[test]\nfn t() { }", "rust_test"),
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


LONG = (
    *(
        'R"(',
        'r#"',
        "`${",
        "main() ",
        "{",
        "int main(",
        "class A ",
        "@a\n",
        "import x;\n",
        "{\nclass A\n",
        "package p\n",
        "main = a\n",
    ),
    *(
        "import {a} from 'b'\n",
        "const a = require('b')\n",
        "static void Main() => ",
        "fun main() =\n",
        "namespace a {\n",
    ),
    *(
        "if __FILE__ == $0\n",
        "#[cfg(test)]\nmod a {\n",
        "if (sys.nframe() == 0) {\n",
        "{-# LANGUAGE\n",
        "import a\n  b\n",
    ),
)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("part", LONG)
def test_reading_a_long_answer_takes_no_time(part: str) -> None:
    code = part * (60_000 // len(part))
    for language in ("cpp", "java", "go", "csharp", "haskell", "php", "javascript", "kotlin", "ruby", "r", "rust_test"):
        test = "int main() { } class A { static void Main() { } }\nfun main() { }\nmain = 1\nconst a = 1\n"
        program_with(code, test, language, prompt="int f(int n) {\n")(test)


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("go", "import (\n" + "//aaaaaaaa\n" * 2_000),
        ("go", "import (\n" + "/* a */ * /" * 2_000),
        ("java", "import a.b;" * 2_000 + "x"),
        ("csharp", "using A;" * 2_000 + "x"),
        ("csharp", "using " * 2_000),
        ("kotlin", "import a.b // c\n" * 2_000 + "import a."),
    ],
)
def test_imports_of_an_answer_are_read_in_linear_time(language: str, code: str) -> None:
    """A pattern that reads a comment in two ways takes twice as long for each line more."""
    test = "package main\n#<INSERT>\nfunc main() {}\n" if language == "go" else "#<INSERT>\n"
    for text in (code, f"package main\n{code}"):
        assert program_with(text, test, language)(test)


_BODY = "def solution():\n    eggs = 16 - 3 - 4\n    return eggs * {}\n"


@pytest.mark.parametrize(
    ("row", "right", "wrong"),
    [
        ({"id": 1, "content": "How much?", "answer": 18}, _BODY.format(2), _BODY.format(3)),
        (
            {"id": 1, "content": "How much?", "labels": {"answer": "18.0"}},
            _BODY.format(2),
            "def solution():\n    pass\n",
        ),
        ({"id": 1, "answer": "18"}, _BODY.format(2) + "result = solution()\nprint(result)\n", "print('18 or 27')"),
        ({"id": 1, "answer": 18}, f"```python\n{_BODY.format(2)}```", f"```python\n{_BODY.format(2)}print(27)\n```"),
        ({"id": 1, "answer": "6 * 3 = 18, and so on\n#### 1,018"}, "print(1018)", "print(18)"),
        ({"id": 1, "answer": 18}, f"{_BODY.format(2)}\n\nif __name__ == '__main__':\n    print(solution())", _BODY),
        ({"id": 1, "answer": 6}, "def solution(n=3):\n    return n * solution(n - 1) if n else 1", "solution = 6"),
        ({"id": 1, "answer": 0.3333333}, "print(1 / 3)", "print(1 / 2)"),
        ({"id": 1, "answer": 1234567}, "print(1234567.0)", "print(1244567)"),
        ({"id": 1, "answer": "Sunday"}, "def solution():\n    return 'Sunday'", "def solution():\n    return 'Monday'"),
    ],
)
def test_a_row_of_pal_has_an_answer(client: TestClient, row: Document, right: str, wrong: str) -> None:
    """DeepSeek's PAL-Math: a program whose printed result, or that of its function `solution`, is the row's answer."""
    assert submitted(client, row, right, "palmath")["accepted"] is True
    assert submitted(client, row, wrong, "palmath")["accepted"] is False
    assert submitted(client, row, "", "palmath")["accepted"] is False


SAID = [
    ("nodejs", "{'a': 1, 'b': [2]}", ("{a: 1, b: [2]}", '{"a": 1, "b": [2]}'), ("{a: a(3), b: [2]}", "{b: b}")),
    ("python", "{'f': ['x', \"it's\"]}", ('{"f": ["x", "it\'s"]}',), ("f(3)", "{'f': f(3)['f']}")),
    ("python", "'exit f'", ('"exit f"',), ("exit(0)", "f(3)")),
    ("cpp", '({(std::string)"f", (std::string)"x"})', ('({"f", "x"})',), ("f(3)", "(x)")),
    ("lua", '{["f"] = 1}', ("{f = 1}", "{['f'] = 1}"), ("f(3)", "{f = f(3)['f']}")),
    ("ruby", '{"f" => 1}', ("{'f' => 1}",), ("f(3)", '"#{f(3)}"')),
    ("perl", '["a\\@b", "f"]', ("['a@b', 'f']",), ('"@{[f(3)]}"', "f(3)")),
    ("bash", '"f a"', ("'f a'",), ("$(f 3)", "[a-z] [a-z]")),
    ("nodejs", "[3], 'f'", ('[3], "f"', "[4], 'g'"), ("f, 'f'", "3, 4, 5", "3), (4")),
    ("bash", '"abc"', ("abc", "'abc'"), ("abc$(f)", "[a-c]bc", "{abc,abc}")),
]


@pytest.mark.parametrize(("language", "value", "right", "forged"), SAID)
def test_what_may_be_predicted(language: str, value: str, right: tuple[str, ...], forged: tuple[str, ...]) -> None:
    row: Document = {"code": "", "input": f"check f(????) is {value};", "output": "check f(3) is ????;"}
    found = {one: filled(row, f"[ANSWER]{one}[/ANSWER]", "output", language)[1] for one in (value, *right, *forged)}
    assert found == {one: "" if one in forged else one for one in found}
