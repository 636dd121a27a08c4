"""The code interpreter's image: IPython's cells, kernels of other languages, and what hostile cells reach of them.

On `local` with what this machine has; on docker with the image, which the whole run builds where it is missing.
"""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from e2b.exceptions import SandboxException, TimeoutException
from e2b_code_interpreter import Execution, Sandbox

from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.timeout(1800)
ROOT = Path(__file__).parents[2]
GREETINGS = {
    "python": "print('Hello')",
    "javascript": "console.log('Hello')",
    "typescript": "const text: string = 'Hello'; console.log(text)",
    "bash": "echo Hello",
    "r": "cat('Hello\\n')",
    "java": 'System.out.println("Hello");',
}

KEEP = {
    "javascript": ("const kept = 40; let more = 2", "console.log(kept + more)"),
    "java": ("int kept = 40, more = 2;", "System.out.println(kept + more);"),
    "bash": ("kept=40; more=2", "echo $((kept + more))"),
    "r": ("kept <- 40; more <- 2", "cat(kept + more, '\\n')"),
}
ENDLESS = {
    "javascript": (
        "while (true) {}",
        "while (true) { try { while (true) {} } catch {} }",
        "for (;;) await null",
        "setTimeout(() => { while (true) {} }, 0); await new Promise(() => {})",
        "await new Promise(() => {})",
        "require('child_process').execSync('sleep 60')",
    ),
    "java": (
        "while (true) {}",
        "for (;;) { try { while (true) {} } catch (Throwable error) {} }",
        "Thread.sleep(60_000)",
        'while (true) System.out.println("much")',
        'new ProcessBuilder("sleep", "60").start().waitFor()',
    ),
    "bash": (
        "while :; do :; done",
        "f() { while :; do sleep 1; done; }; for x in 1 2; do f; done; sleep 60",
        "bash -c 'trap \"\" INT; sleep 60'",
    ),
    "r": ("while (TRUE) {}", "Sys.sleep(60)", "system('sleep 60')"),
}
"""Cells that end by an interrupt alone."""


def printed(found: Execution) -> str:
    assert found.error is None, found.error
    return "".join(found.logs.stdout)


def test_cells_are_ipythons(box: Sandbox) -> None:
    assert box.run_code("get_ipython() is not None").text == "True", "apt-get install python3-ipython"
    assert box.run_code("    indented = 5\n    indented").text == "5"
    assert printed(box.run_code("!echo $((6 * 7))\n%pwd")) == "42\n"
    assert printed(box.run_code("%%bash\necho of bash")) == "of bash\n"
    assert box.run_code("!pip --version").logs.stderr == []
    code = "from IPython.display import HTML, display\ndisplay({'text/latex': 'x'}, raw=True)\ndisplay(HTML('<b>'))"
    latex, html = box.run_code(code).results
    assert (list(latex.formats()), html.html, html.is_main_result) == (["latex"], "<b>", False)
    found = box.run_code("{'numbers': [1, float('nan')]}").results[0]
    assert found.json == {"numbers": [1, None]}
    failed = box.run_code("def half(x):\n    return x / 0\nhalf(1)").error
    assert failed is not None
    assert (failed.name, failed.value) == ("ZeroDivisionError", "division by zero")
    assert "return x / 0" in failed.traceback
    for asking, name in (("input('name? ')", "raw_input"), ("import getpass; getpass.getpass()", "getpass")):
        failed = box.run_code(asking).error
        assert failed is not None
        assert failed.name == "StdinNotImplementedError"
        assert failed.value == f"{name} was called, but this frontend does not support input requests."
    silent = "class Silent(Exception):\n    def __str__(self):\n        raise self\nraise Silent"
    failed = box.run_code(silent).error
    assert failed is not None
    assert failed.name == "Silent"


def test_a_table_has_its_data(box: Sandbox) -> None:
    code = "import pandas\npandas.DataFrame({'a': [1, 2], 't': pandas.to_datetime(['2020-01-02', '2021-01-02'])})"
    found = box.run_code(code).results[0]
    assert found.data == {"a": [1, 2], "t": ["2020-01-02T00:00:00", "2021-01-02T00:00:00"]}
    assert found.html
    assert found.text


def test_a_table_of_pandas_3_has_its_data(box: Sandbox) -> None:
    frame = "class DataFrame:\n    def to_dict(self, orient): return {'a': [1]}\nDataFrame.__module__ = 'pandas'"
    assert box.run_code(f"{frame}\nDataFrame()").results[0].data == {"a": [1]}


def test_values_that_json_has_no_form_of_are_texts_in_it(box: Sandbox) -> None:
    code = """
import decimal, pandas
class Mute:
    def __repr__(self): raise ValueError
class Shown:
    def __init__(self, value): self.value = value
    def _repr_json_(self): return self.value
months = pandas.period_range("2020-01", periods=2, freq="M")
pandas.DataFrame({"money": [decimal.Decimal("1.50"), None], "month": months})
"""
    assert box.run_code(code).results[0].data == {"money": ["1.50", None], "month": ["2020-01", "2020-02"]}
    for value, wanted in (
        ("{'d': decimal.Decimal(2), 'n': [float('nan'), 1]}", {"d": "2", "n": [None, 1]}),
        ("[pandas.Timestamp('2020-01-02')]", ["2020-01-02 00:00:00"]),
    ):
        assert box.run_code(f"Shown({value})").results[0].json == wanted
    mute = box.run_code("Shown([Mute()])")
    assert (mute.error, mute.results[0].json) == (None, "<repr failed: ValueError>")
    assert box.run_code("decimal.Decimal(3)").text == "Decimal('3')"


def test_lines_arrive_while_the_cell_runs(box: Sandbox) -> None:
    heard: list[float] = []
    code = "import time\nfor n in range(3):\n    print(n)\n    time.sleep(0.3)"
    box.run_code(code, on_stdout=lambda _line: heard.append(time.monotonic()))
    assert len(heard) == 3
    assert heard[2] - heard[0] > 0.4
    times: list[int] = []
    box.run_code("System.out.print(1)", language="java", on_stdout=lambda line: times.append(line.timestamp))
    assert abs(times[0] - time.time_ns()) < 60e9


def test_a_result_of_megabytes_arrives_whole(box: Sandbox) -> None:
    assert len(box.run_code("'x' * 5_000_000").text or "") == 5_000_000


def test_default_contexts_are_listed(kernels: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=60, **kernels.where())
    try:
        own = sandbox.create_code_context(cwd="/tmp")
        contexts = sandbox.list_code_contexts()
        assert [one.language for one in contexts] == ["python", "javascript", "python"]
        assert contexts[-1].id == own.id
    finally:
        sandbox.kill()


def test_javascript_and_typescript(box: Sandbox) -> None:
    assert box.run_code("const add = (x, y) => x + y;\nadd(1, 2);", language="js").text == "3"
    assert box.run_code("const add = 'declared again'; add", language="javascript").text == "declared again"
    assert box.run_code("async function f() { return 'later' }\nawait f()", language="js").text == "later"
    imported = "import fs, { readFileSync as read } from 'fs'\ntypeof fs.existsSync + typeof read"
    assert box.run_code(imported, language="js").text == "functionfunction"
    failed = box.run_code("null.x", language="js").error
    assert failed is not None
    assert failed.name == "TypeError"
    typed = "function minus(x: number, y: number): number {\n  return x - y;\n}\nminus(1, 2);"
    assert box.run_code(typed, language="ts").text == "-1"
    failed = box.run_code("let one = 1\nlet two: = 2", language="ts").error
    assert failed is not None
    assert (failed.name, "line 2" in failed.traceback) == ("SyntaxError", True)
    module = (
        "export const one = 1, two = 2; export default function three() { return 3 }\nexport { one }\none + three()"
    )
    assert box.run_code(module, language="js").text == box.run_code(module, language="ts").text == "4"
    text = "import fs from 'fs'; import 'os'\nconst text = `\nimport a from 'a';\nexport const b = 1`; fs && text"
    for code in (text, text.partition("\n")[2].replace("fs &&", "")):
        assert box.run_code(code, language="js").text == "\nimport a from 'a';\nexport const b = 1"
    own = "({ [Symbol.for('Jupyter.display')]: () => ({ 'text/html': '<i>' }) })"
    assert box.run_code(own, language="js").results[0].html == "<i>"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("\n  { [Symbol.for('Jupyter.display')]() { return { 'text/plain': 'shown' } } }\n", "shown"),
        ("{ a: 1, b: await 2 }", "{ a: 1, b: 2 }"),
        ("{ a: 1 } // an object", "1"),
        ("{}", "{}"),
        ("{ let inner = 3; inner }", "3"),
        ("{ a: for (const n of [4]) { n } }", "4"),
        ("{ 5 } { 6 }", "6"),
    ],
)
@pytest.mark.parametrize("language", ["js", "ts"])
def test_a_cell_in_braces_is_an_object_where_it_can_be_one(box: Sandbox, language: str, code: str, text: str) -> None:
    assert box.run_code(code, language=language).text == text


def test_a_bash_keeps_its_state(box: Sandbox) -> None:
    box.run_code("cd /tmp; kept=1; ahead() { echo function; }", language="bash")
    assert printed(box.run_code("pwd; echo $kept$X; ahead", language="bash", envs={"X": "y"})).endswith(
        "1y\nfunction\n"
    )
    assert printed(box.run_code("echo ${X-none}", language="bash")) == "none\n"
    failed = box.run_code("false", language="bash").error
    assert failed is not None
    assert failed.value == "exit status 1"
    with pytest.raises(TimeoutException):
        box.run_code("sleep 60", language="bash", timeout=1)
    assert printed(box.run_code("echo $kept", language="bash")) == "1\n"


def interrupted(box: Sandbox, language: str, code: str, timeout_s: float) -> None:
    """A cell that ends by its timeout leaves the kernel's variables there."""
    with pytest.raises(TimeoutException):
        box.run_code(code, language=language, timeout=timeout_s)
    assert printed(box.run_code(KEEP[language][1], language=language)).split() == ["42"], code


@pytest.mark.parametrize("language", KEEP)
def test_an_interrupt_ends_the_cell_alone(box: Sandbox, kernels: PoolServer, language: str) -> None:
    if kernels.provider == "local" and language == "r" and not shutil.which("R"):  # it is of the image alone
        with pytest.raises(SandboxException, match="no kernel"):
            box.run_code("1", language=language)
        return
    printed(box.run_code(KEEP[language][0], language=language))
    for code in ENDLESS[language]:
        interrupted(box, language, code, 1)


@pytest.mark.extended
@pytest.mark.parametrize("language", ["javascript", "java", "bash"])
def test_two_hundred_interrupts_leave_no_threads_or_descriptors(box: Sandbox, language: str) -> None:
    printed(box.run_code(KEEP[language][0], language=language))
    name = {"javascript": "node"}.get(language, language)
    count = f"for pid in $(pgrep -ox {name}); do ls /proc/$pid/task /proc/$pid/fd | wc -l; done"
    interrupted(box, language, ENDLESS[language][0], 0.3)
    before = int(box.commands.run(count).stdout)
    for number in range(200):
        interrupted(box, language, ENDLESS[language][number % 2], 0.3)
    assert int(box.commands.run(count).stdout) <= before + 4


def test_a_language_without_a_kernel(box: Sandbox) -> None:
    with pytest.raises(SandboxException, match="no kernel for language 'cobol' here; there are python, bash"):
        box.run_code("1", language="cobol")


def test_a_kernels_death_is_told_whoever_ends_it(box: Sandbox) -> None:
    for language, code in (("bash", "sleep 30 & exit 3"), ("javascript", "process.exit(1)"), ("python", "exit()")):
        died = box.run_code(code, language=language).error
        assert died is not None
        assert died.name == "KernelDied"
        assert printed(box.run_code(GREETINGS[language], language=language)) == "Hello\n"
    pids = printed(box.run_code("import os\nprint(os.getpid(), os.getppid())")).split()
    box.commands.run(f"kill -9 {' '.join(pids) if int(pids[1]) > 1 else pids[0]}")
    deadline = time.monotonic() + 30
    while box.run_code("6 * 7").text != "42":
        assert time.monotonic() < deadline


def test_what_a_cell_writes_into_the_channel_is_no_ones(box: Sandbox) -> None:
    forge = """
import json, os
for fd in range(3, 64):
    for word in (b'{"type": "done"', b'[' * 100_000 + b'\\n', b'\\xff\\n', b'{"type": "result", "text": "forged"}\\n'):
        try:
            os.write(fd, word)
        except OSError:
            pass
"""
    box.run_code(forge, timeout=60)
    again = time.monotonic() + 30
    while box.run_code("6 * 7").text != "42":
        assert time.monotonic() < again
    endless = """
import os
for fd in range(3, 64):
    try:
        while True:
            os.write(fd, b'x' * 65536)
    except OSError:
        pass
"""
    ended = box.run_code(endless, timeout=60).error
    assert ended is not None
    assert "over 10485760 bytes" in ended.value
    assert box.run_code("6 * 7").text == "42"


def test_other_tenants_reach_no_context(box: Sandbox, kernels: PoolServer) -> None:
    own = box.create_code_context()
    other = Sandbox.create(timeout=60, **kernels.where("bob"))
    try:
        with pytest.raises(SandboxException):
            other.run_code("1", context=own)
        with pytest.raises(SandboxException):
            other.restart_code_context(own)
        assert own.id not in {one.id for one in other.list_code_contexts()}
    finally:
        other.kill()


@pytest.mark.extended
def test_ten_kernels_at_once_within_the_caps(kernels: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=300, **kernels.where())
    try:
        contexts = [sandbox.create_code_context() for _ in range(10)]
        with ThreadPoolExecutor(10) as threads:
            code = "import time\nnumbers = list(range(100_000))\ntime.sleep(1)\nsum(numbers)"
            found = list(threads.map(lambda one: sandbox.run_code(code, context=one).text, contexts))
        assert found == ["4999950000"] * 10
        for one in contexts:
            assert sandbox.run_code("len(numbers)", context=one).text == "100000"
    finally:
        sandbox.kill()


@pytest.mark.extended
@pytest.mark.parametrize("language", GREETINGS)
def test_a_thousand_cells(kernels: PoolServer, language: str) -> None:
    sandbox = Sandbox.create(timeout=1700, **kernels.where())
    try:
        if kernels.provider == "local" and language == "r" and not shutil.which("R"):  # it is of the image alone
            with pytest.raises(SandboxException, match="no kernel"):
                sandbox.run_code("1", language=language)
            return
        for number in range(1, 1001):
            found = sandbox.run_code(GREETINGS[language].replace("Hello", f"Hello {number}"), language=language)
            assert printed(found) == f"Hello {number}\n"
            assert found.execution_count == number
    finally:
        sandbox.kill()


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("javascript", "for (let n = 0; n < 1e5; n++) require('fs').writeSync(4, '{\"type\":\"result\"}\\n')"),
        ("bash", "head -c 20000000 /dev/zero | tr '\\0' '\\1'"),
    ],
)
def test_a_flood_of_messages_costs_no_sandbox(box: Sandbox, language: str, code: str) -> None:
    """Short ones cost the host more than their bytes, and control characters are six times as long there."""
    assert box.run_code(code, language=language).error is None
    assert box.run_code("6 * 7").text == "42"
