"""C++'s precompiled header: when it is taken, that it changes no program, and that no answer can change it."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Outcome, Verdict
from sandbox_gym.engine import open_engine
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox import prepared_compilers
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.compilers import CURRENT, PreparedCompilers, default_folder
from sandbox_gym.sandbox.local.jail import COMPILERS
from sandbox_gym.sandbox.registry import make_provider
from sandbox_gym.verifiers.coding import CodingVerifier, language_named, parse_task
from sandbox_gym.verifiers.coding.languages.cpp import PRECOMPILED, precompiled_header
from sandbox_gym.verifiers.coding.languages.language import Language
from sandbox_gym.verifiers.coding.running.programs import program_of
from tests.conformance.running import run
from tests.daily import part

INCLUDE = "#include <bits/stdc++.h>\n"
DOUBLE = "int main() { int n; std::cin >> n; std::cout << 2 * n << std::endl; }\n"
CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
STANDARDS = {"cpp": "gnu++17", "cpp20": "gnu++20"}
COMPILER = Limits(
    cpu_time_s=30, wall_time_s=90, memory_bytes=1536 * MIB, stdout_bytes=MIB, stderr_bytes=MIB, scratch_bytes=256 * MIB
)
TAKEN = [
    INCLUDE,
    "\n\n  # include\t<bits/stdc++.h>\r\nint x;",
    "// a comment\n/* and * another\n#define X\n**/ " + INCLUDE,
    "#include <bits/stdc++.h> // all of it\n",
    "#include <bits/stdc++.h>",
]
NOT_TAKEN = [
    "",
    "#include <iostream>\n" + INCLUDE,
    '#include "bits/stdc++.h"\n',
    "#define private public\n" + INCLUDE,
    "#define int long long\n" + INCLUDE,
    "#undef __SSE2__\n" + INCLUDE,
    '#pragma GCC optimize("O3")\n' + INCLUDE,
    '#pragma GCC target("avx2")\n' + INCLUDE,
    "int x;\n" + INCLUDE,
    "using T = int; /* x */ " + INCLUDE,
    ";\n" + INCLUDE,
    "#if 1\n" + INCLUDE + "#endif\n",
    "// goes on \\\n" + INCLUDE + "#define X\n" + INCLUDE,
    "/* *\\\n/ #define X\n/**/\n" + INCLUDE,
    "/* open\n" + INCLUDE,
    "\N{NO-BREAK SPACE}\n" + INCLUDE,
    "#include <bits/stdc++.hpp>\n",
    "#include <bits/stdc++.h> using namespace std;\n",
    "#include <bits/stdc++.h> \\\n",
]
SAME = {
    "streams": INCLUDE + DOUBLE,
    "names of the file": INCLUDE
    + 'int main() { std::cout << __FILE__ << __BASE_FILE__ << __LINE__ << " " << __COUNTER__ << __INCLUDE_LEVEL__; }\n',
    "a pragma behind it": INCLUDE
    + '#pragma GCC optimize("O3,unroll-loops")\n#pragma GCC target("avx2,popcnt")\n'
    + "int main() { std::vector<int> v(1000, 3); long s = 0; for (int x : v) s += __builtin_popcount(x); return s; }\n",
    "a macro behind it": INCLUDE
    + "#define int long long\nusing namespace std;\nsigned main() { int n = 1LL << 40; cout << n << sizeof(int); }\n",
    "once more": INCLUDE + INCLUDE + DOUBLE,
    "once more, and intrinsics": INCLUDE
    + "#include <immintrin.h>\n#include <iostream>\n#include <ext/pb_ds/assoc_container.hpp>\n"
    + INCLUDE
    + "__gnu_pbds::tree<int, __gnu_pbds::null_type> t;\n"
    + "int main() { t.insert(1); return t.size() + _mm_cvtsi128_si32(_mm_set1_epi32(7)); }\n",
    "templates and exceptions": INCLUDE
    + "std::map<std::string, std::function<double(double)>> f{{\"s\", [](double x) { return std::sin(x); }}};\n"
    + "int main() { try { throw std::runtime_error(\"x\"); } catch (std::exception &e) { std::cout << e.what(); }\n"
    + "  std::regex r(\"a+\"); std::mt19937 g(1); std::cout << f[\"s\"](1) << std::regex_match(\"aa\", r) << g(); }\n",
}  # fmt: skip


def language(name: str) -> Language:
    found = language_named(name)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def prepared() -> Iterator[Path]:
    """This machine's, made unless they are there."""
    compilers = PreparedCompilers(default_folder())
    folder = compilers.for_image("polyglot")
    assert folder is not None
    assert compilers.wait(240)
    yield folder / CURRENT
    compilers.close()


def options_of(name: str, code: str, further: dict[str, bytes] | None = None) -> tuple[str, ...]:
    """What stands behind the compiler's own options."""
    files = further or {}
    _program, build = program_of(language(name), code, Limits(), "answer", files, further=tuple(files))
    assert build is not None
    argv = build.run.program.argv
    return argv[argv.index("-isystem") :] if "-isystem" in argv else ()


@pytest.mark.parametrize("code", TAKEN)
def test_taken_where_a_source_begins_with_it(code: str) -> None:
    for name, standard in STANDARDS.items():
        assert options_of(name, code) == ("-isystem", f"{COMPILERS}/cpp/{standard}")


@pytest.mark.parametrize("code", NOT_TAKEN)
def test_not_taken_behind_anything_else(code: str) -> None:
    assert [options_of(name, code) for name in STANDARDS] == [(), ()]


def test_taken_only_where_all_sources_of_a_program_begin_with_it() -> None:
    assert options_of("cpp", INCLUDE, {"other.cpp": INCLUDE.encode()})
    assert not options_of("cpp", INCLUDE, {"other.cpp": b"#define X\n" + INCLUDE.encode()})
    assert not options_of("cpp", "#define X\n" + INCLUDE, {"other.cpp": INCLUDE.encode()})


def test_a_long_comment_is_read_in_linear_time() -> None:
    for begin in (b"/*" + b"* /" * 300_000, b"/**/" * 300_000, b"//" * 500_000, b"\n" * 1_000_000, b" " * 1_000_000):
        assert precompiled_header("gnu++17", begin) == ()


def test_what_is_prepared_is_what_compilers_ask_for() -> None:
    assert f"{COMPILERS}/cpp" == PRECOMPILED
    assert tuple(STANDARDS.values()) == prepared_compilers.CPP_STANDARDS
    for name, standard in STANDARDS.items():
        wanted = (prepared_compilers.GXX, f"-std={standard}", *prepared_compilers.CPP_OPTIONS)
        assert language(name).compile == (*wanted, "-o", "{artifact}", "{source}")


def compiled(folder: Path, standard: str, source: str, *options: str) -> tuple[int, bytes]:
    """What the compiler makes of a source: its exit code, and the program or the errors."""
    (folder / "main.cpp").write_text(source)
    argv = ["/usr/bin/g++", f"-std={standard}", "-O2", "-pipe", "-w", "-o", "main", "main.cpp", *options]
    done = subprocess.run(argv, cwd=folder, capture_output=True, check=False, timeout=120)
    if done.returncode:
        return done.returncode, done.stderr
    return 0, (folder / "main").read_bytes()


@pytest.mark.parametrize("standard", prepared_compilers.CPP_STANDARDS)
@pytest.mark.timeout(400)
def test_programs_are_the_same_byte_by_byte(standard: str, prepared: Path, tmp_path: Path, *, whole: bool) -> None:
    """Without the header each takes seconds: daily some of them."""
    corpus = {path.name: path.read_text() for path in sorted(CORPUS.glob("*/*.cpp"))}
    taking = [(name, source) for name, source in corpus.items() if precompiled_header(standard, source.encode())]
    assert len(taking) > 10
    sources = dict([*part(list(SAME.items()), 4, whole=whole), *part(taking, 10, whole=whole)])
    assert len(sources) >= 2
    option = f"-I{prepared}/cpp/{standard}"
    assert "! " in subprocess.run(
        ["/usr/bin/g++", f"-std={standard}", "-O2", "-w", "-H", "-fsyntax-only", option, "-x", "c++", "-"],
        input=INCLUDE, capture_output=True, text=True, check=True, timeout=60,
    ).stderr.partition("\n")[0][:2]  # fmt: skip
    different = {}
    for name, source in sources.items():
        plain = compiled(tmp_path, standard, source)
        with_it = compiled(tmp_path, standard, source, "-isystem", option[2:])
        if plain != with_it or plain[0]:
            different[name] = plain[0], with_it[0]
    assert different == {}


def test_errors_are_the_same_but_for_who_included_the_header(prepared: Path, tmp_path: Path) -> None:
    source = INCLUDE + "struct S {};\nint main() { std::map<S, int> m; m[S()] = 1; nothing(); }\n"
    code, plain = compiled(tmp_path, "gnu++17", source)
    assert code == 1
    _code, with_it = compiled(tmp_path, "gnu++17", source, "-isystem", str(prepared / "cpp" / "gnu++17"))

    def errors(said: bytes) -> list[str]:
        return [line.rstrip(",:") for line in said.decode().splitlines() if "from main.cpp:1" not in line]

    assert errors(plain) == errors(with_it)
    assert plain != with_it  # it was taken


async def verdicts(provider: str, sources: list[str]) -> list[Verdict]:
    found = []
    settings = Settings(provider=provider, boxes=2)
    async with open_engine(settings) as engine:
        for source in sources:
            row = {"language": "cpp", "unit_tests": {"inputs": ["21\n", "4\n"], "outputs": ["42\n", "8\n"]}}
            task = parse_task(row, limits=settings.limits(), early_stop=True)
            answer = Answer(f"```cpp\n{source}\n```")
            found.append((await engine.verify(CodingVerifier(), task, answer)).verdict)
    return found


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_a_macro_before_the_header_means_what_it_says(provider: str, prepared: Path) -> None:
    """Macros that change what the header itself declares."""
    body = "int main() { int v[2]; std::cin >> v[0]; v[1] = 1; std::cout << 2 * *std::biggest(v, v + 2); }"
    renamed = "#define max_element biggest\n" + INCLUDE + "#undef max_element\n" + body
    checked = (
        INCLUDE + "int main() { std::vector<int> v(1); std::size_t i; std::cin >> i; std::cout << v[i] * 0 + 2 * i; }"
    )
    found = await verdicts(
        provider, [INCLUDE + DOUBLE, renamed, INCLUDE + body, checked, "#define _GLIBCXX_ASSERTIONS\n" + checked]
    )
    assert [verdict.contest for verdict in found] == ["AC", "AC", "CE", "AC", "RTE"], found


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_boxes_take_it_and_can_not_change_it(provider: str, prepared: Path) -> None:
    header = f"{COMPILERS}/cpp/gnu++17/bits/stdc++.h.gch"
    attempts = f"""
echo '#include <bits/stdc++.h>' > main.cpp
/usr/bin/g++ -std=gnu++17 -O2 -pipe -w -H -fsyntax-only main.cpp -isystem {PRECOMPILED}/gnu++17 2>&1 | head -n 1
cd {PRECOMPILED}/gnu++17/bits && ls
for file in {header} ./stdc++.h ../stdc++.h {COMPILERS}/x {COMPILERS}-kept/x /opt/sandbox-gym/x; do
  (echo x > $file) 2>/dev/null && echo changed $file
done
rm -f {header} 2>/dev/null; mv {PRECOMPILED} /tmp/ 2>/dev/null; rm -f {COMPILERS} 2>/dev/null
chmod 777 . {header} 2>/dev/null && echo chmod
mount -o remount,rw {COMPILERS}/ 2>/dev/null && echo mounted
ls; sha256sum < {header}
"""
    made = make_provider(Settings(provider=provider))
    try:
        box = await made.create(SandboxSpec("polyglot"))
        try:
            argv = ("/bin/sh", "-c", attempts)
            outcome = await run(box, "", mode="exec", argv=argv, limits=COMPILER)
            again = await run(box, "", mode="exec", argv=("/bin/sh", "-c", f"sha256sum < {header}"), limits=COMPILER)
        finally:
            await box.aclose()
    finally:
        await made.aclose()
    lines = outcome.stdout.decode().splitlines()
    assert lines[:-1] == [f"! {header}", *("stdc++.h", "stdc++.h.gch") * 2], outcome
    assert again.stdout.decode().splitlines() == lines[-1:]


@pytest.mark.anyio
@pytest.mark.parametrize("provider", ["local", "docker"])
async def test_files_of_an_answer_do_not_stand_for_the_header(provider: str, prepared: Path) -> None:
    """A program's folder may hold the same names; the compiler looks for none of them there."""
    planted = b"#error planted\n"
    files = {"bits/stdc++.h": planted, "stdc++.h": planted, "bits/stdc++.h.gch": b"gpch"}
    made = make_provider(Settings(provider=provider))
    try:
        assert (await built(made, files)).exit_code == 0
    finally:
        await made.aclose()


async def built(provider: Provider, files: dict[str, bytes]) -> Outcome:
    """The outcome of compiling a program in a new box."""
    _program, build = program_of(language("cpp"), INCLUDE + DOUBLE, Limits(), "answer", files, name="main.cpp")
    assert build is not None
    box = await provider.create(SandboxSpec("polyglot"))
    try:
        async with box.run_all([build.run]) as outcomes:
            return await anext(outcomes)
    finally:
        await box.aclose()


@pytest.mark.anyio
async def test_without_it_a_box_compiles_all_the_same(tmp_path: Path) -> None:
    """A folder that others can write is not shown to boxes, and nothing is made there."""
    folder = tmp_path / "compilers"
    folder.mkdir()
    folder.chmod(0o777)
    provider = LocalProvider(compilers=folder)
    try:
        outcome = await built(provider, {})
    finally:
        await provider.aclose()
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith(b"\x7fELF")
    assert list(folder.iterdir()) == []


def test_a_changed_compiler_or_header_makes_it_stale(prepared: Path, tmp_path: Path) -> None:
    manifest = json.loads((prepared / prepared_compilers.MANIFEST).read_text())
    assert prepared_compilers.is_current(prepared)
    read = manifest["read"]
    assert any(path.endswith("/cc1plus") for path in read)
    assert any(path.endswith("/bits/stdc++.h") for path in read)
    header = next(path for path in read if path.endswith("/bits/stdc++.h"))
    read[header][1] += 1
    (tmp_path / prepared_compilers.MANIFEST).write_text(json.dumps(manifest))
    assert not prepared_compilers.is_current(tmp_path)


@pytest.mark.timeout(300)
def test_what_is_stale_is_replaced_and_what_stops_half_way_is_left_out(prepared: Path, tmp_path: Path) -> None:
    folder = tmp_path / "compilers"
    old = folder / "old"
    shutil.copytree(prepared, old)
    manifest = json.loads((old / prepared_compilers.MANIFEST).read_text())
    manifest["read"]["/usr/bin/g++"][1] += 1
    (old / prepared_compilers.MANIFEST).write_text(json.dumps(manifest))
    (folder / CURRENT).symlink_to("old")
    stopped = PreparedCompilers(folder)
    assert stopped.for_image("polyglot") == folder
    stopped.close()
    assert not (folder / CURRENT).exists()
    assert not stopped.wait(0)
    compilers = PreparedCompilers(folder)
    assert compilers.for_image("polyglot") == folder
    assert compilers.wait(240)
    compilers.close()
    made = [path.name for path in folder.iterdir() if path.is_dir() and not path.is_symlink()]
    assert made == [(folder / CURRENT).readlink().name]
    assert compilers.for_image("python") is None
