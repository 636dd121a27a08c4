"""Documents of boxes: what is over the bounds is refused before it is parsed, and all else is what JSON says."""

from __future__ import annotations

import json
import random

import pytest

from sandbox_gym.verifiers.bounded import SMALL_BYTES, Bounds, TooMuch, check, loads, nesting

MIB = 1 << 20
WIDE = Bounds(size_bytes=16 * MIB)


def _random_value(chance: random.Random, depth: int = 0) -> object:
    kind = chance.randrange(8 if depth < 6 else 5)
    if kind < 3:
        return "".join(chance.choice('ab\\"[]{},\né😀') for _ in range(chance.choice((0, 1, 3, 40))))
    if kind == 3:
        return chance.choice((None, True, -7, 2**60, 0.25))
    if kind == 4:
        return []
    items = [_random_value(chance, depth + 1) for _ in range(chance.randrange(6))]
    return items if kind < 7 else {str(index) * 3: item for index, item in enumerate(items)}


def _levels(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_levels, inner), default=0)


def _parts(value: object) -> int:
    """Elements and containers, counted the slow way."""
    if not isinstance(value, list | dict):
        return 0
    inner = list(value.values()) if isinstance(value, dict) else value
    return 1 + max(0, len(inner) - 1) + sum(map(_parts, inner))


@pytest.mark.parametrize("seed", range(40))
def test_documents_are_counted_as_they_are(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few bytes, so that their borders fall into strings, escapes and brackets."""
    chance = random.Random(seed)
    monkeypatch.setattr("sandbox_gym.verifiers.bounded._PIECE_BYTES", chance.choice((1, 2, 3, 7, 64)))
    value = [_random_value(chance) for _ in range(6)]
    data = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode()
    levels = _levels(value)
    assert nesting(data) == levels
    check(data, Bounds(len(data), depth=levels, parts=_parts(value) + data.count(b'"') + data.count(b"\\")))
    with pytest.raises(TooMuch, match="deep"):
        check(data, Bounds(len(data), depth=levels - 1))
    with pytest.raises(TooMuch, match="parts"):
        check(data, Bounds(len(data), parts=_parts(value) - 1))
    assert loads(data, WIDE) == value


HOSTILE = {
    "deep": b"[" * (16 * MIB),
    "deep and closed": b"[" * (8 * MIB) + b"]" * (8 * MIB),
    "rows": b"[" + b"[]," * (5 * MIB) + b"1]",
    "strings": b"[" + b'"",' * (5 * MIB) + b"1]",
    "objects": b"[" + b"{}," * (5 * MIB) + b"1]",
    "digits": b"9" * (16 * MIB),
    "numbers of many digits": b"[" + (b"9" * 399 + b",") * 40_000 + b"1]",
    "escapes": b'"' + b"\\n" * (8 * MIB - 1) + b'"',
    "backslashes": b"\\" * (16 * MIB),
    "quotes": b'"' * (16 * MIB),
    "too long": b" " * (16 * MIB + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_refused_unparsed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_gym.verifiers.bounded.json.loads", lambda *_: pytest.fail("it was parsed"))
    with pytest.raises(TooMuch):
        loads(HOSTILE[name], WIDE)


@pytest.mark.parametrize(
    "data",
    [
        json.dumps("[{," * 400_000).encode(),  # brackets and commas in a text are no parts
        json.dumps(list(range(400_000))).encode(),
        json.dumps("日本語" * 100_000).encode(),
        json.dumps([["f", (0.1 * n).hex()] for n in range(100_000)]).encode(),
    ],
    ids=["text", "integers", "escaped text", "floats"],
)
def test_long_honest_documents_are_read(data: bytes) -> None:
    assert len(data) > SMALL_BYTES
    assert loads(data, WIDE) == json.loads(data)


def test_fractions_are_refused_where_none_belong() -> None:
    assert loads(b"[1, true, null]", Bounds(MIB, fractions=False)) == [1, True, None]
    for number in (b"1.5", b"1e5", b"[-2E-3]"):
        with pytest.raises(TooMuch, match="integer"):
            loads(number, Bounds(MIB, fractions=False))
