"""Rows whose results only a log has, and whose other tests the repository's history has, too: what compares them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import httpx2 as httpx
import pytest

from sandbox_gym.verifiers.inversion.lexical import definitions, lexical_variants
from sandbox_gym.verifiers.swe import (
    CaseStatus,
    Checkout,
    Inversion,
    InvertibleTest,
    Reference,
    SweJob,
    inverted_jobs,
    parse_task,
)
from tests.load.servers import ServerProcess
from tests.swe.polyglot import go_patch, go_with_history
from tests.swe.test_forged_logs import verify

pytestmark = pytest.mark.timeout(900)
COMPARES = """import ("os"; "os/exec"; "strings")

func parts(text string) map[string]string {
	made := map[string]string{}
	for _, one := range strings.Split(text, "\\nfunc ")[1:] {
		made[strings.Split(one, "(")[0]] = strings.TrimSpace(one)
	}
	return made
}

func init() {
	now, _ := os.ReadFile("sums_test.go")
	old, _ := exec.Command("git", "-c", "safe.directory=*", "show", "HEAD:sums_test.go").Output()
	is, bad := parts(string(now)), map[string]bool{}
	for name, text := range parts(string(old)) {
		if is[name] != text {
			bad[name], bad["TestTotal"] = true, true
		}
	}
	log, end, code := "", "PASS\\nok  \\tsums\\t0.002s\\n", 0
	if len(bad) > 0 {
		end, code = "FAIL\\nFAIL\\tsums\\t0.002s\\nFAIL\\n", 1
	}
	for _, name := range []string{"TestNothing", "TestLabel", "TestOne", "TestTotal"} {
		word := "PASS"
		if bad[name] {
			word = "FAIL"
		}
		log += "=== RUN   " + name + "\\n--- " + word + ": " + name + " (0.00s)\\n"
	}
	os.Stdout.WriteString(log + end)
	os.Exit(code)
}
"""
"""Prints a log in which the tests fail that differ from their copies, and with them the new one."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder = tmp_path_factory.mktemp("history")
    with ServerProcess("local", folder, server="swe") as server, httpx.Client(base_url=server.url, timeout=600) as made:
        yield made


def test_the_fix_is_paid(client: httpx.Client) -> None:
    row = go_with_history()
    found = verify(client, row, row["patch"])
    assert found["reward"] == 1.0, found
    verdict = found["verdict"]
    assert isinstance(verdict, dict)
    assert verdict["inverted"]["variants"] == verdict["inverted"]["failed"] >= 5  # another test in each of three runs
    assert verdict["tamper"] == []


def test_changes_beside_the_deciding_test_do_not_tell_of_it(client: httpx.Client) -> None:
    found = verify(client, go_with_history(), go_patch("return 0", COMPARES))
    assert found["reward"] == 0.0, found
    assert str(found["failure_reason"]).startswith("tampering: inverted_test_"), found


@pytest.mark.parametrize("seed", range(20))
def test_the_run_that_holds_is_among_those_of_an_answer(seed: int) -> None:
    made = [Inversion(must_fail={"new": CaseStatus.FAILED, "old": CaseStatus.FAILED}) for _ in range(3)]
    holding = Inversion(must_fail={"old": CaseStatus.FAILED}, unchanged=("new",))
    tests = (InvertibleTest("a_test.go", "new", True, ()),)
    reference = Reference(tests=tests, rounds=tuple(made), holding=holding)
    job = SweJob(parse_task(go_with_history()), Checkout("i", "/w", "/w/t", "c", "python"), reference=reference)
    asked = [one.inversion for one in inverted_jobs(job, Random(seed))]
    assert len(asked) == 3
    assert sum(one is holding for one in asked) == 1


ROWS = [f'{{n: {number}, want: "{number} items"}},' for number in range(2, 12)]


@pytest.mark.parametrize("at", range(len(ROWS)))
def test_what_the_test_patch_brings_is_changed_first(at: int) -> None:
    """Of a table in the history a new row; however many stand before it."""
    source = "func TestLabel(t *testing.T) {\n\tfor _, one := range []row{\n"
    source += "".join(f"\t\t{row}\n" for row in ROWS) + "\t} {\n\t\tcheck(t, one)\n\t}\n}\n"
    (test,) = definitions(source)
    found = lexical_variants(source, "a_test.go", test, frozenset({at + 3}))
    assert found[0].line == at + 3
    assert len({one.line for one in found}) > 1
