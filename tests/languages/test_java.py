"""Which class of a Java answer is started, and what its file is called: every shape, and the ways to get it wrong."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import cast

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, language_named, parse_task
from sandbox_gym.verifiers.coding.languages.java import public_type
from sandbox_gym.verifiers.coding.languages.java_build import BUILD, JAVAC
from tests.languages.java_programs import MAIN, WRONG, programs

BATCH = Path(__file__).parent / "Batch.java"
PROGRAMS = programs()
ENVIRONMENT = {"LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}
SOME = (
    "not-public", "inner-public-first", "block-comment", "annotated-on-one-line", "package-annotated-comment",
    "unicode-name", "text-block", "two-mains-public-wins", "main-in-private-nested", "record-in-3-packages",
)  # fmt: skip


def built(folder: Path, name: str, source: str) -> subprocess.CompletedProcess[str]:
    """The build as a box does it."""
    (folder / name).write_text(source, newline="")
    argv = ["/usr/bin/python3", "-I", "-c", BUILD, "main.jar", name, *JAVAC]
    return subprocess.run(argv, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=120)


def started(folder: Path) -> str:
    argv = ["/usr/bin/java", "-XX:+UseSerialGC", "-jar", "main.jar"]
    done = subprocess.run(argv, cwd=folder, env=ENVIRONMENT, input="21", capture_output=True, text=True, timeout=120)
    return done.stdout + done.stderr


def batch(what: str, folders: list[Path]) -> None:
    argv = ["/usr/bin/java", "-XX:+UseSerialGC", str(BATCH), what, *map(str, folders)]
    subprocess.run(argv, env=ENVIRONMENT, check=True, timeout=300)


def test_every_program_is_named_and_started_as_java_would_have_it(tmp_path: Path) -> None:
    """All of them, compiled and run in one virtual machine each: javac judges the names, the output the classes."""
    java = language_named("java")
    assert java is not None
    script: dict[str, object] = {}
    exec(BUILD, script)
    main_class = cast(Callable[[list[str], str, str], str | None], script["main_class"])
    assert len(PROGRAMS) >= 100
    folders = {name: tmp_path / str(index) for index, name in enumerate(PROGRAMS)}
    for name, folder in folders.items():
        (folder / "classes").mkdir(parents=True)
        (folder / java.source_of(PROGRAMS[name])).write_text(PROGRAMS[name], newline="")
    batch("compile", list(folders.values()))
    for name, folder in folders.items():
        assert (folder / "said").read_text() == "", name
        classes = sorted(str(path) for path in (folder / "classes").rglob("*.class"))
        (folder / "main").write_text(str(main_class(classes, java.source_of(PROGRAMS[name]), PROGRAMS[name])))
    batch("run", list(folders.values()))
    assert [name for name, folder in folders.items() if (folder / "printed").read_text() != "42\n"] == []


def test_javac_is_asked_where_the_name_is_wrong(tmp_path: Path) -> None:
    """A source that the tokens mislead about: the file is renamed as javac says, once."""
    done = built(tmp_path, "Main.java", f"package a.b;\npublic record Lösung(int x) {{ {MAIN} }}")
    assert (done.returncode, done.stderr) == (0, "")
    assert started(tmp_path) == "42\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("class Main { void main() { } }", "no class has a method"),
        ("", "no class has a method"),
        ("interface A { }", "no class has a method"),
        (f"public class A {{ {MAIN} }} public class B {{ }}", "should be declared in a file named"),
        ("class Main { int x = ; }", "illegal start of expression"),
        ("class Main { /* public class Other", "unclosed comment"),
    ],
)
def test_what_is_no_program(tmp_path: Path, source: str, said: str) -> None:
    done = built(tmp_path, "Main.java", source)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "main.jar").exists()


def test_classes_of_other_files_do_not_come_first(tmp_path: Path) -> None:
    (tmp_path / "Helper.java").write_text(f"public class Helper {{ static int x; {WRONG} }}")
    done = built(tmp_path, "Solver.java", f"class Solver {{ int y = Helper.x; {MAIN} }}")
    assert (done.returncode, done.stderr) == (0, "")
    assert started(tmp_path) == "42\n"


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("public class A { }", "A"),
        ("class A { public class B { } }", None),
        ("/* public class A */", None),
        ("/* public class A", None),
        ('String s = "public class A";', None),
        ('"""\npublic class A', None),
        ("'\"' public class A", "A"),
        ("@X(a = {1, 2}, b = @Y(Z.class)) public @interface A { }", "A"),
        ("public interface A { } public class B { }", "A"),
        ("import java.util.record; public class A", "A"),
        ("\\u002f\\u002a public class A \\u002a/ public class B", "B"),
        ("} } public class A", "A"),
        ("public", None),
        ("public class", None),
        ("public class 1", None),
        ("", None),
    ],
)
def test_the_public_type(source: str, name: str | None) -> None:
    assert public_type(source) == name


@pytest.mark.parametrize("piece", ["/*/", '"', "'", '"""', "\\", "\\u", "public class ", "{", "}", "@", "a", "\\u0022"])
def test_hostile_sources_take_linear_time(piece: str) -> None:
    """Over a million characters each: what is quadratic never ends."""
    public_type(piece * (1_200_000 // len(piece)))


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_some_are_verified(provider: str) -> None:
    assert await failures(provider, {name: PROGRAMS[name] for name in SOME}) == {}


@pytest.mark.anyio
async def test_a_program_that_takes_its_compiler_s_memory_does_not_compile() -> None:
    constants = "".join(f"static final String A{n} = A{n - 1} + A{n - 1} + A{n - 1} + A{n - 1};" for n in range(1, 13))
    bomb = f'class Bomb {{ static final String A0 = "{"a" * 30_000}"; {constants} {MAIN} }}'
    verdict = (await failures("local", {"bomb": bomb}))["bomb"]
    assert (verdict.reward, verdict.failure_reason) == (0.0, "compile_error")


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_one_array_may_take_most_of_the_memory(provider: str) -> None:
    """As in contests: 200 of 256 MB."""
    made = "long[] kept = new long[25_000_000]; kept[7] = 42; System.out.println(kept[7]);"
    found = await failures(
        provider, {"large": f"class Main {{ public static void main(String[] a) {{ {made} }} }}"}, memory_limit_mb=256
    )
    assert found == {}


@pytest.mark.extended
@pytest.mark.anyio
@pytest.mark.timeout(900)
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_all_are_verified(provider: str) -> None:
    assert await failures(provider, PROGRAMS) == {}


async def failures(provider: str, sources: dict[str, str], **more: object) -> dict[str, Verdict]:
    """The verdicts that are not 1.0, by name."""
    settings = Settings.model_validate({"provider": provider, "boxes": 2})
    row = {"language": "java", "unit_tests": {"inputs": ["21\n"], "outputs": ["42\n"]}, **more}
    task = parse_task(row, limits=settings.limits(), early_stop=True)
    wrong: dict[str, Verdict] = {}

    async def one(name: str, slots: anyio.Semaphore) -> None:
        async with slots:
            verdict = (await engine.verify(CodingVerifier(), task, Answer(f"````java\n{sources[name]}\n````"))).verdict
        if verdict.reward != 1.0:
            wrong[name] = verdict

    async with open_engine(settings) as engine, anyio.create_task_group() as tasks:
        slots = anyio.Semaphore(2)
        for name in sources:
            tasks.start_soon(one, name, slots)
    return wrong
