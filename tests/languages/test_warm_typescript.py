"""tsc as a snapshot of Node.js: it is tsc in all that it writes and says, and boxes do without where it is not there.

What the language's own library leaves unchecked changes no verdict.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox_gym.sandbox import prepared_compilers
from sandbox_gym.verifiers.coding.languages import typescript
from tests.daily import part

pytestmark = pytest.mark.timeout(1800)
CORPUS = Path(__file__).parents[1] / "golden" / "corpus"
RUN_S = 120
DOUBLE = "import * as fs from 'fs';\nconst n: number = parseInt(fs.readFileSync(0, 'utf8'));\nconsole.log(2 * n);\n"
PROGRAMS = {
    "right": DOUBLE,
    "empty": "",
    "a byte order mark": "\ufeff" + DOUBLE,
    "wrong type": "const n: number = 'x';\n",
    "two errors in two lines": "let a: string = 1;\nlet b: number[] = ['x', 2];\nlet c = a - b;\n",
    "syntax": "const n: = 1;\nlet x = ;\nconst m: number = 'x';\n",
    "an unclosed brace": "function f() { return 1;\n",
    "no such name": "console.log(undefinedName, Mpa);\n",
    "no such property": "[1, 2].lenght; 'x'.trimm(); new Map<string, number>().got('a');\n",
    "a wrong argument": "Math.max('1', {}); parseInt(1, '2'); [3, 1].sort((a: string, b: string) => 0);\n",
    "a global of the library anew": "const name = 1;\nclass Map {}\nfunction parseInt() { return 'x'; }\n",
    "the same as a module": "export {};\nconst name = 1;\nclass Map {}\nconsole.log(new Map(), name);\n",
    "more of a library's interface": "interface Array<T> { last(): T }\n"
    "Array.prototype.last = function () { return this[0]; };\n"
    "console.log([1].last());\n",
    "a library's interface in another way": "interface Array<T> { length: string }\nconsole.log([1].length);\n",
    "a newer library by reference": "/// <reference lib='es2022' />\n"
    "console.log([1].at(-1), Object.hasOwn({}, 'a'));\n",
    "a newer library without": "console.log([1].at(-1));\n",
    "no library": "/// <reference no-default-lib='true' />\nlet x: number = 1;\n",
    "the document": "const e: HTMLElement | null = document.getElementById('a');\n"
    "e.foo;\nnew XMLHttpRequest().open(1);\n",
    "modules": "import * as readline from 'readline';\nimport assert from 'assert';\nimport { x } from './missing';\n"
    "import fs = require('fs');\nassert(readline && fs && x);\n",
    "generics": "type F<T> = T extends (infer U)[] ? U : never;\nconst a: F<number[]> = 'x';\n"
    "function id<T extends { a: number }>(x: T): T { return x; }\nid({ b: 1 });\n",
    "classes": "abstract class A { abstract f(): number; private p = 1; }\n"
    "class B extends A { }\nnew A(); new B().p;\n",
    "enums and namespaces": "enum E { A, B = 'b' as any }\nconst enum C { X = 1 << 3 }\n"
    "namespace N { export const y = C.X; }\nconsole.log(E.A, N.y, E[0]);\n",
    "decorators": "function d(t: any) {}\n@d class A {}\n",
    "newer syntax": "class A { #x = 1; static { } get() { return this.#x ?? 2; } }\n"
    "let a: any = null; a ||= 1; a?.b?.();\n",
    "await at the top": "const x = await Promise.resolve(1);\nexport {};\n",
    "generators": "async function* g() { yield 1; }\n(async () => { for await (const x of g()) console.log(x); })();\n",
    "a union's names": "let x: 'a' | 'b' | 3 = 'c'; let y: string | number | Map<string, Set<Date>> = true;\n",
    "an overload": "function f(a: string): void;\nfunction f(a: number): void;\nfunction f(a: any) {}\nf(true);\n",
    "deep": "let x = " + "[" * 60 + "1" + "]" * 60 + ";\nconst y: string = x;\n",
    "characters": "const \u00fc = '\U0001f600\u2028'; const s: number = \u00fc;\n",
    "unused and unreachable": "function f() { return 1; console.log(2); }\nlet never: string;\n",
    "an option in a comment": "// @ts-nocheck\nlet x: number = 'a';\n",
    "one error that is meant": "// @ts-expect-error\nlet x: number = 'a';\n// @ts-ignore\nlet y: number = 'b';\n",
}  # fmt: skip
AMBIENT = typescript.TYPESCRIPT.compile[-1].replace("{{", "{").replace("}}", "}")


@pytest.fixture(scope="module")
def blob(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compilers")
    prepared_compilers.typescript(folder)
    return folder / "typescript" / "tsc.blob"


def compiled(command: tuple[str, ...], folder: Path, source: bytes) -> tuple[int, bytes, dict[str, bytes]]:
    """(exit code, output, the files that it wrote) of a compiler in an own folder."""
    folder.mkdir(parents=True)
    (folder / "main.ts").write_bytes(source)
    (folder / "ambient.d.ts").write_text(AMBIENT)
    argv = (*command, *typescript.OPTIONS.split(), "main.ts", "ambient.d.ts")
    done = subprocess.run(argv, cwd=folder, capture_output=True, timeout=RUN_S, check=False)
    code = done.returncode if command[0] == prepared_compilers.TSC else done.returncode - 40
    return code, done.stdout + done.stderr, {path.name: path.read_bytes() for path in folder.glob("*.js")}


def warm(blob: Path) -> tuple[str, ...]:
    return (prepared_compilers.NODE, "--no-warnings", "--snapshot-blob", str(blob), "tsc")


def sources() -> dict[str, bytes]:
    corpus = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in sorted(CORPUS.glob("*/*.ts"))}
    return {
        **{name: text.encode() for name, text in PROGRAMS.items()},
        "no text": b"\xff\xfelet x = 1;\n\x80",
        **corpus,
    }


def test_it_is_tsc(blob: Path, tmp_path: Path, whole: bool) -> None:
    """An eighth of the programs in the daily run."""
    differing = []
    for number, (name, source) in enumerate(part(list(sources().items()), 8, whole=whole)):
        found = [
            compiled(command, tmp_path / f"{number}-{way}", source)
            for way, command in (("plain", (prepared_compilers.TSC,)), ("warm", warm(blob)))
        ]
        if found[0] != found[1]:
            differing.append((name, found))
    assert differing == []


@pytest.mark.extended
def test_what_is_not_checked_is_the_librarys_own(tmp_path: Path) -> None:
    """With its library checked anew for each program, tsc accepts and refuses the same ones."""
    options = tuple(word for word in typescript.OPTIONS.split() if word != "--skipDefaultLibCheck")
    for number, (name, source) in enumerate(sources().items()):
        skipped = compiled((prepared_compilers.TSC,), tmp_path / f"{number}", source)
        folder = tmp_path / f"{number}"
        argv = (prepared_compilers.TSC, *options, "main.ts", "ambient.d.ts")
        done = subprocess.run(argv, cwd=folder, capture_output=True, timeout=RUN_S, check=False)
        assert done.returncode == skipped[0], name


def test_it_was_made_with_the_options_of_answers(blob: Path, tmp_path: Path) -> None:
    assert tuple(typescript.OPTIONS.split()) == prepared_compilers.TSC_OPTIONS
    found = compiled(warm(blob), tmp_path / "other folder", PROGRAMS["wrong type"].encode())
    assert found[:2] == (2, b"main.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n")


def test_other_options_do_without_what_is_parsed(blob: Path, tmp_path: Path) -> None:
    (tmp_path / "main.ts").write_text("console.log([1].at(-1));\nlet x: string = null;\n")
    found = []
    for command in ((prepared_compilers.TSC,), warm(blob)):
        argv = (*command, "--target", "es2022", "--strict", "--pretty", "false", "main.ts")
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=RUN_S, check=False)
        found.append((done.returncode - (40 if command[0] == prepared_compilers.NODE else 0), done.stdout))
    assert found[0] == found[1]
    assert b"TS2322" in found[0][1]


@pytest.mark.parametrize("program", ["right", "wrong type"])
@pytest.mark.parametrize("held", ["none", "whole", "of another processor", "cut", "empty"])
def test_what_is_no_snapshot_for_this_node_is_done_without(blob: Path, tmp_path: Path, held: str, program: str) -> None:
    """An image runs on other processors than the one it was built on; that is no answer's fault."""
    file, data = tmp_path / "tsc.blob", bytearray(blob.read_bytes())
    if held == "of another processor":
        data[16:64] = bytes(byte ^ 0x55 for byte in data[16:64])
    if held != "none":
        file.write_bytes(data[: {"cut": 1_000_000, "empty": 0}.get(held, len(data))])
    script = typescript.TYPESCRIPT.compile[2].replace("{{", "{").replace("}}", "}").replace(typescript.WARM, str(file))
    (tmp_path / "main.ts").write_text(PROGRAMS[program])
    for name, content in typescript.TYPESCRIPT.build_files.items():
        (tmp_path / name).write_bytes(content)
    argv = ("/bin/sh", "-c", script, "build", "main.ts", "compiled.js", AMBIENT)
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, timeout=RUN_S, check=False)
    assert (done.returncode == 0) == (program == "right")
    assert (tmp_path / "compiled.js").exists() == (program == "right")
    assert (b"TS2322" in done.stdout) == (program == "wrong type")
