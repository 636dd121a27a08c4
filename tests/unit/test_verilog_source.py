"""What ends a Verilog program prints nothing: which words are given their argument of 0, and which stay."""

from __future__ import annotations

import time

import pytest

from sandbox_gym.verifiers.coding import language_named

CHANGED = {
    "$finish;": "$finish(0);",
    "$stop ;": "$stop(0) ;",
    "$finish();": "$finish(0);",
    "#5 $finish( 1 );": "#5 $finish(0);",
    "$stop(2);": "$stop(0);",
    "if (a) $finish; else $stop;": "if (a) $finish(0); else $stop(0);",
    '$display("a \\" $finish"); $finish;': '$display("a \\" $finish"); $finish(0);',
    "/* $finish; */ $finish // now $finish\n;": "/* $finish; */ $finish(0) // now $finish\n;",
}
KEPT = ("$finish(0);", "$finish(n);", "$finished;", "$finish$now;", '"$finish;"', "// $finish;", "/* $finish", "")


def whole(code: str) -> str:
    verilog = language_named("verilog")
    assert verilog is not None
    assert verilog.whole is not None
    return verilog.whole(code)


@pytest.mark.parametrize("code", [*CHANGED, *KEPT])
def test_what_is_given_an_argument(code: str) -> None:
    assert whole(code) == CHANGED.get(code, code)


@pytest.mark.parametrize(
    "code", ["$finish" + " " * 200_000, "$finish(" + " " * 200_000, "$finish(1" * 30_000, '"' * 99_999]
)
def test_it_takes_linear_time(code: str) -> None:
    began = time.process_time()
    whole(code)
    assert time.process_time() - began < 2
