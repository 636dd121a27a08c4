"""What models write around their code, against each form of a row; and what users say of how it is found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.sandbox_fusion_datasets import FusionExtra
from sandbox_gym.server.coding.sandbox_fusion_extract import extracted
from sandbox_gym.server.coding.sandbox_fusion_programs import as_program
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.verifiers.coding import known_language
from tests.server.test_fusion import CASES, b64
from tests.server.test_fusion_more import asked, cells

pytestmark = pytest.mark.timeout(300)
CODE = "def twice(n):\n    return 2 * n\n"
BLOCK = f"```python\n{CODE}```"
PROGRAM = "print(2 * int(input()))\n"
ROWS: dict[str, Document] = {
    "MBPP": {"id": 1, "content": "c", "labels": '{"test_setup_code": ""}', "test": '["assert twice(2) == 4"]'},
    "MBPP's own": {
        "task_id": 1,
        "text": "c",
        "test_imports": ["import math"],
        "test_list": ["assert math.isclose(twice(2), 4)"],
    },
    "TACO": {
        "id": 7,
        "content": "c",
        "input_output": '{"fn_name": "twice", "inputs": [[2], [3]], "outputs": [[4], [6]]}',
    },
    "HumanEval": {
        "id": 2,
        "content": 'def twice(n):\n    """ Doubles. """\n',
        "labels": {"entry_point": "twice"},
        "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    },
    "HumanEval's own": {
        "task_id": "HumanEval/0",
        "prompt": 'def twice(n):\n    """ Doubles. """\n',
        "entry_point": "twice",
        "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    },
    "AutoEval": {"id": 3, "content": "c", "labels": {}, "test": {"asset": "{}", "code": "assert twice(2) == 4"}},
    "one program": {"id": 4, "content": "c", "test": {"asset": {"a.txt": ""}, "code": "assert twice(2) == 4"}},
}
ANSWERS = {
    "a block": (BLOCK, "fenced"),
    "prose around it": (f"Sure!\n\n{BLOCK}\n\nThis doubles.", "fenced"),
    "a draft before it": (f"```python\ndef twice(n): return 3 * n\n```\nNo:\n{BLOCK}", "fenced"),
    "its output behind it": (f"{BLOCK}\nprints\n```\n4\n```", "fenced"),
    "a call behind it": (f"{BLOCK}\nUse it:\n```python\nprint(twice(int(input())))\n```", "fenced"),
    "a command behind it": (f"{BLOCK}\nRun\n```bash\npython a.py\n```", "fenced"),
    "without a tag": (BLOCK.replace("python", ""), "fenced"),
    "another tag": (BLOCK.replace("python", "Python3"), "fenced"),
    "cut off": (BLOCK.removesuffix("```"), "incomplete_fenced"),
    "no fence": (CODE, "heuristic"),
    "invisible marks": (f"\ufeff```python\u200b\n\ufeff{CODE}```\u200b", "fenced"),
    "after thoughts": (f"<think>```python\nno\n```</think>\n{BLOCK}", "fenced"),
    "a fence in it": (f'~~~python\n{CODE}TEXT = """\n```\n"""\n~~~', "fenced"),
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings.model_validate({"state_dir": tmp_path_factory.mktemp("state"), "boxes": 2})
    app = build_app(CodingResources(settings), lambda: open_engine(settings), settings)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def submitted(client: TestClient, row: Document, completion: str, **config: object) -> Document:
    done = asked(client, "submit", dataset="x", id="", completion=completion, config={"provided_data": row, **config})
    assert isinstance(done, dict)
    return done


@pytest.mark.parametrize("form", ROWS)
@pytest.mark.parametrize("written", ANSWERS)
def test_the_code_of_an_answer(client: TestClient, form: str, written: str) -> None:
    completion, kind = ANSWERS[written]
    right = submitted(client, ROWS[form], completion)
    assert (right["accepted"], right["extracted_type"]) == (True, kind), right
    wrong = submitted(client, ROWS[form], completion.replace("2 * n", "3 * n"))
    assert (wrong["accepted"], wrong["extracted_type"]) == (False, kind)


@pytest.mark.parametrize("form", ROWS)
@pytest.mark.parametrize("completion", ["", "  \n", "```python\n```", "```python\n \n```\nnothing"])
def test_no_code(client: TestClient, form: str, completion: str) -> None:
    done = submitted(client, ROWS[form], completion)
    assert (done["accepted"], done["extracted_type"], done["extracted_code"]) == (False, "empty", "")


def test_a_few_shot_answer_ends_where_its_examples_do(client: TestClient) -> None:
    for completion in (f"{CODE}[DONE]\nanother problem [BEGIN]", f"[BEGIN]\n{CODE}[DONE]"):
        for few_shot in (True, False):
            assert submitted(client, ROWS["MBPP"], completion, is_fewshot=few_shot)["accepted"] is True


LOGIC = """
import re
found = re.findall(r"<code>(.*?)</code>", completion, re.S)
submit_code_blocks([CodeBlock(priority=40, code=found[-1], language="python")])
submit_code_blocks([CodeBlock(priority=10, code="1/0", language="python")])
"""


@pytest.mark.parametrize("form", ROWS)
def test_the_requests_own_program_finds_the_code(client: TestClient, form: str) -> None:
    completion = f"```python\nnot this\n```\n<code>{CODE}</code>"
    done = submitted(client, ROWS[form], completion, custom_extract_logic=LOGIC)
    assert (done["accepted"], done["extracted_code"], done["extracted_type"]) == (True, CODE, None)
    config = {"provided_data": ROWS[form], "custom_extract_logic": LOGIC}
    failed = client.post("/submit", json={"completion": "none", "config": config})
    assert (failed.status_code, failed.json()["error"]["field"]) == (422, "config.custom_extract_logic")
    assert "IndexError" in failed.json()["error"]["problem"]
    none = submitted(client, ROWS[form], "x", custom_extract_logic="submit_code_blocks([])")
    assert (none["accepted"], none["extracted_type"]) == (False, "empty")


def test_that_program_runs_in_a_sandbox(client: TestClient) -> None:
    logic = "import os; submit_code_blocks([CodeBlock(1, repr(sorted(os.environ)) + str(os.path.exists('/work')))])"
    done = submitted(client, ROWS["AutoEval"], "x", custom_extract_logic=logic)
    assert "SANDBOX_GYM" not in str(done["extracted_code"])
    assert str(done["extracted_code"]).endswith("False")


WRITTEN = ["{", "[" * 20_000, "1" * 10_000, "[1]", "null", "\xff"]


@pytest.mark.parametrize(
    "logic",
    ["import sys; sys.exit(0)", "import os; os._exit(0)", "import os; os.mkfifo('code.json'); os._exit(0)"]
    + ["import os; os.symlink('/etc/hosts', 'code.json'); os._exit(0)", "import os; os.mkdir('code.json'); os._exit(0)"]
    + [f"import os; open('code.json', 'w', encoding='latin-1').write({text!r}); os._exit(0)" for text in WRITTEN]
    + ["import os; open('code.json', 'w').write('\"' + 'a' * 9_000_000 + '\"'); os._exit(0)"],
)  # fmt: skip
def test_whatever_that_program_leaves_is_no_fault_of_ours(client: TestClient, logic: str) -> None:
    config = {"provided_data": ROWS["AutoEval"], "custom_extract_logic": logic}
    failed = client.post("/submit", json={"completion": "x", "config": config})
    assert (failed.status_code, failed.json()["error"]["field"]) == (422, "config.custom_extract_logic"), failed.text


@pytest.mark.parametrize(
    ("language", "code", "use", "test"),
    [
        ("java", "class Solution { int f() { return 1; } }",
         "public class Main { int g() { return new Solution().f(); } }",
         "class Main { void main() { assert new Solution().f() == 1; } }"),
        ("go", "func F(n int) int { return n }", "func TestG(t *testing.T) { F(1) }",
         "func TestF(t *testing.T) { if F(1) != 1 { t.Fail() } }"),
        ("cpp", "int f(vector<int> v) { return 1; }", "int main() { if (f({})) cout << f({1}); }",
         "int main() { assert(f({}) == 1); }"),
        ("r", "f <- function(n) n", "print(f(1))", "stopifnot(f(1) == 1)"),
        ("racket", "(define (f n) n)", "(displayln (f 1))", "(check-equal? (f 1) 1)"),
    ],
)  # fmt: skip
def test_the_block_that_counts_defines_what_the_test_calls(language: str, code: str, use: str, test: str) -> None:
    written = f"```{language}\n{code}\n```\nUse it:\n```{language}\n{use}\n```"
    find = partial(extracted, program=False, extra=FusionExtra(), test=test)
    assert find(written, known_language(language, "language")).code.strip() == code
    assert find(f"```{language}\n{use}\n```\n{written}", known_language(language, "language")).code.strip() == code


def test_a_program_s_language_is_its_fences_where_nothing_else_says_one(client: TestClient) -> None:
    row: Document = {"id": 1, "test": CASES}
    cpp = '```cpp\n#include <cstdio>\nint main() { int n; scanf("%d", &n); printf("%d", 2 * n); }\n```'
    several = f"{BLOCK}\n```python\n{PROGRAM}```"
    for completion in (cpp, f"```python\n{PROGRAM}```", f"{cpp}\nwith\n```text\n2\n```", PROGRAM, several):
        assert submitted(client, row, completion)["accepted"] is True
    assert submitted(client, row, cpp, language="python")["accepted"] is False
    assert submitted(client, {**row, "labels": {"programming_language": "python"}}, cpp)["accepted"] is False


@pytest.mark.parametrize("side", ["input", "output"])
def test_files_of_a_case_are_not_passed_over(client: TestClient, side: str) -> None:
    case = {**CASES[0], side: {**CASES[0][side], "data.txt": "5"}}
    body = {"completion": PROGRAM, "config": {"provided_data": {"test": [case]}}}
    answer = client.post("/submit", json=body)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, f"config.provided_data.test[0].{side}")


def test_a_row_of_verilogeval_asks_for_the_rest_of_a_module(client: TestClient) -> None:
    row = {"id": 1, "description": "Invert a.", "code_preface": "module top(input a, output q);", "test": "t"}
    prompts = asked(client, "get_prompts", dataset="x", config={"provided_data": [row]})
    assert prompts == [{"id": 1, "prompt": "Invert a.\n\nmodule top(input a, output q);", "labels": {}}]


def test_cells_may_await_and_a_traceback_begins_in_its_cell(client: TestClient) -> None:
    lines = ("import asyncio\nawait asyncio.sleep(0.01)\nprint(1)", "async def f(): return 5", "await f()")
    done = cells(client, *lines, "f()", "def g(): 1 / 0", "g()", "await f(")
    found = done["cells"]
    assert isinstance(found, list)
    assert [one["stdout"] for one in found[:3]] == ["1\n", "", ""]
    assert [one["data"]["text/plain"][:16] for at in (2, 3) for one in found[at]["display"]] == [
        "5",
        "<coroutine objec",
    ]
    assert [(line.count("<cell "), "sandbox_gym" in line) for line in found[5]["error"][0]["traceback"][1:3]] == [
        (1, False),
        (1, False),
    ]
    assert found[6]["error"][0]["ename"] == "SyntaxError"


PLOTS = """
class Figure:
    def savefig(self, into, **_): into.write(b"png")
    def __repr__(self): return "<Figure>"
drawn = []
def plot(*_): drawn.append(Figure())
def get_fignums(): return range(len(drawn))
def figure(number): return drawn[number]
def close(_): drawn.clear()
"""


def test_cells_show_charts_and_what_ipython_displays(client: TestClient) -> None:
    done = cells(
        client,
        "from IPython.display import display, HTML, Image\ndisplay(HTML('<b>'))\nHTML('<i>')",
        "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.plot([2])",
        "display(Image(data=b'\\x89PNG\\r\\n\\x1a\\n'))\nprint(len(plt.drawn))",
        files={"matplotlib/__init__.py": "", "matplotlib/pyplot.py": b64(PLOTS)},
    )["cells"]
    assert isinstance(done, list)
    assert [one["error"] for one in done] == [[], [], []]
    shown = [[list(one["data"].items())[-1] for one in cell["display"]] for cell in done]
    assert shown[0] == [("text/html", "<b>"), ("text/html", "<i>")]
    assert shown[1] == [("image/png", "cG5n")] * 2
    assert [kind for kind, _ in shown[2]] == ["image/png"]
    assert (done[0]["stdout"], done[2]["stdout"]) == ("", "0\n")


def test_cells_have_what_a_kernel_adds_to_python(client: TestClient) -> None:
    text = 'css = """\n!important\n%x\nwhat?\n"""\nprint(css, 7\n% 4)'
    written: list[tuple[str, str]] = [
        ("\ufeff%time x = 5\n%matplotlib inline", ""),
        ("if x:\n    found = !echo {x + 1} $x {none}\nprint(found)", "['6 5 {none}']\n"),
        ("%%bash\nfor i in 1 2; do echo $i; done", "1\n2\n"),
        ("%%writefile own.py\ndef f(): return 3\n", ""),
        ('from own import f\nprint(f())\n!echo "it\'s ("\nlen?', "3\nit's (\n"),
        ("%%time\nprint(len(In) > 5, _5 if 5 in Out else x)", "True 5\n"),
        (text, "\n!important\n%x\nwhat?\n 3\n"),
        ("def g():\n    return 1\nimport inspect; print(inspect.getsource(g))", "def g():\n    return 1\n\n"),
        ("get_ipython().run_line_magic('matplotlib', 'inline'); get_ipython().system('echo s')", "s\n"),
    ]
    done = cells(client, *(source for source, _ in written))["cells"]
    assert isinstance(done, list)
    assert [(one["stdout"], one["error"]) for one in done] == [(printed, []) for _, printed in written]


def test_cells_go_on_after_what_shows_badly(client: TestClient) -> None:
    bad = "class E(Exception):\n  def __str__(self): raise ValueError\nraise E"
    bundle = "class B:\n  def _repr_mimebundle_(self, include=None, exclude=None): return {'text/x': B}\nB()"
    done = cells(client, bad, bundle, "!echo a\nx = = 1", "%time 5 + 1")["cells"]
    assert isinstance(done, list)
    assert [[one["ename"] for one in cell["error"]] for cell in done] == [["E"], [], ["SyntaxError"], []]
    assert "text/x" in done[1]["display"][0]["data"]
    assert (done[2]["stdout"], done[3]["display"][0]["data"]) == ("", {"text/plain": "6"})


def test_a_mark_of_bytes_order_is_no_part_of_a_program(client: TestClient) -> None:
    body = {"code": "\ufeffecho 1", "language": "bash", "run_timeout": 10}
    assert client.post("/run_code", json=body).json()["run_result"]["stdout"] == "1\n"


@pytest.mark.parametrize(
    ("source", "language"),
    [
        ("fun main() {}", "kotlin"),
        ("suspend fun main(a: Array<String>) {}", "kotlin"),
        ("fun main() {}\nmain()", "kotlin_script"),
        ("println(1)", "kotlin_script"),
        ("", "kotlin_script"),
    ],
)
def test_a_script_of_kotlin_that_only_defines_its_main_is_a_program(source: str, language: str) -> None:
    assert as_program(known_language("kotlin_script", "language"), source).name == language
