"""Contest packages: ours are judged as their submissions are filed, and what is wrong with a folder is said."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_gym.packages.package import PackageError
from sandbox_gym.packages.reader import read_package
from tests.packages import write_package

PACKAGES = Path(__file__).parents[2] / "examples" / "packages"
COUNTS = {"courier": 9, "guess": 6, "pendulum": 5, "stairs": 5, "two-primes": 6, "two-squares": 5}
FOLDERS = {"courier": {"cpp", "java", "python"}, "two-squares": {"c"}}


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox_gym", *words], capture_output=True, text=True, timeout=110, check=False
    )


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("provider", ["local", "docker"])
def test_every_submission_gets_the_verdict_it_is_filed_under(provider: str, name: str) -> None:
    done = command("check-package", str(PACKAGES / name), "--provider", provider, "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one for one in found if not one["agrees"]] == []
    assert done.returncode == 0, done.stderr
    assert {one["package"] for one in found} == {name}
    assert len(found) == COUNTS[name]
    folders = {one["submission"] for one in found if one["files"] > 1}
    assert folders == {f"accepted/{language}_folder" for language in FOLDERS.get(name, ())}


def test_a_submission_that_is_filed_wrong_is_reported(tmp_path: Path) -> None:
    folder = shutil.copytree(PACKAGES / "pendulum", tmp_path / "pendulum")
    (folder / "submissions" / "wrong_answer" / "g_is_ten.py").rename(folder / "submissions" / "accepted" / "ten.py")
    done = command("check-package", str(folder), "--json")
    found = {one["submission"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 1
    assert found["accepted/ten.py"]["agrees"] is False
    assert found["accepted/ten.py"]["got"] == "WA"
    assert "sample/1" in found["accepted/ten.py"]["reason"]


def test_a_package_becomes_a_row_that_verifies(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    assert command("import-package", str(PACKAGES / "stairs"), "--out", str(rows)).returncode == 0
    row = json.loads(rows.read_text())
    source = (PACKAGES / "stairs/submissions/partially_accepted/recursive.py").read_text()
    row["answer"] = f"```python\n{source}```"
    rows.write_text(json.dumps(row) + "\n")
    done = command("verify", str(rows), "--out", str(out))
    assert done.returncode == 0, done.stderr
    verdict = json.loads(out.read_text())["verdict"]
    assert verdict["reward"] == 0.3
    assert [group["points"] for group in verdict["groups"]] == [0, 30, 0, 0]


def drop(path: str) -> Callable[[Path], None]:
    return lambda folder: (folder / path).unlink()


def write(path: str, text: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / path).write_text(text)

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (drop("problem.yaml"), "has no problem.yaml"),
        (drop("data/secret/2.ans"), "has no 2.ans"),
        (write("problem.yaml", "name: [x"), "is no YAML"),
        (write("problem.yaml", "type: multi-pass"), "has 0 output validators"),
        (write("problem.yaml", "type: submit-answer"), "submit-answer problems can't be judged"),
        (write("problem.yaml", "limits: {memory: 0}"), "limits.memory is 0"),
        (write("problem.yaml", "limits: 3"), "is a int"),
        (write("data/secret/1.in", ""), ""),
        (write("submissions/accepted/x.py", "# @EXPECTED_RESULTS@: WRONG-ANSWER"), ""),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, spoil: Callable[[Path], None], message: str) -> None:
    folder = shutil.copytree(PACKAGES / "pendulum", tmp_path / "pendulum")
    spoil(folder)
    if message:
        with pytest.raises(PackageError, match=message):
            read_package(folder)
    else:
        read_package(folder)


def test_an_annotation_beats_the_folder(tmp_path: Path) -> None:
    folder = shutil.copytree(PACKAGES / "pendulum", tmp_path / "pendulum")
    (folder / "submissions" / "wrong_answer" / "x.py").write_text("# @EXPECTED_RESULTS@: TIMELIMIT, RUN-ERROR\n")
    found = {one.path: one.expected for one in read_package(folder).submissions}
    assert found["wrong_answer/x.py"] == ("TLE", "RTE")


MEMBERS: dict[str, str | bytes | None] = {
    "submissions/accepted/c/a.c": '#include <stdio.h>\n#include "h/b.h"\nint main(void) { puts(read_it()); return 0; }',
    "submissions/accepted/c/b.c": "#include <stdio.h>\nchar t[99];\nchar *read_it(void) { return fgets(t, 5, stdin); }",
    "submissions/accepted/c/h/b.h": "char *read_it(void);",
    "submissions/accepted/cpp/one.cc": '#include <iostream>\n#include "two.hpp"\nint main() { std::cout << two(); }',
    "submissions/accepted/cpp/two.cpp": '#include <cstdio>\n#include "two.hpp"\n'
    'int two() { int n; std::scanf("%d", &n); return n; }',
    "submissions/accepted/cpp/two.hpp": "int two();",
    "submissions/accepted/java/App.java": "class App { public static void main(String[] a) { new Input().go(); } }",
    "submissions/accepted/java/Input.java": "import java.util.*;\nclass Input { void go() {"
    " System.out.println(new Scanner(System.in).nextInt()); } }",
    "submissions/accepted/python/solve.py": "from queue import first\nprint(first())",
    "submissions/accepted/python/queue.py": "def first():\n    return input()",
    "submissions/accepted/python2/__main__.py": "import sub.util\nprint(open('x.txt').read() + sub.util.text())",
    "submissions/accepted/python2/sub/__init__.py": "",
    "submissions/accepted/python2/sub/util.py": "def text():\n    return input()",
    "submissions/accepted/python2/x.txt": "\n",
    "submissions/accepted/go/a.go": 'package main\nimport "fmt"\nfunc main() { fmt.Println(read()) }',
    "submissions/accepted/go/b.go": 'package main\nimport "fmt"\nfunc read() (n int) { fmt.Scan(&n); return }',
    "submissions/accepted/rust/main.rs": 'mod reader;\nfn main() { println!("{}", reader::line().trim()); }',
    "submissions/accepted/rust/reader.rs": "pub fn line() -> String { let mut s = String::new();"
    " std::io::stdin().read_line(&mut s).unwrap(); s }",
    "submissions/accepted/node/main.js": "console.log(require('./read').line())",
    "submissions/accepted/node/read.js": "exports.line = () => require('fs').readFileSync(0, 'utf8').trim()",
    "submissions/accepted/bash/main.sh": ". ./read.sh\necho $LINE",
    "submissions/accepted/bash/read.sh": "read LINE",
    "submissions/accepted/cs/A.cs": "class A { static void Main() { System.Console.WriteLine(B.Line()); } }",
    "submissions/accepted/cs/B.cs": "class B { public static string Line() { return System.Console.ReadLine(); } }",
    "submissions/run_time_error/python/main.py": "import away",
    "submissions/run_time_error/python/other.py": "",
    "submissions/compiler_error/cpp/a.cpp": "int main() { return twice(); }",
    "submissions/compiler_error/cpp/b.cpp": "int twice() { return 2; }",
    "submissions/wrong_answer/cpp/main.cpp": '#include <cstdio>\nint x();\nint main() { printf("%d", x()); }',
    "submissions/wrong_answer/cpp/x.cpp": "int x() { return 1; }",
    "submissions/slow_accepted/never.py": "while True:\n    pass",
    "submissions/slow_accepted/fast.py": "print(input())",
    "submissions/rejected/crash.py": "raise SystemExit(3)",
    "submissions/time_limit_exceeded/late.py": "n = input()\nwhile n == '333':\n    pass\nprint(1)",
    "submissions/accepted/x.jl": "println(readline())",
    "submissions/accepted/tongues/a.py": "print(1)",
    "submissions/accepted/tongues/b.c": "int main() {}",
    "submissions/wrong_answer/binary.py": b"\xff\xfe\x00",
    "submissions/unheard_of/x.py": "print(1)",
}


@pytest.mark.parametrize("provider", ["local", "docker"])
def test_members_of_many_files_are_judged_and_what_is_none_is_refused_alone(tmp_path: Path, provider: str) -> None:
    folder = write_package(tmp_path / "echo", MEMBERS)
    (folder / "submissions/accepted/out.py").symlink_to("/etc/hostname")
    done = command("check-package", str(folder), "--provider", provider, "--json")
    found = {one["submission"]: one for one in map(json.loads, done.stdout.splitlines())}
    refused = {path for path, one in found.items() if one["refused"]}
    assert refused == {
        "accepted/out.py",
        "accepted/tongues",
        "accepted/x.jl",
        "unheard_of/x.py",
        "wrong_answer/binary.py",
    }
    assert all(found[path]["agrees"] is None and found[path]["got"] == "refused" for path in refused)
    assert [one for path, one in found.items() if path not in refused and one["agrees"] is not True] == []
    assert len(found) == 23
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def test_each_package_is_refused_alone(tmp_path: Path) -> None:
    good = write_package(tmp_path / "good", {})
    bad = write_package(tmp_path / "bad", {"problem.yaml": "validator_flags: fuzzy"})
    worse = write_package(tmp_path / "worse", {"problem.yaml": "limits: ["})
    done = command("check-package", str(bad), str(worse), str(good), "--json")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["package"], bool(one.get("refused"))) for one in found] == [
        ("bad", True),
        ("worse", True),
        ("good", False),
    ]
    assert "'fuzzy', which the default validator lacks" in found[0]["refused"]
    assert found[2]["agrees"] is True
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    rows = tmp_path / "rows.jsonl"
    assert command("import-package", str(bad), str(good), "--out", str(rows)).returncode == 2
    assert [json.loads(line)["name"] for line in rows.read_text().splitlines()] == ["good"]


VALIDATE = """
import sys
sys.exit(42 if sys.stdin.read().split() == open(sys.argv[2]).read().split() else 43)
"""


@pytest.mark.parametrize(
    ("validator", "verdict", "reason"),
    [
        ({"build": "#!/bin/sh\nexit 1\n"}, "JE", "checker failed"),
        ({"build": "#!/bin/sh\necho made nothing\n"}, "JE", "no file called run"),
        ({"build": "#!/bin/sh\ncp v.py run; chmod -x run", "v.py": "#!/usr/bin/python3" + VALIDATE}, "AC", ""),
        ({"run": '#!/bin/sh\nexec python3 "$(dirname "$0")/v.py" "$@"', "v.py": VALIDATE}, "AC", ""),
        ({"run": "python3 v.py $*", "v.py": VALIDATE}, "AC", ""),
        ({"run": "#!/no/such/interpreter"}, "JE", "exit code 127"),
        ({"v.py": "while True:\n    pass"}, "JE", "time_limit"),
        ({"v.py": "import u\n", "u.py": VALIDATE}, "AC", ""),
        ({"v.py": "import sys\nsys.exit(0)"}, "JE", "exit code 0"),
    ],
)
def test_validators_of_every_shape(
    tmp_path: Path, validator: dict[str, str | bytes | None], verdict: str, reason: str
) -> None:
    files: dict[str, str | bytes | None] = {f"output_validators/v/{name}": text for name, text in validator.items()}
    files["problem.yaml"] = "validation: custom\nlimits: {time_limit: 1}"
    done = command("check-package", str(write_package(tmp_path / "echo", files)), "--json")
    (found,) = map(json.loads, done.stdout.splitlines())
    assert found["got"] == verdict, found
    assert reason in found["reason"]
    assert done.returncode == (0 if verdict == "AC" else 1)


def test_an_interactor_made_by_a_script(tmp_path: Path) -> None:
    files: dict[str, str | bytes | None] = {
        "problem.yaml": "validation: custom interactive\nlimits: {time_limit: 1}",
        "output_validators/v/build": "#!/bin/sh\nc++ -o run talk.cpp",
        "output_validators/v/talk.cpp": "#include <fstream>\n#include <iostream>\n"
        "int main(int, char **v) { std::ifstream in(v[1]); int n, m; in >> n; std::cout << n << std::endl;"
        ' std::ofstream(std::string(v[3]) + "judgemessage.txt") << "heard";'
        " return std::cin >> m && n == m ? 42 : 43; }",
        "submissions/wrong_answer/silent.py": "input()",
    }
    done = command("check-package", str(write_package(tmp_path / "echo", files)), "--json")
    found = {one["submission"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert (found["accepted/good.py"]["got"], found["wrong_answer/silent.py"]["got"]) == ("AC", "WA")
    assert found["wrong_answer/silent.py"]["reason"] == "sample/1: heard"
    assert done.returncode == 0


def test_the_next_multiple_of_the_resolution_is_the_limit(tmp_path: Path) -> None:
    problem = "problem_format_version: 2023-07-draft\nlimits: {time_resolution: 0.25}"
    done = command("check-package", str(write_package(tmp_path / "echo", {"problem.yaml": problem})), "--json")
    limit_s = json.loads(done.stdout)["time_limit_s"]
    assert 0 < limit_s <= 5
    assert limit_s % 0.25 == 0
