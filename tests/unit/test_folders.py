"""Answers and programs of several files: names, main files, and what no name or source can do."""

from __future__ import annotations

import time

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding import Sources, fenced_files, is_path, language_named, main_file, parse_task
from sandbox_gym.verifiers.coding.answers.fenced_files import sources_of
from sandbox_gym.verifiers.coding.answers.folders import shadows, with_sources
from sandbox_gym.verifiers.coding.languages import Language

TESTS: dict[str, object] = {"unit_tests": {"inputs": ["1"], "outputs": ["1"]}}


def lang(name: str) -> Language:
    found = language_named(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "block",
    [
        "```cpp main.cpp\nX\n```",
        '```cpp title="main.cpp"\nX\n```',
        "```cpp filename=main.cpp\nX\n```",
        "```cpp:main.cpp\nX\n```",
        "```main.cpp\nX\n```",
        "```c++ main.cpp {highlight}\nX\n```",
    ],
)
def test_a_fence_names_its_file(block: str) -> None:
    text = f"First the header.\n```cpp a/b.h\nH\n```\nThen\n{block}\nDone."
    assert sources_of(text, lang("cpp")) == Sources("main.cpp", "X", {"a/b.h": "H"})


@pytest.mark.parametrize(
    ("comment", "language"),
    [
        ("// main.cpp", "cpp"),
        ("/* main.cpp */", "cpp"),
        ("# main.py", "python"),
        ("# File: main.py", "python"),
        ("-- main.sql", "sql"),
    ],
)
def test_a_first_line_names_its_file(comment: str, language: str) -> None:
    name = "main." + comment.partition("main.")[2].split()[0]
    found = sources_of(f"```{language}\n{comment}\nX\n```", lang(language))
    assert found == Sources(name, f"{comment}\nX")


@pytest.mark.parametrize(
    "info",
    ["cpp", "cpp 17", "cpp 1.5", "python 3.11", "cpp ../main.cpp", "cpp /main.cpp", "cpp .main.cpp", "cpp a//b.c"],
)
def test_other_words_name_no_file(info: str) -> None:
    assert sources_of(f"```{info}\nint main() {{}}\n```", lang("cpp")) is None


@pytest.mark.parametrize(
    "line", ["# e.g.", "# numpy.array", "# a main.py", "import main.py", "#", "# " + " " * 5000 + "x.py"]
)
def test_other_comments_name_no_file(line: str) -> None:
    assert sources_of(f"```python\n{line}\nprint(1)\n```", lang("python")) is None


def test_the_last_of_one_name_counts_and_unnamed_blocks_do_not() -> None:
    text = (
        "```python main.py\nold\n```\n```python\nscratch\n```\n```python util.py\nU\n```\n```python main.py\nnew\n```"
    )
    assert sources_of(text, lang("python")) == Sources("main.py", "new", {"util.py": "U"})


def test_a_name_can_not_be_a_folder_too() -> None:
    text = (
        "```python main.py\nM\n```\n```python main.py/x.py\nX\n```\n```python lib/a.py\nA\n```\n```python lib\nL\n```"
    )
    assert sources_of(text, lang("python")) == Sources("main.py", "M", {"lib/a.py": "A"})


def test_the_rows_files_win() -> None:
    row = {"driver.py": "D", "lib/x.py": "X"}
    text = "```python driver.py\nmine\n```\n```python lib\nL\n```\n```python main.py\nM\n```"
    assert sources_of(text, lang("python"), row) == Sources("main.py", "M", {"driver.py": "D", "lib/x.py": "X"})
    assert sources_of("```python\nM\n```", lang("python"), row) == Sources("main.py", "M", row)


@pytest.mark.parametrize(
    ("language", "files", "main"),
    [
        ("python", {"a.py": "", "data.txt": ""}, "a.py"),
        ("python", {"a.py": "", "main.py": ""}, "main.py"),
        ("python", {"a.py": "", "__main__.py": "", "__init__.py": ""}, "__main__.py"),
        (
            "python",
            {"solve.py": "import util\nfrom geo import x", "util.py": "", "geo.py": "from util import a"},
            "solve.py",
        ),
        ("python", {"a.py": "", "b.py": ""}, None),
        ("python", {"a.txt": ""}, None),
        ("java", {"A.java": "class A {}", "B.java": "public static void main(String[] a) {"}, "B.java"),
        ("java", {"A.java": "static void main(", "B.java": "public static void main(String[] a) {"}, None),
        ("java", {"A.java": "static void main(", "Main.java": ""}, "Main.java"),
        ("java", {"p/Main.java": "", "Main.java": ""}, "Main.java"),
        ("cpp", {"b.cc": "int main() {", "a.cpp": "", "c.h": "int main("}, "b.cc"),
        ("rust", {"x.rs": "fn main() {", "y.rs": ""}, "x.rs"),
        ("rust", {"x.rs": "", "y.rs": ""}, None),
        ("javascript", {"x.js": "", "y.js": ""}, None),
    ],
)
def test_the_main_file(language: str, files: dict[str, str], main: str | None) -> None:
    assert main_file(files, lang(language)) == main


def test_compilers_get_every_source() -> None:
    argv, lists = with_sources(("g++", "-o", "main", "a.cpp", "-lm"), "a.cpp", ("b.cpp",), lang("cpp"))
    assert (argv, dict(lists)) == (("g++", "-o", "main", "@.sources", "-lm"), {".sources": b"a.cpp\nb.cpp\n"})
    argv, lists = with_sources(("build", "A.java", "main.jar"), "A.java", ("p/B.java",), lang("java"))
    assert (argv, dict(lists)) == (("build", "A.java", "main.jar", "@.sources"), {".sources": b"p/B.java\n"})
    assert with_sources(("go", "a.go"), "a.go", ("b.go",), lang("go")) == (("go", "a.go", "b.go"), {})
    assert with_sources(("rustc", "a.rs"), "a.rs", ("b.rs",), lang("rust")) == (("rustc", "a.rs"), {})


def test_names_that_an_interpreter_has_loaded() -> None:
    assert shadows(["queue.py"])
    assert shadows(["json/x.py"])
    assert not shadows(["queues.py", "my/json.py"])


@pytest.mark.parametrize(
    "path", ["", "/a.c", "a/../b.c", "..", "-o.c", "a b.c", "a\n.c", "@a.c", ".a", "é.c", "a" * 300]
)
def test_names_that_no_file_may_have(path: str) -> None:
    assert not is_path(path)


def test_files_go_into_a_text_and_out_of_it_again() -> None:
    sources = Sources("b.py", 'print("""\n```python x.py\n```""")\n', {"a.py": "\n\n# a\n\n", "data/x.txt": "1 2\n"})
    assert sources_of(fenced_files(sources, lang("python")), lang("python")) == sources
    with pytest.raises(RequestError):
        fenced_files(Sources("a.py", "x = '</think>'", {"b.py": ""}), lang("python"))


@pytest.mark.parametrize(
    "source",
    [
        "static " * 40_000,
        "static void" + " " * 300_000,
        "void main" * 30_000,
        "main " * 60_000,
        "from " + "." * 300_000,
        "import" + " " * 300_000,
        "from a import " + "b, " * 100_000,
    ],
)
def test_no_source_takes_long_to_read(source: str) -> None:
    """Linear: what takes minutes where each word looks at all the rest takes no second here."""
    started = time.process_time()
    for language in ("java", "cpp", "python"):
        main_file(
            {f"a{ending}": source for ending in (".java", ".cpp", ".py")} | {"b.java": "", "b.cpp": "", "b.py": ""},
            lang(language),
        )
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"multi_file": "yes"}, "multi_file"),
        ({"answer_files": {"../a": "x"}}, "answer_files"),
        ({"answer_files": {"a": 1}}, "answer_files"),
        ({"checker": {"type": "program", "source": "x", "passes": 0}}, "checker.passes"),
        ({"checker": {"type": "program", "source": "x", "passes": 101}}, "checker.passes"),
        ({"checker": {"type": "program", "source": "x", "passes": True}}, "checker.passes"),
        ({"checker": {"type": "program", "source": "x", "passes": 2, "style": "testlib"}}, "checker.passes"),
        ({"checker": {"type": "program", "source": "x", "sources": ["b.c"]}}, "checker.sources"),
        ({"checker": {"type": "program", "source": "x", "test_args": [["a"], ["b"]]}}, "checker.test_args"),
        ({"checker": {"type": "program", "files": {"helper.sh": "x"}}}, "checker.source"),
    ],
)
def test_what_is_wrong_is_named(fields: dict[str, object], field: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_task(TESTS | fields, limits=Limits(), early_stop=True)
    assert caught.value.field == f"verifier_metadata.{field}"


def test_only_programs_have_several_files() -> None:
    row: dict[str, object] = {"test": "def check(candidate):\n    assert candidate(1)", "entry_point": "f"}
    with pytest.raises(RequestError, match="multi_file"):
        parse_task(row | {"multi_file": True}, limits=Limits(), early_stop=True)
