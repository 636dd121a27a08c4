"""What every proxy of the other end's things has: its number, its description, its class, and the way to ask for it."""


class Remote:
    """A thing of the other end for which no plain function, generator or coroutine stands here."""

    __slots__ = ("__weakref__", "_remote")

    def __init__(self, remote):
        object.__setattr__(self, "_remote", remote)


class Facts:
    """What this end knows of a handle: its number, its description, its class, and how this end got it (asking.py)."""

    __slots__ = ("cls", "description", "entered", "exports", "items", "name", "number", "rank")

    def __init__(self, exports, number, description, cls):
        self.entered, self.items = -1, None
        self.exports, self.number, self.description, self.cls = exports, number, description, cls
        self.rank, self.name = exports.rank, description.get("name", "") if description.get("kind") != "object" else ""

    def do(self, what, args=(), kwargs=None, rank=0):
        return self.exports.do(self.number, what, args, kwargs, rank)


def rank_given(facts):
    """The rank of what an object gives: never as high as that of an object that the test constructed."""
    return min(facts.rank, 2)


def facts_of(remote):
    return object.__getattribute__(remote, "_remote")


def number_of(remote):
    return facts_of(remote).number
