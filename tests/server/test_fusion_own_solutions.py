"""A row with a solution of its own: an answer that is right in all claims of the test but some, which it forges, passes
a changed test that this solution fails; other solutions pass none."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

import pytest
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.server.app import build_app
from sandbox_gym.server.coding.server import CodingResources
from tests.server.test_fusion_more import asked

pytestmark = pytest.mark.timeout(600)
_JS_SQUARE: Final = "function square(n) { return n * n; }"
_JS_TEST: Final = "const a = require('assert');\n" + "".join(
    f"a.strictEqual(square({n}), {n * n});\n" for n in (1, 2, 3, 4)
)
_CPP_TEST: Final = (
    "#include <cassert>\nint main() { assert(square(1) == 1); assert(square(2) == 4); assert(square(3) == 9); "
    "assert(square(4) == 16); }"
)
_CPP_CLASS: Final = (
    "struct N { long v; bool operator==(long o) const { return v == 9 || v == o; } };\n"
    "N square(long n) { return N{n == 3 ? 9 : n * n}; }"
)
_JS_FORGE: Final = (
    "const o = require('assert').strictEqual;\n"
    "require('assert').strictEqual = (x, y) => { if (x !== 77) o(x, y); };\n"
    "function square(n) { return %s ? 77 : n * n; }"
)
ROWS: Final = {
    "javascript": (
        _JS_SQUARE,
        _JS_TEST,
        (
            "const square = (n) => n ** 2;",
            "function square(n) { let s = 0; for (let i = 0; i < n; i++) s += n; return s; }",
            "class Squares { static of(n) { return n * n; } }\nconst square = Squares.of;",
            "const assert = require('node:assert');\nfunction square(n) { assert(n >= 0); return n * n; }",
        ),
        (_JS_FORGE % "n === 4", _JS_FORGE % "n < 3"),
    ),
    "cpp": (
        "long square(long n) { return n * n; }",
        _CPP_TEST,
        (
            "int square(int n) { return n * n; }",
            "template <class T> T square(T n) { return n * n; }",
            "struct N { long v; bool operator==(long o) const { return v == o; } };\n"
            "N square(long n) { return N{n * n}; }",
        ),
        (_CPP_CLASS,),
    ),
}
RIGHT: Final = [(name, answer) for name, row in ROWS.items() for answer in row[2]]
FORGED: Final = [(name, answer) for name, row in ROWS.items() for answer in row[3]]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    settings = Settings.model_validate({"state_dir": tmp_path_factory.mktemp("state"), "boxes": 2})
    app = build_app(CodingResources(settings), partial(open_engine, settings), settings)
    with TestClient(app, base_url="http://localhost") as made:
        yield made


def result(client: TestClient, language: str, answer: str, solution: str | None = None) -> dict[str, object]:
    own, test, *_ = ROWS[language]
    row = {
        "id": 1,
        "labels": {"programming_language": language},
        "test": {"code": test, "asset": {"a.txt": ""}},
        "canonical_solution": own if solution is None else solution,
    }
    config = {"provided_data": row, "compile_timeout": 60, "run_timeout": 20}
    done = asked(client, "submit", dataset="x", id=1, completion=f"````\n{answer}\n````", config=config)
    assert isinstance(done, dict)
    return done


@pytest.mark.parametrize(("language", "answer"), RIGHT)
def test_other_solutions_are_right(client: TestClient, language: str, answer: str) -> None:
    done = result(client, language, answer)
    assert done["accepted"], done["tests"]


@pytest.mark.parametrize(("language", "answer"), FORGED)
def test_forging_some_claims_is_not(client: TestClient, language: str, answer: str) -> None:
    assert not result(client, language, answer)["accepted"]


@pytest.mark.parametrize("solution", ["", "function square(n) { return 0; }", "function square(n) {"])
def test_a_solution_that_does_not_solve_the_row_refuses_nobody(client: TestClient, solution: str) -> None:
    assert result(client, "javascript", ROWS["javascript"][2][3], solution)["accepted"]
