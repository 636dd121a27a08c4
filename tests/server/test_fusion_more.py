"""SandboxFusion's meaning beside a program's run: paths of the box, C# and TypeScript as there, runners of unit tests,
notebooks, and datasets of the user's own rows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import RequestError
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.sandbox_fusion import as_there
from sandbox_gym.server.coding.sandbox_fusion_datasets import FusionConfig, FusionDatasets
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.verifiers.coding import known_language
from tests.server.fusion_runners import RUNNERS
from tests.server.test_fusion import CASES, b64, ended, printed, run

pytestmark = pytest.mark.timeout(600)
PROVIDERS = ["local", pytest.param("docker", marks=pytest.mark.extended)]
ROWS = [
    {"id": 1, "content": "Double it.", "labels": {"difficulty": "easy"}, "test": CASES},
    {"id": "two", "content": "Write twice(n).", "labels": '{"test_setup_code": ""}', "test": ["assert twice(2) == 4"]},
]


@pytest.fixture(scope="module", params=PROVIDERS)
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    datasets = tmp_path_factory.mktemp("datasets")
    (datasets / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    fields = {"provider": request.param, "state_dir": tmp_path_factory.mktemp("state"), "boxes": 2}
    settings = Settings.model_validate({**fields, "sandbox_fusion_datasets": datasets})
    app = build_app(CodingResources(settings), lambda: open_engine(settings), settings)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def test_absolute_paths_are_the_boxs_own(client: TestClient) -> None:
    code = "text = open('/tmp/deep/in.txt').read().upper()\nopen('/tmp/test-fusion-out.txt', 'w').write(text)\n"
    code += "print(open('here').read())"
    files = {"/tmp/deep/in.txt": b64("abc"), "here": b64("x")}
    done = run(client, code, files=files, fetch_files=["/tmp/test-fusion-out.txt", "/etc/shadow", "/tmp/none"])
    assert (*ended(done), printed(done)) == ("Success", "Finished", 0, "x\n")
    assert done["files"] == {"/tmp/test-fusion-out.txt": b64("ABC")}
    assert not Path("/tmp/test-fusion-out.txt").exists()
    if (done := run(client, "import os; print(os.path.islink('/mnt'))")) and printed(done) == "True\n":  # `local`
        done = run(client, "open('/mnt/b', 'w').write('1')", fetch_files=["/mnt/b"])
        assert done["files"] == {"/mnt/b": b64("1")}
    compiled = (
        '#include <iostream>\n#include <fstream>\nint main(){int n; std::ifstream("/tmp/n") >> n; std::cout << n;}'
    )
    assert printed(run(client, compiled, language="cpp", files={"/tmp/n": b64("42")})) == "42"
    refused = run(client, "print(1)", files={"/proc/x": b64("1")})
    assert (ended(refused), printed(refused)) == (("Failed", "Finished", 1), "")
    assert "/proc/x" in printed(refused, "stderr")


def test_csharp_has_the_namespaces_of_dotnets_projects(client: TestClient) -> None:
    code = 'class P { static void Main() { Console.Write(string.Join(",", new List<int> { 3, 1 }.OrderBy(x => x))); } }'
    done = run(client, code, language="csharp")
    assert (*ended(done), printed(done), done["compile_result"]) == ("Success", "Finished", 0, "1,3", None)
    broken = run(client, "\nclass P { int x = true; }", language="csharp")
    assert ended(broken)[0] == "Failed"
    assert "(2,19): error" in printed(broken, "stderr")


def test_typescript_is_translated_and_not_checked(client: TestClient) -> None:
    code = (
        "import * as assert from 'node:assert';\nconst f = (n: number): string => n * 2;\n"
        "console.log(f(2)); assert.equal(f(2), %d);"
    )
    right = run(client, code % 4, language="typescript")
    assert (*ended(right), printed(right), right["compile_result"]) == ("Success", "Finished", 0, "4\n", None)
    failed = run(client, code % 5, language="typescript")
    assert (ended(failed), printed(failed)) == (("Failed", "Finished", 1), "4\n")
    assert "AssertionError" in printed(failed, "stderr")
    assert ended(run(client, "let x: = ;", language="typescript"))[0] == "Failed"


def test_pytest_is_a_runner(client: TestClient) -> None:
    code = "from mine import twice\ndef test_right(): assert twice(2) == 4\ndef test_wrong(): assert twice(2) == 5"
    files = {"mine.py": b64("def twice(n): return 2 * n")}
    failed = run(client, code, language="pytest", files=files)
    assert ended(failed) == ("Failed", "Finished", 1)
    assert "1 failed, 1 passed" in printed(failed)
    assert ended(run(client, code, language="pytest", files=files, args=["-k", "right"])) == ("Success", "Finished", 0)


@pytest.mark.extended
@pytest.mark.parametrize("language", RUNNERS)
@pytest.mark.parametrize("client", ["docker"], indirect=True)
def test_what_the_larger_image_has(client: TestClient, language: str) -> None:
    times = {"compile_timeout": 60, "run_timeout": 30}
    right = run(client, RUNNERS[language] % 2, language=language, **times)
    assert ended(right) == ("Success", "Finished", 0), right
    failed = run(client, RUNNERS[language] % 3, language=language, **times)
    assert ended(failed)[:2] == ("Failed", "Finished"), failed
    if language == "junit":  # its files may be all there is
        for value, status in ((2, "Success"), (3, "Failed")):
            files = {"SumTest.java": b64(RUNNERS[language] % value)}
            assert ended(run(client, "", language=language, files=files, **times))[0] == status


def test_google_tests_name_is_a_language() -> None:
    language = as_there(known_language("gtest", "language"), RUNNERS["gtest"], ())
    assert (language.name, language.image) == ("cpp", "polyglot-more")
    assert {"-lgtest", "-lgmock_main"} <= set(language.compile)


def cells(client: TestClient, *cells: str, **more: object) -> Document:
    answer = client.post("/run_jupyter", json={"cells": cells, "kernel": "python3", **more})
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert set(document) == {"status", "message", "driver", "cells", "executor_pod_name", "files"}
    assert isinstance(document, dict)
    return document


def test_cells_of_a_notebook(client: TestClient) -> None:
    rich = "class T:\n  def _repr_html_(self): return '<b>'\ndisplay(T())\n"
    more = {"files": {"a.txt": b64("in")}, "fetch_files": ["b.txt"]}
    every = ("a = 123", "a", "import sys; print(a); sys.stderr.write('e')", "1/0", "!echo $((a)) x", rich)
    done = cells(client, *every, "open('b.txt', 'w').write(open('a.txt').read()); a;", **more)
    assert (done["status"], done["files"]) == ("Success", {"b.txt": b64("in")})
    found = done["cells"]
    assert isinstance(found, list)
    assert [one["stdout"] for one in found] == ["", "", "123\n", "", "0 x\n", "", ""]
    assert found[2]["stderr"] == "e"
    assert [one["data"]["text/plain"] for one in found[1]["display"]] == ["123"]
    assert [(one["ename"], one["evalue"]) for one in found[3]["error"]] == [("ZeroDivisionError", "division by zero")]
    assert found[5]["display"][0]["data"]["text/html"] == "<b>"
    assert found[6]["display"] == []


def test_cells_have_times(client: TestClient) -> None:
    one = cells(client, "while True: pass", "print(2)", cell_timeout=0.3)
    assert [bool(cell["error"]) for cell in one["cells"]] == [True, False]  # type: ignore[attr-defined]
    every = cells(client, "print(1)", "while True: pass", total_timeout=0.5)
    assert (every["status"], every["driver"]["status"], every["cells"]) == ("Failed", "TimeLimitExceeded", [])  # type: ignore[index]


def asked(client: TestClient, route: str, **body: object) -> object:
    answer = client.post(f"/{route}", json={"config": {}, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_datasets_are_the_users_rows(client: TestClient) -> None:
    assert client.get("/list_datasets").json() == ["mine"]
    assert client.get("/v1/ping").json() == client.get("/sandbox_fusion/v1/ping").json() == "pong"
    assert asked(client, "list_ids", dataset="mine") == [1, "two"]
    prompts = asked(client, "get_prompts", dataset="mine", offset=1, limit=1)
    assert isinstance(prompts, list)
    assert [(one["id"], one["labels"]) for one in prompts] == [("two", {"test_setup_code": ""})]
    assert "assert twice(2) == 4" in prompts[0]["prompt"]
    first = {"id": 1, "prompt": "Double it.", "labels": {"difficulty": "easy"}}
    assert asked(client, "get_prompt_by_id", dataset="mine", id=1) == first
    given = {"provided_data": ROWS}
    assert asked(client, "sandbox_fusion/list_ids", dataset="other", config=given) == [1, "two"]
    assert asked(client, "get_metrics_function", dataset="mine") == {"function": None}
    results = [{"id": 1, "accepted": True}, {"id": 1, "accepted": False}, {"id": "two", "accepted": True}]
    assert asked(client, "get_metrics", dataset="mine", results=results) == {"accuracy": 2 / 3, "pass@1": 0.75}
    for dataset in ("../mine", "none", "", "mine/../mine"):
        assert client.post("/list_ids", json={"dataset": dataset, "config": {}}).status_code == 422


@pytest.mark.parametrize("language", [None, "python"])
def test_submit_to_a_dataset(client: TestClient, language: str | None) -> None:
    """As the SDK sends a config: what is not set is null."""
    config = {"language": language, "compile_timeout": None, "run_timeout": None, "provided_data": None, "extra": None}

    def submit(row: object, completion: str, **more: object) -> Document:
        answer = asked(client, "submit", dataset="mine", id=row, completion=completion, config={**config, **more})
        assert isinstance(answer, dict)
        return answer

    assert submit(1, "```python\nprint(2 * int(input()))\n```")["accepted"] is True
    assert submit("two", "```python\ndef twice(n): return 2 * n\n```")["accepted"] is True
    assert submit("two", "```python\ndef twice(n): return n\n```")["accepted"] is False
    check = {"labels": {"entry_point": "f"}, "content": "def f(n):\n", "test": "def check(c):\n    assert c(1) == 2\n"}
    assert submit(1, "```python\ndef f(n):\n    return n + 1\n```", provided_data=check)["accepted"] is True


def test_a_test_behind_the_answer_decides_by_its_exit(client: TestClient) -> None:
    row = {"id": 1, "labels": {"programming_language": "bash"}, "test": {"code": "test $(twice 2) = $(cat four)"}}
    row["test"]["asset"] = {"four": b64("4")}  # type: ignore[index]
    body = {"dataset": "x", "id": 1, "config": {"provided_data": row}}
    right = asked(client, "submit", completion="```bash\ntwice() { echo $(($1 * 2)); }\n```", **body)
    wrong = asked(client, "submit", completion="```bash\ntwice() { echo $1; }\n```", **body)
    assert isinstance(right, dict)
    assert isinstance(wrong, dict)
    assert (right["accepted"], wrong["accepted"]) == (True, False)
    assert right["full_code"].endswith("$(cat four)")


@pytest.mark.anyio
async def test_a_broken_dataset_is_told_by_its_line(tmp_path: Path) -> None:
    for number, broken in enumerate(('{"id": ', "[1]", "[" * 100_000)):
        name = f"broken-{number}"
        (tmp_path / f"{name}.jsonl").write_text(f'{{"id": 1}}\n\n{broken}\n')
        with pytest.raises(RequestError, match=f"line 3 of {name}.jsonl"):
            await FusionDatasets(tmp_path).rows(name, FusionConfig())


FORGED = {
    "pytest": (
        "import pytest\npytestmark = pytest.mark.skip\ndef f(n): return 1",
        "import os\nos._exit(0)",
        "import pytest\ndef f(n): pytest.skip('no')",
        "import unittest\ndef f(n): raise unittest.SkipTest",
        "import pytest\ndef f(n): pytest.xfail('no')",
    ),
    "nodejs": ("process.exit(0)", "const f = () => 1; process.on('exit', () => process.reallyExit(0));"),
    "go_test": (
        'package main\nimport ("os"; "testing")\n'
        "func TestMain(m *testing.M) { os.Exit(0) }\nfunc f(n int) int { return 1 }",
    ),
}
HONEST = {
    "pytest": ("def f(n): return 2 * n", "def test_f():\n    assert f(2) == 4"),
    "nodejs": ("const f = (n) => 2 * n", "require('assert').equal(f(2), 4)"),
    "go_test": (
        'package main\nimport "testing"\nfunc f(n int) int { return 2 * n }',
        "func TestF(t *testing.T) { if f(2) != 4 { t.Fail() } }",
    ),
}


IN_THE_LARGER_IMAGE = {
    "jest": (
        ("const f = (n: number): number => 2 * n;", "test('f', () => { expect(f(2)).toBe(4); });"),
        (
            "const f = (n: number): number => 3 * n;",
            "process.exit(0);",
            "const f = (n: number): number => 1; setImmediate(() => process.exit(0));",
            "const f = (n: number): number => 1; (globalThis as any).test = () => {};",
            "const f = (n: number): number => 1; (globalThis as any).expect = () => ({ toBe() {} });",
        ),
    ),
    "junit": (
        (
            "class Sum { static int f(int n) { return 2 * n; } }",
            "public class SumTest { @org.junit.jupiter.api.Test void f() {"
            " org.junit.jupiter.api.Assertions.assertEquals(4, Sum.f(2)); } }",
        ),
        (
            "class Sum { static int f(int n) { return 3 * n; } }",
            "class Sum { static int f(int n) { System.exit(0); return 1; } }",
            "class Sum { static int f(int n) { Runtime.getRuntime().halt(0); return 1; } }",
            "class Sum { static int f(int n) { throw new org.opentest4j.TestAbortedException(); } }",
        ),
    ),
}


@pytest.mark.extended
@pytest.mark.parametrize("language", IN_THE_LARGER_IMAGE)
@pytest.mark.parametrize("client", ["docker"], indirect=True)
def test_rows_for_the_larger_image_s_runners(client: TestClient, language: str) -> None:
    (honest, test), forged = IN_THE_LARGER_IMAGE[language]
    row = {"id": 1, "labels": {"programming_language": language}, "test": test}
    config = {"provided_data": row, "compile_timeout": 60, "run_timeout": 30}
    found = {}
    for code in (honest, *forged):
        done = asked(client, "submit", dataset="x", id=1, completion=f"```\n{code}\n```", config=config)
        assert isinstance(done, dict)
        found[code] = done["accepted"]
    assert found == {honest: True, **dict.fromkeys(forged, False)}


@pytest.mark.parametrize("language", FORGED)
def test_an_answer_that_ends_before_its_test_is_not_right(client: TestClient, language: str) -> None:
    honest, test = HONEST[language]
    row = {"id": 1, "labels": {"programming_language": language}, "test": test}
    config = {"provided_data": row, "compile_timeout": 60, "run_timeout": 20}
    found = []
    for code in (honest, *FORGED[language]):
        done = asked(client, "submit", dataset="x", id=1, completion=f"```\n{code}\n```", config=config)
        assert isinstance(done, dict)
        found.append(done["accepted"])
    assert found == [True] + [False] * len(FORGED[language])


ENDING_TESTS = {
    "python": (
        "def f(n): return 2 * n",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(2), 4)\nunittest.main()",
        "import atexit, os\natexit.register(os._exit, 0)",
    ),
    "python (skipped)": (
        "def f(n): return 2 * n",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(2), 4)\nunittest.main()",
        "import unittest\ndef f(n): raise unittest.SkipTest",
    ),
    "nodejs": ("const f = (n) => 2 * n", "process.exit(f(2) === 4 ? 0 : 1)", "process.exit(0)"),
}


@pytest.mark.parametrize("language", ENDING_TESTS)
def test_a_test_may_end_its_program_itself(client: TestClient, language: str) -> None:
    honest, test, forged = ENDING_TESTS[language]
    own = {"code": test, "asset": {"data.txt": b64("x")}}
    row = {"id": 1, "labels": {"programming_language": language.partition(" ")[0]}, "test": own}
    for code, right in ((honest, True), (f"{honest.replace('2', '3')}", False), (forged, False)):
        done = asked(
            client, "submit", dataset="x", id=1, completion=f"```\n{code}\n```",
            config={"provided_data": row, "run_timeout": 20},
        )  # fmt: skip
        assert isinstance(done, dict)
        assert done["accepted"] is right, (code, done)


def test_what_no_program_can_be_given_is_the_callers_fault(client: TestClient) -> None:
    long = {f"{number:04}/" + "/".join(["\u4e16" * 80] * 3): "" for number in range(1000)}
    bodies: list[Document] = [{"files": long}]
    bodies += [{"args": [one], "files": {}} for one in ("x" * 3_000_000, "\0", "\ud800")]
    for body in bodies:
        raw = json.dumps({"code": "def f(): 1", "language": "pytest", **body})
        answer = client.post("/run_code", content=raw, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422, answer.text
    assert ended(run(client, "print(1)"))[0] == "Success"
