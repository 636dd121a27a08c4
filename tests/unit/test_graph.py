"""Object graphs between the two ends of a dialogue: what crosses is equal, the same, and changes on both ends; what is
no message raises CannotCross and nothing else."""

from __future__ import annotations

import array
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import io
import ipaddress
import json
import math
import pathlib
import random
import re
import types
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from sandbox_gym.guest.objects.asking import Asking
from sandbox_gym.guest.objects.peer import Peer
from sandbox_gym.guest.protocol.values import CannotCross

Ends = tuple[Any, Any]
ROW = {"classes": [], "attributes": [], "of_results": [], "operates": False, "words": []}
utc = datetime.UTC


@pytest.fixture
def ends() -> Ends:
    """(the test's end, the answer's end)."""
    return Peer("hidden_test", Asking(ROW)), Peer("candidate")


def carried(sender: Any, receiver: Any, *values: object) -> list[Any]:
    """The values as the other end has them after one message."""
    message: dict[str, object] = {}
    sender.graph.pack(message, {"args": values})
    message["drop"] = sender.graph.drops()
    (received,) = receiver.graph.unpack(json.loads(json.dumps(message)), ["args"])
    return list(received)


def _values() -> list[object]:
    stamp = datetime.datetime(2024, 2, 29, 1, 2, 3, 4, tzinfo=utc)
    deque = collections.deque([1, [2]], maxlen=3)
    return [
        *(
            None,
            True,
            0,
            -(1 << 60),
            1 << 200,
            0.1,
            -0.0,
            math.inf,
            1 + 2j,
            "",
            "é\ud800\0",
            b"\xff\0",
            bytearray(b"ab"),
        ),
        *(
            (),
            (1, (2, ())),
            [],
            [[]],
            {},
            {1: {"a": (1,)}},
            set(),
            {1, (2, 3)},
            frozenset({frozenset({1})}),
            range(1, 9, 3),
        ),
        *(fractions.Fraction(-1, 3), decimal.Decimal("1.50"), decimal.Decimal("-Infinity"), slice(1, None, 2), ...),
        *(
            datetime.date(1, 1, 1),
            stamp,
            stamp.time(),
            datetime.timedelta(-1, 5),
            datetime.timezone(datetime.timedelta(hours=5)),
        ),
        *(deque, collections.Counter("abca"), collections.OrderedDict(b=1, a=2), collections.ChainMap({1: 2}, {3: 4})),
        *(
            uuid.UUID(int=5),
            ipaddress.ip_address("::1"),
            ipaddress.ip_network("10.0.0.0/8"),
            pathlib.PurePosixPath("a/b"),
        ),
        *(re.compile("a+", re.I), array.array("i", [1, -2]), types.SimpleNamespace(a=[1]), collections.UserList([1])),
        *(int, dict, ValueError, fractions.Fraction, len, math.sqrt, str.upper, NotImplemented),
    ]


VALUES = _values()


@pytest.mark.parametrize(
    "value", VALUES, ids=[repr(value)[:30].encode("ascii", "replace").decode() for value in VALUES]
)
def test_a_value_crosses_as_an_equal_one_both_ways(ends: Ends, value: object) -> None:
    for sender, receiver in (ends, ends[::-1]):
        (there,) = carried(sender, receiver, value)
        assert type(there) is type(value)
        assert there == value
        assert repr(there) == repr(value)


def test_nan_is_the_same_one_when_it_comes_back(ends: Ends) -> None:
    mine = [math.nan, 1]
    (there,) = carried(*ends, mine)
    (back,) = carried(ends[1], ends[0], [there[0], 1])
    assert back == mine


def test_identity_and_cycles(ends: Ends) -> None:
    inner = [1]
    whole: list[object] = [inner, inner, (inner,)]
    whole.append(whole)
    (there,) = carried(*ends, whole)
    assert there[0] is there[1] is there[2][0]
    assert there[3] is there
    (back,) = carried(ends[1], ends[0], there)
    assert back is whole


def test_changes_in_place_are_seen_on_the_other_end_through_every_alias(ends: Ends) -> None:
    rows = [[1], [2]]
    held = {"row": rows[0], "seen": {3}, "more": collections.deque([4])}
    there, theirs = carried(*ends, rows, held)
    there[0].append(9)
    theirs["seen"].add(5)
    theirs["more"].appendleft(0)
    there.pop()
    carried(ends[1], ends[0])
    assert rows == [[1, 9]]
    assert held == {"row": [1, 9], "seen": {3, 5}, "more": collections.deque([0, 4])}
    assert held["row"] is rows[0]
    rows[0].clear()
    carried(*ends)
    assert there == [[]]


def test_what_nobody_refers_to_is_dropped_on_both_ends(ends: Ends) -> None:
    for _ in range(50):
        carried(*ends, [[1], {"a": {2}}], (3, [4]))
        carried(ends[1], ends[0], {"b": [5]})
    assert len(ends[0].graph.entries()) <= 4
    assert len(ends[1].graph.entries()) <= 4


def test_deep_and_wide(ends: Ends) -> None:
    deep: list[object] = []
    for _ in range(20_000):
        deep = [deep]
    wide = [(number, str(number)) for number in range(5_000)]
    there, more = carried(*ends, deep, wide)
    levels = 0
    while there:
        (there,), levels = there, levels + 1
    assert levels == 20_000
    assert more == wide


class Colour(enum.Enum):
    RED = 1
    BLUE = (2, 3)


class Mode(enum.IntFlag):
    R = 4
    W = 2


@dataclasses.dataclass
class Point:
    x: int
    y: object = None


Pair = collections.namedtuple("Pair", "left right")


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


class Wallet(list):  # type: ignore[type-arg]
    """A list with a field."""


class Broke(ValueError):
    def __init__(self, missing: int) -> None:
        super().__init__(f"{missing} short")
        self.missing = missing


SHARED = (Colour, Mode, Point, Pair, Slotted, Wallet, Broke)


@pytest.fixture
def knowing(ends: Ends) -> Ends:
    """Ends that both define the same classes."""
    for end in ends:
        end.classes.share({cls.__name__: cls for cls in SHARED}, [cls.__name__ for cls in SHARED])
    return ends


def test_instances_of_classes_that_both_ends_have(knowing: Ends) -> None:
    wallet = Wallet([1, 2])
    wallet.owner = Point(1, [2])  # type: ignore[attr-defined]
    values = [Colour.RED, Colour.BLUE, Mode.R | Mode.W, Point(1, Pair(1, [2])), Slotted([3]), wallet]
    there = carried(*knowing, *values)
    assert there[:4] == values[:4]
    assert [type(one) for one in there] == [type(one) for one in values]
    assert there[4].value == [3]
    assert (list(there[5]), there[5].owner) == ([1, 2], Point(1, [2]))
    there[3].x = 7
    carried(knowing[1], knowing[0])
    assert values[3] == Point(7, Pair(1, [2]))


def test_exceptions_cross_with_what_they_say(knowing: Ends) -> None:
    error = Broke(5)
    error.__cause__ = KeyError("why")
    there, missing, gone = carried(
        *knowing, error, json.JSONDecodeError("bad", "{", 1), FileNotFoundError(2, "no", "f")
    )
    assert type(there) is Broke
    assert (there.missing, str(there), there.args) == (5, "5 short", ("5 short",))
    assert repr(there.__cause__) == "KeyError('why')"
    assert (type(missing), missing.pos, str(missing)) == (json.JSONDecodeError, 1, "bad: line 1 column 2 (char 1)")
    assert (gone.errno, gone.filename, type(gone)) == (2, "f", FileNotFoundError)


def _messages(ends: Ends) -> list[dict[str, Any]]:
    """Honest messages of the answer's end, to be spoilt."""
    made = []
    for value in (*VALUES, [Point(1, [2])], Colour.BLUE, Mode.R, Broke(3), functools.partial(max, 1), io.StringIO("a")):
        message: dict[str, Any] = {}
        ends[1].graph.pack(message, {"args": (value, [value])})
        made.append(json.loads(json.dumps(message)))
    return made


_SPOILS: tuple[Callable[[random.Random, Any], Any], ...] = (
    lambda chance, old: chance.choice(
        [None, True, -1, 0, 7, 1 << 70, "x", "", [], {}, [[]], ["@", 5], ["h", 1, 1], ["h", 0, 9]]
    ),
    lambda chance, old: [old],
    lambda chance, old: old[:-1] if isinstance(old, (list, str)) and old else old,
    lambda chance, old: [
        chance.choice(["t", "fs", "v", "np", "nt", "e", "ov", "k", "ty", "g", "f", "i"]),
        old,
        old,
        old,
    ],
    lambda chance, old: chance.choice(["builtins.list", "fixed", "numpy", "x", "o", "fractions.Fraction", "os.system"]),
)


def _spoilt(chance: random.Random, message: Any) -> Any:
    """The message with one part changed."""
    spoilt = copy.deepcopy(message)
    holder, key = spoilt, chance.choice(sorted(spoilt))
    for _ in range(12):
        inner = holder[key]
        if isinstance(inner, list) and inner and chance.random() < 0.8:
            holder, key = inner, chance.randrange(len(inner))
        elif isinstance(inner, dict) and inner and chance.random() < 0.8:
            holder, key = inner, chance.choice(sorted(inner))
        else:
            break
    holder[key] = chance.choice(_SPOILS)(chance, holder[key])
    return spoilt


def test_a_spoilt_message_raises_cannot_cross_and_nothing_else(ends: Ends) -> None:
    chance, refused = random.Random(7), 0
    messages = _messages(ends)
    for _ in range(4_000):
        wary = Peer("hidden_test", Asking(ROW))
        try:
            wary.graph.unpack(_spoilt(chance, chance.choice(messages)), ["args"])
        except CannotCross:
            refused += 1
    assert refused > 1_000


def test_what_the_other_end_can_not_have_is_refused(ends: Ends) -> None:
    mine = [1, 2]
    carried(*ends, mine)
    wary = ends[0]
    forged: list[dict[str, Any]] = [
        {"args": ["@", 1_000]},
        {"args": ["h", 1, 1]},
        {"args": ["k", "TestCase"]},
        {"args": ["g", "os", "system"]},
        {"args": ["g", "builtins", "exec"]},
        {"args": ["ty", "BaseExceptionGroup.x"]},
        {"args": ["np", "|O", [], "AAAAAAAAAAA="]},
        {"args": ["v", "fractions.Fraction", [1, 0]]},
        {"contents": [[2, "builtins.dict", []]], "args": None},
        {"contents": [[4, "builtins.list", []]], "args": None},
        {"contents": [[3, ["x", [["g", "unittest.case", "SkipTest"]]], [[], [], ["", None, None]]]], "args": ["@", 3]},
        {"told": [{"n": 1, "kind": "object", "class": ["ty", "int"]}, {"n": 1, "kind": "generator"}], "args": None},
    ]
    for message in forged:
        with pytest.raises(CannotCross):
            wary.graph.unpack(message, ["args"])


@pytest.mark.parametrize("keyword", ["target", "name", "held", "self"])
def test_a_call_takes_every_keyword(ends: Ends, keyword: str) -> None:
    """The names of the operations' own parameters are no names of the answer's parameters."""
    _test, answer = ends

    class Adder:
        def add(*args: int, **kwargs: int) -> int:
            return sum(kwargs.values())

    exports = answer.exports
    number = exports.number(Adder())
    assert exports.served({"op": "do", "h": number, "do": "invoke"}, ("add",), {keyword: 3}) == 3
    number = exports.number(lambda **kwargs: kwargs[keyword])
    assert exports.served({"op": "do", "h": number, "do": "call"}, (), {keyword: 4}) == 4
