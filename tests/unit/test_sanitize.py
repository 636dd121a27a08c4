"""Text of strangers, made harmless."""

from __future__ import annotations

import re
import unicodedata

import pytest

from sandbox_gym.observe.sanitize import inert_bytes, sanitized, sanitized_text

NOT_SEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[31mred", "⟨ESC⟩[31mred"),
        ("\x1b]0;title\x07", "⟨ESC⟩]0;title⟨BEL⟩"),
        ("a\x9b2Jb", "a⟨U+009B⟩2Jb"),
        ("exe.\u202etxt", "exe.⟨U+202E⟩txt"),
        ("zero\u200bwidth\ufeff", "zero⟨U+200B⟩width⟨U+FEFF⟩"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("lone\ud800", "lone⟨U+D800⟩"),
        ("two\nlines\tand a tab\r\x7f", "two⟨LF⟩lines⟨TAB⟩and a tab⟨CR⟩⟨DEL⟩"),
        ("<script>alert(1)</script> é 日本 🙂", "<script>alert(1)</script> é 日本 🙂"),
    ],
)
def test_what_steers_or_hides_is_shown(hostile: str, shown: str) -> None:
    assert sanitized(hostile) == shown


def test_no_character_that_is_not_seen_is_left() -> None:
    every = "".join(map(chr, range(0x110000)))
    left = {char for char in sanitized(every, len(every)) if unicodedata.category(char) in NOT_SEEN}
    assert left == set()
    assert sanitized(every, len(every)).encode()


def test_lines_and_tabs_stay_in_texts_and_the_middle_of_long_ones_goes() -> None:
    assert sanitized_text("a\n\tb\x1b", 100).text == "a\n\tb⟨ESC⟩"
    long = sanitized_text("h" * 900 + "t" * 100, 400)
    assert (long.total, long.cut, long.unit) == (1000, 600, "characters")
    assert re.fullmatch(r"h{300}\n⋯ 600 characters not shown ⋯\nt{100}", long.text)
    assert len(sanitized("x" * 10_000)) <= 201


def test_bytes_that_are_no_utf_8_are_escapes() -> None:
    shown = inert_bytes(b"ok \xff\xfe \x00", 100)
    assert (shown.text, shown.total, shown.cut, shown.unit) == ("ok \\xff\\xfe ⟨NUL⟩", 6 + 1, 0, "bytes")
    cut = inert_bytes(b"\xc3\xa9" * 5000, 101)  # through the middle of a character
    assert cut.cut == 10_000 - 101
    assert cut.text.encode()
