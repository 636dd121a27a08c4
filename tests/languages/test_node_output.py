"""Programs of Node.js print all that they print, also where they end at once after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

LINES = 100_000
PROGRAMS = {
    "one text": "console.log(Array.from({{length: {n}}}, (_, i) => i).join('\\n')); process.exit(0);",
    "a text and a line": "process.stdout.write('0\\n'.repeat({n} - 1)); console.log(0); process.exit();",
    "a callback": "setTimeout(() => {{ for (let i = 0; i < {n}; i++) console.log(i); process.exit(); }}, 1);",
}


@pytest.mark.anyio
@pytest.mark.timeout(300)
async def test_nothing_is_lost_at_the_end(tmp_path: Path) -> None:
    settings = Settings(provider="local", boxes=2, state_dir=tmp_path)
    found = {}
    async with open_engine(settings) as engine:
        for language in ("javascript", "typescript"):
            for name, program in PROGRAMS.items():
                wanted = "0\n" * LINES if "line" in name else "\n".join(map(str, range(LINES)))
                row = {"language": language, "unit_tests": {"inputs": [""], "outputs": [wanted]}}
                task = parse_task(row, limits=settings.limits(), early_stop=True)
                answer = Answer(f"```{language}\n{program.format(n=LINES)}\n```")
                verdict = (await engine.verify(CodingVerifier(), task, answer)).verdict
                found[language, name] = verdict.reward or verdict.tests[0].reason
    assert set(found.values()) == {1.0}, found


AWAITING = {
    "without a word of modules": "let s = '';\nfor await (const a of process.stdin) s += a;\nconsole.log(s.length);",
    "in a function": "async function f() { for await (const a of [1]) console.log(a + 5); }\nf();",
    "of a module": "import fs from 'fs';\nfor await (const a of [1]) console.log(fs.readFileSync(0).length);",
}
READING = {
    "the input's number": "const fs = require('fs');\nconsole.log(fs.readFileSync(process.stdin.fd, 'utf8').length);",
    "of a module": "import { readFileSync } from 'fs';\nconsole.log(readFileSync(process.stdin.fd).toString().length);",
}
BROKEN = {
    "throws": "for await (const a of [1]) { console.log(6); throw new Error('no'); }",
    "compiles in no way": "for await (const a of [1]) { console.log(6) }\nlet x = ;",
    "compiles nothing later": "console.log(6);\neval('for await (const a of [1]) {}');",
}


@pytest.mark.anyio
@pytest.mark.timeout(300)
@pytest.mark.parametrize("provider", ["local", pytest.param("docker", marks=pytest.mark.extended)])
async def test_a_loop_that_awaits_at_the_top_makes_a_module(tmp_path: Path, provider: str) -> None:
    settings = Settings(provider=provider, boxes=2, state_dir=tmp_path)
    found = {}
    async with open_engine(settings) as engine:
        for name, program in {**AWAITING, **BROKEN}.items():
            row = {"language": "javascript", "unit_tests": {"inputs": ["hello\n"], "outputs": ["6"]}}
            task = parse_task(row, limits=settings.limits(), early_stop=True)
            verdict = (await engine.verify(CodingVerifier(), task, Answer(f"```js\n{program}\n```"))).verdict
            found[name] = verdict.failure_reason or "passed"
    assert found == {**dict.fromkeys(AWAITING, "passed"), **dict.fromkeys(BROKEN, "runtime_error")}


@pytest.mark.anyio
@pytest.mark.timeout(300)
async def test_what_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    settings = Settings(provider="local", boxes=2, state_dir=tmp_path)
    async with open_engine(settings) as engine:
        for program in READING.values():
            unit_tests = {"inputs": ["0" * 4_000_000, "0"], "outputs": ["4000000", "1"]}
            row = {"language": "javascript", "unit_tests": unit_tests}
            task = parse_task(row, limits=settings.limits(), early_stop=True)
            verdict = (await engine.verify(CodingVerifier(), task, Answer(f"```js\n{program}\n```"))).verdict
            assert verdict.reward == 1.0, verdict.tests[0].reason
