"""The judge's end of the channel: what is out of place is a sign, what is told twice counts as the worse."""

from __future__ import annotations

import json
import random

import pytest

from sandbox_gym.verifiers.swe import CaseStatus, read_channel
from sandbox_gym.verifiers.swe.channel.reader import MAX_BYTES

NONCE = "8d2f0f6b1c"
BEGIN: dict[str, object] = {"kind": "begin", "python": "3.12.1"}
END: dict[str, object] = {"kind": "end", "complete": True, "rounds": 1, "tests": 1, "exit_code": 0}


def done(test: str, status: object = "PASSED", **more: object) -> dict[str, object]:
    return {"kind": "done", "id": test, "status": status, "detail": "", "wall_s": 0.5, **more}


def said(*lines: dict[str, object], nonce: str = NONCE, start: int = 0) -> bytes:
    return b"".join(f"{nonce} {json.dumps({**line, 'n': start + n})}\n".encode() for n, line in enumerate(lines))


def test_a_whole_run() -> None:
    report = read_channel(said(BEGIN, done("a::b[x y]"), END), NONCE)
    assert report.statuses() == {"a::b[x y]": CaseStatus.PASSED}
    assert report.cases["a::b[x y]"].wall_time_s == 0.5
    assert (report.complete, report.lost, report.signs, report.python) == (True, False, {}, "3.12.1")


def test_a_watcher_that_was_killed() -> None:
    whole = said(BEGIN, done("a"), done("b"))
    for cut in (whole, whole[:-10]):
        report = read_channel(cut, NONCE)
        assert (report.lost, report.complete, report.signs) == (True, False, {})
        assert "a" in report.statuses()
    assert read_channel(b"", NONCE).lost


@pytest.mark.parametrize(
    ("data", "sign"),
    [
        (said(done("a"), nonce="other"), "channel_forged"),
        (said(done("a"), start=5), "channel_forged"),
        (said(BEGIN) + said(done("a")), "channel_forged"),
        (said(BEGIN) + b"PASSED a\n" + said(END, start=1), "channel_forged"),
        (f"{NONCE} [1]\n".encode(), "channel_forged"),
        (f"{NONCE} {'[' * 100_000}\n".encode(), "channel_forged"),
        (f"{NONCE}\n".encode(), "channel_forged"),
        (said(BEGIN, END, done("a")), "channel_after_end"),
        (said(done("a"), done("a")), "channel_result_twice"),
        (said(done("a", "GREAT")), "channel_garbled"),
        (said(done("a", None)), "channel_garbled"),
        (said(done("a", "MISSING")), "channel_garbled"),
        (said(done("a", ["PASSED"])), "channel_garbled"),
        (said({"kind": "sign", "sign": "report_changed", "what": "a"}), "channel_report_changed"),
    ],
)
def test_signs(data: bytes, sign: str) -> None:
    report = read_channel(data, NONCE)
    assert sign in report.signs
    assert CaseStatus.PASSED not in report.statuses().values() or sign == "channel_result_twice"


@pytest.mark.parametrize(("first", "second"), [("PASSED", "FAILED"), ("FAILED", "PASSED"), ("TIMEOUT", "PASSED")])
def test_the_worse_of_two(first: str, second: str) -> None:
    report = read_channel(said(done("a", first), done("a", second)), NONCE)
    assert report.statuses() == {"a": first if first != "PASSED" else second}


def test_odd_numbers_are_no_times() -> None:
    odd: list[object] = [-1, 1e300, "1", None, [], True]
    for wall_s in odd:
        assert read_channel(said(done("a", wall_s=wall_s)), NONCE).cases["a"].wall_time_s in (0.0, 1.0)
    assert read_channel(f'{NONCE} {{"kind":"done","id":"a","status":"PASSED","wall_s":NaN,"n":0}}\n'.encode(), NONCE)


@pytest.mark.parametrize("nonce", ["", " "])
def test_a_nonce_that_anybody_could_say(nonce: str) -> None:
    with pytest.raises(ValueError, match="nonce"):
        read_channel(b"", nonce)


def test_a_flood() -> None:
    report = read_channel(said(BEGIN) + b"x" * (MAX_BYTES + 1), NONCE)
    assert "channel_flooded" in report.signs
    many = read_channel(b"x\n" * 700_000, NONCE)
    assert {"channel_flooded", "channel_forged"} <= set(many.signs)
    assert len(many.signs) < 10
    thousands: dict[str, object] = {"kind": "sign", "what": "x"}
    told = read_channel(said(*({**thousands, "sign": f"s{n}"} for n in range(5_000))), NONCE)
    assert len(told.signs) <= 100


def test_any_bytes() -> None:
    rng = random.Random(4)
    whole = said(BEGIN, done("a"), done("b", "FAILED"), END)
    for _ in range(2_000):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        read_channel(bytes(data), NONCE)


@pytest.mark.parametrize(
    "value", [b"[" * 3_000_000, b"[" + b"[]," * 1_000_000 + b"1]", b'"' + b"\\n" * 1_500_000 + b'"', b"9" * 3_000_000]
)
def test_a_line_that_is_much_to_parse_is_forged(value: bytes) -> None:
    """It has the nonce, its number and a form that can't be read in a moment; lines beside it count."""
    line = NONCE.encode() + b' {"n": 1, "kind": "done", "id": "b", "detail": ' + value + b"}\n"
    report = read_channel(said(BEGIN) + line + said(done("a"), END, start=1), NONCE)
    assert set(report.signs) == {"channel_forged"}
    assert report.statuses() == {"a": CaseStatus.PASSED}
