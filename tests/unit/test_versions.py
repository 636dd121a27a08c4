"""A dict that was changed is known by its version, however it was changed; one that was only read is not."""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

from sandbox_gym.guest.python import versions

Space = dict[str, Any]
GLOBAL_STORE = compile("def store():\n    global a\n    for number in range(5000):\n        a = number\n", "m", "exec")


class Plain:
    def __init__(self) -> None:
        self.a, self.b = 0, [1]


def module() -> types.ModuleType:
    made = types.ModuleType("m")
    vars(made).update(a=0, b=[1])
    return made


def by_attribute(owner: Any) -> None:
    for number in range(5000):  # often enough for an interpreter that specializes its code
        owner.a = number


def by_globals(owner: Any) -> None:
    exec(GLOBAL_STORE, vars(owner))
    vars(owner).pop("store")()


def by_new_names(owner: Any) -> None:
    for number in range(200):
        setattr(owner, f"n{number}", number)


CHANGES: dict[str, Callable[[Any], object]] = {
    "an attribute": by_attribute,
    "a new attribute": lambda owner: setattr(owner, "c", 1),
    "many attributes": by_new_names,
    "an attribute deleted": lambda owner: delattr(owner, "a"),
    "an item": lambda owner: vars(owner).__setitem__("a", 7),
    "update": lambda owner: vars(owner).update(a=7),
    "in place or": lambda owner: vars(owner).__ior__({"a": 7}),
    "pop": lambda owner: vars(owner).pop("a"),
    "popitem": lambda owner: vars(owner).popitem(),
    "clear": lambda owner: vars(owner).clear(),
    "setdefault": lambda owner: vars(owner).setdefault("c", 7),
    "an object in place of an equal one": lambda owner: vars(owner).__setitem__("b", copy.copy(vars(owner)["b"])),
}
READS: dict[str, Callable[[Any], object]] = {
    "an attribute": lambda owner: [owner.a for _ in range(5000)],
    "no attribute": lambda owner: hasattr(owner, "c"),
    "items": lambda owner: list(vars(owner).items()),
    "copy": lambda owner: vars(owner).copy(),
    "equality": lambda owner: vars(owner) == dict(vars(owner)),
}
told = pytest.mark.skipif(not versions.TOLD, reason="this interpreter has no versions of dicts: each counts as changed")


OTHERS: list[Space] = [{"a": 1} for _ in range(3)]


def watched(owner: Any) -> tuple[versions.Versions, int]:
    found = versions.Versions()
    for space in OTHERS:
        found.add(space)
    number = found.add(vars(owner))
    found.take_all()
    return found, number


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("made", [module, Plain])
def test_every_change_is_told(made: Callable[[], Any], change: str) -> None:
    owner = made()
    found, number = watched(owner)
    CHANGES[change](owner)
    assert number in found.changed()
    if versions.TOLD:
        assert list(found.changed()) == [number]


def test_a_function_that_stores_globals_is_told() -> None:
    owner = module()
    found, number = watched(owner)
    by_globals(owner)
    assert number in found.changed()


@told
@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("made", [module, Plain])
def test_who_only_reads_changes_nothing(made: Callable[[], Any], read: str) -> None:
    owner = made()
    found, _number = watched(owner)
    READS[read](owner)
    assert list(found.changed()) == []


@told
def test_what_is_taken_is_as_it_should_be() -> None:
    first, second = module(), module()
    found = versions.Versions()
    numbers = [found.add(vars(one)) for one in (first, second)]
    assert list(found.changed()) == numbers  # none was taken yet
    found.accept()
    for one in (first, second):
        vars(one)["a"] = 5
    found.take(numbers[0])
    assert list(found.changed()) == [numbers[1]]
    found.take_all()
    assert list(found.changed()) == []


def test_they_are_told_where_cpython_has_them() -> None:
    has_them = sys.implementation.name == "cpython" and sys.version_info < (3, 13)
    assert has_them == versions.TOLD
