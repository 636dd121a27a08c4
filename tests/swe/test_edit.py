"""The editor's rules on bytes, without a sandbox."""

from __future__ import annotations

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.server.swe.edit import SHOWN_CHARS, inserted, line_count, numbered, replaced
from sandbox_gym.server.swe.patch import MAX_KEPT, Submissions


@pytest.mark.parametrize(
    ("data", "count"), [(b"", 0), (b"a", 1), (b"a\n", 1), (b"\n", 1), (b"a\n\nb", 3), (b"\r\n", 1)]
)
def test_lines_are_counted(data: bytes, count: int) -> None:
    assert line_count(data) == count
    assert len(numbered(data).splitlines()) == count


def test_numbers_are_those_of_the_lines() -> None:
    data = b"".join(b"%d\n" % n for n in range(1, 20_001))
    assert numbered(data, 15_000, 15_001) == " 15000\t15000\n 15001\t15001\n"
    whole = numbered(data)
    assert len(whole) < SHOWN_CHARS + 200
    shown = whole.count("\n") - 1
    assert whole.endswith(f"[... {20_000 - shown} more lines, {shown + 1} to 20000; ask for them with view_range]\n")


@pytest.mark.parametrize(
    ("data", "after", "text", "result"),
    [
        (b"", 0, b"a", b"a\n"),
        (b"a", 1, b"b", b"a\nb\n"),
        (b"a\nc", 1, b"b\n", b"a\nb\nc"),
        (b"a\nb\n", 0, b"0", b"0\na\nb\n"),
        (b"a\r\nb\r\n", 2, b"c\nd", b"a\r\nb\r\nc\r\nd\r\n"),
    ],
)
def test_whole_lines_are_put_in(data: bytes, after: int, text: bytes, result: bytes) -> None:
    assert inserted(data, after, text)[0] == result


def test_what_occurs_often_is_counted_and_placed() -> None:
    with pytest.raises(RequestError, match=r"occurs 30 times, at lines 1, 2, .*, 20 and 10 more"):
        replaced(b"x\n" * 30, b"x", b"y")
    assert replaced(b"a\r\nb\r\nc", b"a\nb", b"1\n2") == (b"1\r\n2\r\nc", 1)
    assert replaced(b"a\nb\nc", b"c", b"") == (b"a\nb\n", 3)


def test_submissions_are_bounded_and_taken_once() -> None:
    kept = Submissions()
    for index in range(MAX_KEPT + 5):
        kept.put(str(index), b"")
    assert (kept.take("0"), kept.take("5")) == (None, b"")
    for index in range(20):
        kept.put(f"large {index}", bytes(16 << 20))
    assert kept.take("large 0") is None
    assert kept.take("large 19") is not None
    assert kept.take("large 19") is None
