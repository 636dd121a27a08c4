"""TypeScript for Node.js: what is right there is compiled, whatever a browser calls its own, and a type error is none.

Each program prints 3 where it is right.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sandbox_gym.verifiers.coding.languages import typescript

TSC_S = 120
BROWSERS_NAMES = (
    *("name", "status", "length", "top", "parent", "self", "event", "origin", "screen", "close", "find", "stop"),
    *("history", "open", "print", "focus", "location", "external", "closed", "frames", "scroll", "performance"),
)
BROWSERS_TYPES = ("Node", "Event", "Range", "Element", "Text", "Comment", "Document", "Selection", "Request", "Option")
MODULES = ("node:fs", "fs/promises", "node:readline", "readline/promises", "child_process", "zlib", "node:path", "url")
RIGHT = {
    "a browser's names": "".join(f"const {name}: number[] = [3];\n" for name in BROWSERS_NAMES)
    + "".join(f"class {name} {{ constructor(public own{name}: number) {{}} }}\n" for name in BROWSERS_TYPES)
    + "".join(f"new {name}(1).own{name}.toFixed();\n" for name in BROWSERS_TYPES)
    + "console.log(name[0]);\n",
    "interfaces": "".join(f"interface {one} {{ n: 1 }} let a{one}: {one} = {{ n: 1 }};\n" for one in BROWSERS_TYPES)
    + "console.log(aNode.n + 2);\n",
    "modules": "".join(f"import * as m{number} from '{name}';\n" for number, name in enumerate(MODULES))
    + "import { createInterface, Interface } from 'node:readline';\n"
    "let r: Interface, s: m2.Interface, t: NodeJS.Timeout;\n"
    "console.log([m0.readFileSync, createInterface, m7.parse].length);\n",
    "what is read is text": "import * as fs from 'fs';\n"
    "import { readFileSync, Stats } from 'node:fs';\nimport own from 'fs';\n"
    "function map<T, U>(xs: T[], f: (x: T) => U): U[] { return xs.map(f); }\nlet s: Stats;\n"
    "const lines = fs.readFileSync('main.ts', 'utf-8').trim().split('\\n').slice(0, 3);\n"
    "const bytes = readFileSync('main.ts').toString().split('\\n').map(Number);\n"
    "const m = new Map(lines.map((l) => [l, l.length]));\nown.writeSync(1, '');\n"
    "const sorted = [...new Set(bytes)].sort((a, b) => a - b).length + [...m.values()][0].toFixed().length;\n"
    "console.log(map(lines, (l) => l.length).length + (sorted > 0 ? 0 : 1));\n",
    "declared by itself": "declare const require: any;\ndeclare function setTimeout(f: any): number;\n"
    "declare const process: any;\nconst fs = require('fs');\nconsole.log(process && fs ? 3 : 0);\n",
    "a newer library": "const a = [3, 1].at(-1)! + [1, 2].findLast(x => x > 1)!;\n"
    "console.log('aba'.replaceAll('b', 'c') === 'aca' && Object.hasOwn({ a }, 'a') ? a : 0);\n",
    "strict": "type R = { ok: true; v: number } | { ok: false; e: string };\n"
    "function f(r: R): number | string { if (!r.ok) return r.e; return r.v; }\nconst name = f({ ok: true, v: 3 });\n"
    "console.log(name);\n",
    "a global's interface": "interface Array<T> { last(): T }\n"
    "Array.prototype.last = function () { return this[0]; };\n"
    "console.log([3].last());\n",
    "decorators": "function twice(own: any, name: string, made: PropertyDescriptor) {\n"
    "  const f = made.value; made.value = function (n: number) { return 2 * f.call(this, n); };\n}\n"
    "function sealed(own: Function) { Object.seal(own); }\n"
    "@sealed\nclass A { @twice f(n: number): number { return n; } }\nconsole.log(new A().f(1) + 1);\n",
}  # fmt: skip
WRONG = {
    "a browser's name of a wrong type": "const name: number = 'x';\nconsole.log(3);\n",
    "a wrong property": "class Node { v = 3 }\nconsole.log(new Node().w);\n",
    "a wrong argument": "import * as fs from 'node:fs';\nfunction f(n: number) { return n; }\n"
    "console.log(f('3'), fs);\n",
    "a wrong decorator": "function d(n: number) {}\nclass A { @d f() {} }\nconsole.log(3);\n",
    "syntax": "const name: = 3;\n",
    "the document": "document.body.own = 3;\n",
}
DAILY = ("what is read is text", "a browser's names", "modules", "a browser's name of a wrong type")
needs = pytest.mark.skipif(not Path(typescript.TYPESCRIPT.toolchain).exists(), reason="no tsc on this machine")


def built(folder: Path, source: str) -> subprocess.CompletedProcess[bytes]:
    (folder / "main.ts").write_text(source)
    for name, data in typescript.TYPESCRIPT.build_files.items():
        (folder / name).write_bytes(data)
    argv = [part.replace("{{", "{").replace("}}", "}") for part in typescript.TYPESCRIPT.compile]
    argv = [part.format(source="main.ts", artifact="compiled.js") if len(part) < 20 else part for part in argv]
    return subprocess.run(argv, cwd=folder, capture_output=True, timeout=TSC_S, check=False)


def cases(programs: dict[str, str]) -> list[object]:
    return [pytest.param(name, marks=() if name in DAILY else pytest.mark.extended) for name in programs]


@needs
@pytest.mark.parametrize("name", cases(RIGHT))
def test_what_is_right_on_node_is_compiled(tmp_path: Path, name: str) -> None:
    done = built(tmp_path, RIGHT[name])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    ran = subprocess.run(
        ["/usr/bin/node", "compiled.js"], cwd=tmp_path, capture_output=True, timeout=TSC_S, check=False
    )
    assert ran.stdout == b"3\n" or b"readline/promises" in ran.stderr


@needs
@pytest.mark.parametrize("name", cases(WRONG))
def test_a_type_error_is_the_answers(tmp_path: Path, name: str) -> None:
    done = built(tmp_path, WRONG[name])
    assert done.returncode == 2
    assert done.stdout.startswith(b"main.ts(")
    assert not (tmp_path / "compiled.js").exists()
