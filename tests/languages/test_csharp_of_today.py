"""C# as it is written today, by Mono's compiler for C# 7: right programs pass, and wrong ones stay compile errors."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.languages.csharp import CSHARP, SCRIPT
from sandbox_gym.verifiers.coding.languages.csharp.lowering import lowered
from tests.languages.csharp_later import HEAD, LATER
from tests.languages.csharp_longer import LONGER
from tests.languages.csharp_meaning import MEANING
from tests.languages.csharp_programs import RIGHT, WRONG

needs = pytest.mark.skipif(not Path(CSHARP.toolchain).exists(), reason="no mcs on this machine")


async def judged(engine: Engine, source: str, given: str, wanted: str) -> Verdict:
    row: dict[str, object] = {"language": "csharp", "unit_tests": {"inputs": [given], "outputs": [wanted]}}
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    return (await engine.verify(CodingVerifier(), task, Answer(f"```csharp\n{source}\n```"))).verdict


PROGRAMS = {
    **RIGHT,
    **{
        name: (given, wanted, HEAD + source) for name, (given, wanted, source) in {**LATER, **LONGER, **MEANING}.items()
    },
}


@needs
@pytest.mark.anyio
@pytest.mark.timeout(600)
async def test_verdicts(tmp_path: Path) -> None:
    wrong = {}
    async with open_engine(Settings(provider="local", boxes=2, state_dir=tmp_path)) as engine:
        for name, (given, wanted, source) in PROGRAMS.items():
            verdict = await judged(engine, source, given, wanted)
            if verdict.reward != 1.0:
                wrong[name] = verdict.tests[0].reason
            elif (await judged(engine, source, given, wanted + "1")).tests[0].status.value != "wrong_answer":
                wrong[name] = "passes whatever is expected"
        for name, source in WRONG.items():
            verdict = await judged(engine, source, "", "1")
            if (verdict.reward, verdict.failure_reason) != (0.0, "compile_error"):
                wrong[name] = verdict.failure_reason
    assert wrong == {}


@pytest.mark.parametrize(
    ("compiler", "code"), [("kill -9 $$", -9), ("kill -ABRT $$", -6), ("echo wrong >&2; exit 1", 1), ("exit 0", 0)]
)
def test_it_ends_as_the_compiler_does(tmp_path: Path, compiler: str, code: int) -> None:
    (tmp_path / "main.cs").write_text("int n = 1;")
    argv = [sys.executable, "-I", "-c", SCRIPT, "main.exe", "main.cs", "--", "library.cs", "/bin/sh", "-c", compiler]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (code, b"wrong\n" if code == 1 else b"")


@pytest.mark.parametrize(
    "source", ["", "#", "using", '"', "{", "}", "((", "x =>", "foreach (var (", "a switch { => }", "record"]
)
def test_what_is_no_program_is_left_to_the_compiler(source: str) -> None:
    with contextlib.suppress(ValueError, IndexError, StopIteration, RecursionError):  # no rewriting, to its `main`
        assert isinstance(lowered(source), str)


def test_items_of_a_nested_tuple_are_told_from_members_of_their_names() -> None:
    source = "class A { List<List<(int Key, int Value)>> l; int f() => n.Value.Value + n.Value.Key + pair.Key; }"
    assert "n.Value.Item2 + n.Value.Item1 + pair.Key" in lowered(source)


def test_a_place_that_is_counted_on_is_not_copied() -> None:
    assert "a[i++] ??= 5" in lowered("int?[] a = new int?[3]; int i = 0; a[i++] ??= 5;")


def test_a_program_of_a_thousand_lines_is_rewritten() -> None:
    lines = "\n".join(
        f"if (x[{n}] != {n}) {{ x[{n}]!.Do(y => y switch {{ 1 => 2, _ => {n} }}); }}" for n in range(1000)
    )
    assert lowered(lines).count("? (2)") == 1000
