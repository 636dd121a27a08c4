"""A row's test in the answer's own process: right answers pass in every language, and none that ends the process,
forges what the test calls, or reads its own source."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.failing_tests import borrowed, changed, expecting_other, with_a_failure
from sandbox_gym.server.coding.server import CodingResources
from sandbox_gym.verifiers.coding import known_language
from tests.server.fusion_claims import RIGHT
from tests.server.fusion_claims_forged import FORGED as FORGED_CLAIMS
from tests.server.fusion_programs import (
    DOUBLED,
    ENDING,
    FORGED,
    MODULES,
    PROPERTIES,
    REFERENCE,
    SILENT,
    Doubled,
)
from tests.server.test_fusion_more import asked

pytestmark = pytest.mark.timeout(600)
FURTHER = "polyglot-more"
LATE = pytest.mark.extended
SLOW = ("scala", "kotlin", "kotlin_script", "haskell", "jest", "junit", "racket", "swift", "typescript")


def where(language: str) -> list[str]:
    """Providers that have a language: on local the further ones are extra."""
    there = known_language(language, "language")
    return ["local", "docker"] if Path(there.toolchain).exists() else ["docker"]


def on(provider: str, language: str, *ids: str) -> object:
    daily = provider == "local" and language not in SLOW and known_language(language, "language").image != FURTHER
    return pytest.param(provider, language, *ids, marks=[] if daily else pytest.mark.extended)


EVERYWHERE = [on(provider, language) for language in DOUBLED for provider in where(language)]
FORGERIES = [
    on(provider, language, answer)
    for language, answers in FORGED.items()
    for answer in answers
    for provider in where(language)
]


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, TestClient]]:
    """Opened when they are first asked for: the daily run has no containers."""
    with ExitStack() as stack:

        class Opened(dict[str, TestClient]):
            def __missing__(self, provider: str) -> TestClient:
                fields = {"provider": provider, "state_dir": tmp_path_factory.mktemp("state"), "boxes": 2}
                settings = Settings.model_validate(fields)
                app = build_app(CodingResources(settings), partial(open_engine, settings), settings)
                self[provider] = stack.enter_context(TestClient(app, base_url="http://localhost"))
                return self[provider]

        yield Opened()


def accepted(client: TestClient, language: str, answer: str, test: str) -> bool:
    row = {"id": 1, "labels": {"programming_language": language}, "test": {"code": test, "asset": {"a.txt": ""}}}
    config = {"provided_data": row, "compile_timeout": 60, "run_timeout": 20}
    done = asked(client, "submit", dataset="x", id=1, completion=f"````\n{answer}\n````", config=config)
    assert isinstance(done, dict)
    return bool(done["accepted"])


@pytest.mark.parametrize(("provider", "language"), EVERYWHERE)
def test_only_an_answer_that_its_test_has_seen_is_right(
    clients: dict[str, TestClient], provider: str, language: str
) -> None:
    row = DOUBLED[language]
    bodies = {
        "right": row.double,
        "wrong": row.double.replace("2", "3"),
        "ends the process": row.leave,
        "ends it at the second call": row.late,
    }
    found = {name: accepted(clients[provider], language, row.written(body), row.test) for name, body in bodies.items()}
    assert found == {name: name == "right" for name in bodies}


@pytest.mark.parametrize(("provider", "language", "answer"), FORGERIES)
def test_a_forged_end_is_not_right(clients: dict[str, TestClient], provider: str, language: str, answer: str) -> None:
    assert not accepted(clients[provider], language, answer, DOUBLED[language].test)


@pytest.mark.parametrize(("provider", "language"), [on(where(language)[0], language) for language in ENDING])
def test_a_test_may_end_its_process_itself(clients: dict[str, TestClient], provider: str, language: str) -> None:
    row, test = DOUBLED[language], ENDING[language]
    found = [accepted(clients[provider], language, row.written(body), test) for body in (row.double, row.leave)]
    assert found == [True, False]


@pytest.mark.parametrize(("provider", "language"), [on(where(language)[0], language) for language in PROPERTIES])
def test_a_test_of_a_property_takes_right_answers_that_may_fail(
    clients: dict[str, TestClient], provider: str, language: str
) -> None:
    """Another value in it changes nothing, so that it is asked of no answer that could not forge its end."""
    answer, test = PROPERTIES[language]
    assert accepted(clients[provider], language, answer, test)


def on_claims(named: str, language: str) -> object:
    """A language's first one is in the daily run."""
    provider = where(language)[0]
    return (
        on(provider, language, named) if named.endswith("-1") else pytest.param(provider, language, named, marks=LATE)
    )


@pytest.mark.parametrize(("provider", "language", "named"), [on_claims(one, RIGHT[one][0]) for one in RIGHT])
def test_right_answers_meet_tests_that_expect_no_value(
    clients: dict[str, TestClient], provider: str, language: str, named: str
) -> None:
    assert accepted(clients[provider], language, *RIGHT[named][1:])


@pytest.mark.parametrize(
    ("provider", "language", "named"), [on_claims(one, FORGED_CLAIMS[one][0]) for one in FORGED_CLAIMS]
)
def test_claims_that_can_not_fail_prove_nothing(
    clients: dict[str, TestClient], provider: str, language: str, named: str
) -> None:
    assert not accepted(clients[provider], language, *FORGED_CLAIMS[named][1:])


def test_the_age_of_a_program_does_not_tell_its_true_test(clients: dict[str, TestClient]) -> None:
    """When an answer comes again its program was kept, and the changed ones are new."""
    answer = (
        "#include <ctime>\n#include <cstdlib>\nstatic bool is_old() {\n"
        "  const char* at = __TIME__; time_t now = time(0);\n"
        "  int then = atoi(at) * 3600 + atoi(at + 3) * 60 + atoi(at + 6);\n"
        "  return (now - then) % 86400 > 2;\n}\n"
        "struct Any { template <class T> bool operator==(const T&) const { return is_old(); } };\n"
        "Any f(int) { return {}; }\n"
    )
    claims = "".join(f"  assert(f({n}) == {2 * n});\n" for n in range(20))
    test = f"#include <cassert>\nint main() {{\n{claims}}}\n"
    assert not accepted(clients["local"], "cpp", answer, test)
    time.sleep(3)
    assert not accepted(clients["local"], "cpp", answer, test)


def test_a_comparison_that_is_no_test_costs_a_right_answer_nothing(clients: dict[str, TestClient]) -> None:
    test = (
        "#include <assert.h>\nint main(int argc, char** argv) {\n  int in[2] = {1, 2}, out[2] = {2, 4};\n"
        "  for (int i = 0; i < 2; i++) assert(f(in[i]) == out[i]);\n  if (argc == 9) return 1;\n}\n"
    )
    assert accepted(clients["local"], "c", "int f(int n) { return 2 * n; }\n", test)
    assert not accepted(clients["local"], "c", "%:define NDEBUG\nint f(int n) { return 1; }\n", test)


@pytest.mark.extended
@pytest.mark.parametrize("language", SILENT)
def test_a_test_that_fails_and_ends_well(clients: dict[str, TestClient], language: str) -> None:
    *answers, test = SILENT[language]
    found = [accepted(clients["docker"], language, answer, test) for answer in answers]
    assert found == [True, False, False]


@pytest.mark.extended
def test_a_module_that_borrows_the_right_one_of_its_test(clients: dict[str, TestClient]) -> None:
    found = {name: accepted(clients["docker"], "verilog", answer, REFERENCE) for name, (answer, _) in MODULES.items()}
    assert found == {name: not used for name, (_, used) in MODULES.items()}


@pytest.mark.parametrize("name", MODULES)
def test_names_of_a_test_in_verilog(name: str) -> None:
    answer, used = MODULES[name]
    assert borrowed(answer, REFERENCE) == used
    assert any("q_ref === q_dut" in one for one in changed(REFERENCE, "verilog")), "what it compares is changed, too"


@pytest.mark.parametrize("base", "bBdho")
def test_another_number_of_verilog_has_another_value(base: str) -> None:
    """Not another width, and none that its base does not have."""
    widths, values = (1, 4, 16), ("0", "1", "x", "10", "1_1")
    for literal in (f"{width}'{sign}{base}{value}" for width in widths for sign in ("", "s") for value in values):
        test = f"module tb; initial if (q !== {literal}) $fatal; endmodule"
        for other in [*expecting_other(test, "verilog"), changed(test, "verilog")[0]]:
            assert re.fullmatch(rf".*== {literal[:-1]}[01]\) .*", other), other
            assert literal not in other
        assert len(expecting_other(test, "verilog")) == 1


@pytest.mark.extended
@pytest.mark.parametrize(("code", "right"), [("~a", True), ("a", False), ("1'b1", False), ("!a", True)])
def test_a_test_bench_of_constants(clients: dict[str, TestClient], code: str, right: bool) -> None:
    test = (
        "module tb; reg a; wire y; integer bad = 0; top dut(.a(a), .y(y));\ninitial begin\n"
        "  a = 0; #5; if (y !== 1'b1) bad = bad + 1;\n  a = 1; #5; if (y !== 1'b0) bad = bad + 1;\n"
        '  $display("Mismatches: %1d in %1d samples", bad, 2); $finish;\nend endmodule\n'
    )
    answer = f"module top(input a, output y);\n  assign y = {code};\nendmodule"
    assert accepted(clients["docker"], "verilog", answer, test) is right


def test_comments_that_a_text_does_not_open_are_searched_for_once() -> None:
    started = time.process_time()
    assert borrowed(f'localparam t = "{"/* " * 50_000}";', REFERENCE) == ""
    assert time.process_time() - started < 5


@pytest.mark.parametrize("language", DOUBLED)
def test_what_a_test_becomes(language: str) -> None:
    row: Doubled = DOUBLED[language]
    answer = row.written(row.double)
    failing = with_a_failure(f"{answer}\n".__add__, row.test, known_language(language, "language").name)
    assert failing is not None
    assert failing.startswith(f"{answer}\n")
    variants = changed(row.test, language)
    assert len({*variants, row.test}) == len(variants) + 1
    assert re.findall(r"\d+", variants[0]) != re.findall(r"\d+", row.test)


def test_changing_a_long_test_takes_no_time() -> None:
    for test in (
        "main() " * 200_000,
        '"" ' * 300_000,
        "main(" + "(" * 10**6,
        "exit" + "'" * 10**6,
        "return " * 200_000,
    ):
        changed(test, "verilog")
        with_a_failure(str, f"int main() {{ {test} }}", "c")
        with_a_failure(str, test, "java")
