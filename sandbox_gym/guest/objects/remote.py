"""What every proxy of the other end's things has: its number, its description, its class, and the way to ask for it."""


class Remote:
    """Anything of the other end's that is no plain function, generator or coroutine here."""

    __slots__ = ("__weakref__", "_remote")

    def __init__(self, remote):
        object.__setattr__(self, "_remote", remote)


class Facts:
    """What is known of a handle: its number, its class, and how this end came by it (asking.py)."""

    __slots__ = ("cls", "entered", "exports", "items", "name", "number", "rank", "told")

    def __init__(self, exports, number, told, cls):
        self.entered, self.items = -1, None
        self.exports, self.number, self.told, self.cls = exports, number, told, cls
        self.rank, self.name = exports.rank, told.get("name", "") if told.get("kind") != "object" else ""

    def do(self, what, args=(), kwargs=None, rank=0):
        return self.exports.do(self.number, what, args, kwargs, rank)


def rank_given(facts):
    """What is worth that an object gives: never as much as one that the test constructed."""
    return min(facts.rank, 2)


def facts_of(remote):
    return object.__getattribute__(remote, "_remote")


def number_of(remote):
    return facts_of(remote).number
