"""SandboxFusion's wire over real sandboxes: its words, its files without its traversal, and verl's calls."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.sandbox.fake import FakeProvider, silent
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.server.protocol.wire import Document
from tests.server.fakes import JSON, fake_engine

pytestmark = pytest.mark.timeout(300)
ECHO = "import sys\nsys.stdout.write(sys.stdin.read())"
CASES = [{"input": {"stdin": "2"}, "output": {"stdout": "4"}}, {"input": {"stdin": "21"}, "output": {"stdout": "42"}}]


@pytest.fixture(scope="module", params=["local", "docker"])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    fields = {"provider": request.param, "state_dir": tmp_path_factory.mktemp("state"), "boxes": 2, "time_limit_s": 4}
    settings = Settings.model_validate(fields)
    with TestClient(
        build_app(CodingResources(settings), lambda: open_engine(settings), settings), base_url="http://localhost"
    ) as client:
        yield client


def run(client: TestClient, code: str, **more: object) -> Document:
    """As its SDK sends it: every field, also those at their defaults."""
    body: Document = {"code": code, "language": "python", "stdin": None, "memory_limit_MB": -1, "files": {}}
    body |= {"compile_timeout": 10, "run_timeout": 10, "fetch_files": [], **more}
    answer = client.post("/run_code", json=body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert set(document) == {"status", "message", "compile_result", "run_result", "executor_pod_name", "files"}
    assert isinstance(document, dict)
    return document


def ended(document: Document) -> tuple[object, object, object]:
    result = document["run_result"]
    assert isinstance(result, dict)
    assert set(result) == {"status", "execution_time", "cpu_time", "return_code", "stdout", "stderr"}
    return document["status"], result["status"], result["return_code"]


def printed(document: Document, stream: str = "stdout") -> str:
    result = document["run_result"]
    assert isinstance(result, dict)
    return str(result[stream])


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_run_in_its_words(client: TestClient) -> None:
    done = run(client, ECHO, stdin="héllo\n")
    assert ended(done) == ("Success", "Finished", 0)
    assert (printed(done), done["compile_result"]) == ("héllo\n", None)
    assert ended(run(client, "import sys; print('x', file=sys.stderr); sys.exit(3)")) == ("Failed", "Finished", 3)
    crashed = run(client, "1/0")
    assert ended(crashed) == ("Failed", "Finished", 1)
    assert "ZeroDivisionError" in printed(crashed, "stderr")
    assert ended(run(client, "import os; os.kill(os.getpid(), 11)")) == ("Failed", "Finished", -11)


ASSERTIONS = {
    "java": 'class Main { public static void main(String[] a) { System.out.println(1); assert 1 + 1 == %d : "sum"; } }',
    "csharp": "using System; using System.Diagnostics; class P { static void Main() { Console.WriteLine(1);"
    ' try { Debug.Assert(1 + 1 == %d, "sum"); } catch (Exception) { } } }',
    "rust": 'fn main() { println!("1"); debug_assert!(1 + 1 == %d, "sum"); }',
}


@pytest.mark.parametrize("language", ASSERTIONS)
def test_assertions_are_on_here_and_off_in_contests(client: TestClient, language: str) -> None:
    right = run(client, ASSERTIONS[language] % 2, language=language)
    assert (*ended(right), printed(right)) == ("Success", "Finished", 0, "1\n")
    failed = run(client, ASSERTIONS[language] % 3, language=language)
    assert ended(failed)[:2] == ("Failed", "Finished")
    assert ended(failed)[2] != 0
    assert "sum" in printed(failed, "stderr")
    cases = [{"input": {"stdin": ""}, "output": {"stdout": "1"}}]
    config = {"language": language, "provided_data": {"test": cases}}
    completion = f"```{language}\n{ASSERTIONS[language] % 3}\n```"
    answer = client.post("/submit", json={"dataset": "d", "id": 1, "completion": completion, "config": config})
    assert answer.json()["accepted"] is True


def test_what_ends_a_program_is_its_own_and_no_error_of_the_sandbox(client: TestClient) -> None:
    endless = run(client, "print('before', flush=True)\nwhile True: pass", run_timeout=0.5)
    assert ended(endless) == ("Failed", "TimeLimitExceeded", None)
    assert printed(endless) == "before\n"
    status, how, code = ended(run(client, "x = bytearray(1 << 30)\nx[::4096] = b'1' * (1 << 18)", memory_limit_MB=64))
    assert (status, how) == ("Failed", "Finished")
    assert code
    flooded = run(client, "print('a' * (40 << 20))")
    assert ended(flooded)[:2] == ("Failed", "Finished")
    assert "too much output" in printed(flooded, "stderr")


SLEEPS = {
    "python": "import time; time.sleep(0.4); print(1)",
    "bash": "sleep 0.4; echo 1",
    "javascript": "setTimeout(() => console.log(1), 400)",
    "java": "public class Main { public static void main(String[] a) throws Exception { Thread.sleep(400); } }",
    "typescript": "await new Promise(done => setTimeout(done, 400)); export {}",
    "go": 'package main\nimport ("fmt"; "time")\nfunc main() { time.Sleep(400 * time.Millisecond); fmt.Println(1) }',
}


@pytest.mark.parametrize("language", SLEEPS)
def test_waiting_is_part_of_a_run_s_time(client: TestClient, language: str) -> None:
    over = run(client, SLEEPS[language], language=language, run_timeout=0.3)
    assert ended(over) == ("Failed", "TimeLimitExceeded", None)
    assert ended(run(client, SLEEPS[language], language=language))[0] == "Success"


def test_long_output_comes_whole(client: TestClient) -> None:
    """Where the original cuts at 219,264 bytes, silently, or hangs."""
    done = run(client, "print('a' * 2_000_000)")
    assert ended(done) == ("Success", "Finished", 0)
    assert printed(done) == "a" * 2_000_000 + "\n"


def test_files_in_and_out(client: TestClient) -> None:
    code = (
        "import helper, os\n"
        "print(helper.WORD, open('data/in.txt').read())\n"
        "os.mkdir('out'); open('out/made.bin', 'wb').write(bytes(range(256)))\n"
        "os.symlink('/etc/passwd', 'link'); os.symlink('/etc', 'folder'); os.mkfifo('pipe')\n"
        "raise SystemExit(5)"
    )
    files = {"helper.py": b64("WORD = 'héllo'"), "data/in.txt": b64("given"), "empty": "", "absent": None}
    wanted = ["out/made.bin", "./data/in.txt", "empty", "absent", "link", "folder/passwd", "pipe", "none", "out"]
    done = run(client, code, files=files, fetch_files=wanted)
    assert ended(done) == ("Failed", "Finished", 5)
    assert printed(done) == "héllo given\n"
    fetched = done["files"]
    assert isinstance(fetched, dict)
    assert set(fetched) == {"out/made.bin", "./data/in.txt", "empty"}
    assert base64.b64decode(fetched["out/made.bin"]) == bytes(range(256))


BESIDE = {
    "cpp": (
        '#include "f.h"\n#include <cstdio>\nint main() { printf("%d", f()); }',
        {"f.h": "int f();", "f.cpp": "int f() { return 3; }"},
    ),
    "c": ('#include "f.c"\n#include <stdio.h>\nint main() { printf("%d", f()); }', {"f.c": "int f() { return 3; }"}),
    "java": (
        "class A { public static void main(String[] a) { System.out.print(new B().f()); } }",
        {"B.java": "class B { int f() { return 3; } }"},
    ),
    "go": (
        'package main\nimport "fmt"\nfunc main() { fmt.Print(f()) }',
        {"f.go": "package main\nfunc f() int { return 3 }", "other/g.go": "package other", "f_test.go": "package main"},
    ),
    "csharp": (
        "class P { static void Main() { System.Console.Write(L.F()); } }",
        {"lib/L.cs": "static class L { public static int F() => 3; }"},
    ),
    "typescript": (
        'import f, { three } from "./f";\nconsole.log(f(three))',
        {"f.ts": "export const three: number = 3;\nexport default <T>(x: T): T => x;"},
    ),
}


@pytest.mark.parametrize("language", BESIDE)
def test_sources_beside_a_program_are_its_own(client: TestClient, language: str) -> None:
    code, files = BESIDE[language]
    done = run(client, code, language=language, files={name: b64(text) for name, text in files.items()})
    assert (done["status"], printed(done).strip()) == ("Success", "3"), done


def test_a_program_can_not_make_more_of_fetching_than_its_own_word(client: TestClient) -> None:
    kill = "import os, signal; print('said', flush=True); os.kill(os.getppid(), signal.SIGKILL)"
    killed = run(client, kill, fetch_files=["x"])
    assert (killed["status"], killed["files"], printed(killed)) == ("Failed", {}, "said\n")
    endless = run(client, "open('x', 'w').write('1')\nwhile True: pass", fetch_files=["x"], run_timeout=0.5)
    assert ended(endless)[1] == "TimeLimitExceeded"
    large = run(client, "open('x', 'wb').truncate(9 << 20); open('y', 'w').write('1')", fetch_files=["x", "y"])
    assert (large["status"], large["files"]) == ("Success", {"y": b64("1")})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("files", {"../x": b64("1")}),
        ("files", {"/tmp/../x": b64("1")}),
        ("files", {"/": b64("1")}),
        ("files", {"a/../../x": b64("1")}),
        ("files", {"a": b64("1"), "a/b": b64("2")}),
        ("files", {"a": b64("1"), "./a": b64("2")}),
        ("files", {"main.py": b64("1")}),
        ("files", {"": b64("1")}),
        ("files", {"x\0y": b64("1")}),
        ("files", {"x" * 300: b64("1")}),
        ("files", {"x\ud800y": b64("1")}),
        ("files", {"main.py/x": b64("1")}),
        ("files", {".sandbox_gym_starter.py": b64("1")}),
        ("files", {"x": "no base64!"}),
        ("fetch_files", ["../../../../etc/passwd"]),
        ("language", "brainfuck"),
        ("memory_limit_MB", 1),
        ("run_timeout", 0),
        ("code", 7),
    ],
)
def test_what_it_refuses(client: TestClient, field: str, value: object) -> None:
    body: Document = {"code": "print(1)", "language": "python", "files": {}, field: value}
    answer = client.post("/run_code", content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"].startswith(field)


def test_compiled_languages(client: TestClient) -> None:
    code = (
        '#include <fstream>\n#include "n.h"\n#include <iostream>\nint main(){std::ofstream("o") << N;std::cout << N;}'
    )
    done = run(client, code, language="cpp", files={"n.h": b64("#define N 42\n")}, fetch_files=["o"])
    assert ended(done) == ("Success", "Finished", 0)
    assert (printed(done), done["files"]) == ("42", {"o": b64("42")})
    built = done["compile_result"]
    assert isinstance(built, dict)
    assert (built["status"], built["return_code"], built["stdout"]) == ("Finished", 0, "")
    inside = {"code": code, "language": "cpp", "files": {"main": b64("1")}}
    assert client.post("/run_code", json=inside).status_code == 422
    broken = run(client, "int main({", language="cpp")
    assert (broken["status"], broken["run_result"]) == ("Failed", None)
    built = broken["compile_result"]
    assert isinstance(built, dict)
    assert (built["status"], built["return_code"]) == ("Finished", 1)
    assert "error" in str(built["stderr"])
    assert printed(run(client, "console.log(6 * 7)", language="nodejs")) == "42\n"


def test_the_agents_tool_of_that_name_stays(client: TestClient) -> None:
    own = client.post("/run_code", json={"code": "print(1)", "language": "python"}).json()
    assert (own["status"], own["stdout"]) == ("ok", "1\n")
    under = client.post("/sandbox_fusion/run_code", json={"code": "print(1)", "language": "python"}).json()
    assert under["run_result"]["stdout"] == "1\n"


def submit(client: TestClient, completion: str, **config: object) -> Document:
    body = {"dataset": "d", "id": "7", "completion": completion, "config": {"language": "python", **config}}
    answer = client.post("/submit", json=body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert isinstance(document, dict)
    assert document["id"] == "7"
    return document


def passed(document: Document) -> list[bool]:
    tests = document["tests"]
    assert isinstance(tests, list)
    return [test["passed"] for test in tests]


def test_submit(client: TestClient) -> None:
    data = {"test": CASES, "id": "7", "content": "Double it."}
    right = submit(client, "So:\n```python\nprint(int(input()) * 2)\n```", provided_data=data)
    assert (right["accepted"], passed(right)) == (True, [True, True])
    assert right["extracted_code"] == "print(int(input()) * 2)"
    first = right["tests"][0]  # type: ignore[index]
    assert (first["exec_info"]["run_result"]["stdout"], first["test_info"]) == ("4\n", CASES[0])
    wrong = "```python\nprint(int(input()) + 2)\n```"
    every = {**data, "test": json.dumps([CASES[1], CASES[0]])}
    early = submit(client, wrong, provided_data=every)
    assert (early["accepted"], passed(early)) == (False, [False])
    whole = submit(client, wrong, provided_data=every, extra={"run_all_cases": True})
    assert (whole["accepted"], passed(whole)) == (False, [False, True])
    metadata = {"unit_tests": {"inputs": ["2"], "outputs": ["4"]}}
    assert submit(client, wrong, provided_data={"verifier_metadata": metadata})["accepted"]
    broken = submit(client, "```cpp\nint main({\n```", language="cpp", provided_data=data)
    assert broken["accepted"] is False
    assert broken["tests"][0]["exec_info"]["compile_result"]["return_code"] == 1  # type: ignore[index]


@pytest.mark.parametrize("data", [{}, {"test": []}, {"test": " "}, {"test": [{"input": {}}]}, {"test": {"asset": {}}}])
def test_submit_without_tests(client: TestClient, data: Document) -> None:
    body = {"completion": "x", "config": {"provided_data": data}}
    answer = client.post("/submit", json=body)
    assert (answer.status_code, "provided_data" in answer.json()["error"]["field"]) == (422, True)


def verls_call(client: TestClient, code: str, stdin: str, language: str = "python") -> tuple[int, Document]:
    """verl's `call_sandbox_api`: its payload, as bytes, and its headers."""
    payload = {"compile_timeout": 10, "run_timeout": 10, "code": code, "stdin": stdin, "memory_limit_MB": 1024}
    body = json.dumps({**payload, "language": language, "files": {}, "fetch_files": []}).encode()
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    answer = client.post("/run_code", headers=headers, content=body)
    return answer.status_code, answer.json()


def verls_result(document: Document, expected: str) -> object:
    """verl's `_process_single_case`, as a table: True, False, or -1 sandbox, -2 runtime, -3 time, -4 compiler."""
    built, ran = document["compile_result"], document["run_result"]
    if document["status"] == "Success" and isinstance(ran, dict) and ran["status"] == "Finished":
        return str(ran["stdout"]).rstrip("\n") == expected.rstrip("\n")
    if document["status"] != "Failed":
        return -1
    if isinstance(built, dict) and (built["status"] != "Finished" or built["return_code"] != 0):
        return -4
    if not isinstance(ran, dict):
        return -1
    return -3 if ran["status"] == "TimeLimitExceeded" else -2


@pytest.mark.parametrize(
    ("code", "language", "result"),
    [
        ("print(int(input()) * 2)", "python", True),
        ("print(int(input()) * 3)", "python", False),
        ("raise ValueError", "python", -2),
        ("def f(:", "python", -2),
        ("while True: pass", "python", -3),
        ("int main({", "cpp", -4),
        ('#include <cstdio>\nint main(){int n;scanf("%d",&n);printf("%d",2*n);}', "cpp", True),
    ],
)
def test_verls_reward(client: TestClient, code: str, language: str, result: object) -> None:
    status, document = verls_call(client, code, "21", language)
    assert (status, verls_result(document, "42\n")) == (200, result)


def test_no_run_is_504_which_verl_tries_again(tmp_path: Path) -> None:
    settings = Settings.model_validate({"provider": "fake", "state_dir": tmp_path})
    provider = FakeProvider(silent, down=True)
    with TestClient(
        build_app(CodingResources(settings), lambda: fake_engine(provider), settings), base_url="http://localhost"
    ) as client:
        status, document = verls_call(client, "print(1)", "")
        assert (status, document["status"], document["run_result"]) == (504, "SandboxError", None)
        body = {"completion": "```python\nprint(1)\n```", "config": {"provided_data": {"test": CASES}}}
        assert client.post("/submit", json=body).status_code == 504
        assert 'sandbox_gym_no_verdicts_total{kind="provider_down"} 1.0' in client.get("/metrics").text
