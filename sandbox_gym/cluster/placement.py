"""Which node runs what: by free slots, and by which node has the image or the snapshot already.

Pure bookkeeping: no Ray, no clock, no waiting. A decision costs the same on 10 nodes and on 1,000: nodes stand in
buckets by their free slots, all of them once, and once more for each image that they are warm for.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

WARM_PER_NODE: Final = 8
"""Images that a node counts as warm for; the longest unused is forgotten first, as its pool lets go of idle boxes."""
HOLDERS_SEEN: Final = 8
"""Of the nodes that hold a snapshot at most so many are compared."""
MARGIN: Final = 0.5
"""A warm node is left for a cold one when it is busier by more than this share of its slots."""


class _Ranks:
    """Names by a whole number, the highest at hand. Among equals the one that waits longest is first."""

    def __init__(self) -> None:
        self._names: dict[int, OrderedDict[str, None]] = {}
        self._ranks: dict[str, int] = {}
        self._order: list[int] = []
        """A heap of negated ranks, each once; some may have no names any longer."""
        self._ordered: set[int] = set()

    def __len__(self) -> int:
        return len(self._ranks)

    def put(self, name: str, rank: int) -> None:
        """Rank a name, anew if it has a rank."""
        if self._ranks.get(name) == rank:
            return
        self.remove(name)
        self._ranks[name] = rank
        self._names.setdefault(rank, OrderedDict())[name] = None
        if rank not in self._ordered:
            self._ordered.add(rank)
            heapq.heappush(self._order, -rank)

    def remove(self, name: str) -> None:
        """Forget a name. Idempotent."""
        rank = self._ranks.pop(name, None)
        if rank is not None:
            del self._names[rank][name]
            if not self._names[rank]:
                del self._names[rank]

    def best(self, avoid: Collection[str]) -> str | None:
        """The highest that is not to be avoided."""
        while self._order and -self._order[0] not in self._names:
            self._ordered.discard(-heapq.heappop(self._order))
        if not self._order:
            return None
        first = next((name for name in self._names[-self._order[0]] if name not in avoid), None)
        return first if first is not None else self._search(avoid)

    def _search(self, avoid: Collection[str]) -> str | None:
        """The same, all ranks through: only where each of the highest was tried in vain."""
        for rank in sorted(self._names, reverse=True):
            for name in self._names[rank]:
                if name not in avoid:
                    return name
        return None


@dataclass(slots=True)
class _Node:
    slots: int
    leased: int = 0
    open: bool = True
    warm: OrderedDict[str, None] = field(default_factory=OrderedDict)
    snapshots: set[str] = field(default_factory=set)

    @property
    def free(self) -> int:
        return self.slots - self.leased

    @property
    def load(self) -> float:
        return self.leased / max(1, self.slots)


class Placement:
    """Nodes, their slots, and what they hold. A decision is O(log slots), amortised; `leave` is O(what it held)."""

    def __init__(self, *, margin: float = MARGIN) -> None:
        self._margin = margin
        self._nodes: dict[str, _Node] = {}
        self._all = _Ranks()
        self._warm: dict[str, _Ranks] = {}
        self._holders: dict[str, OrderedDict[str, None]] = {}
        self._slots = 0

    # -- nodes

    @property
    def slots(self) -> int:
        """Slots of all nodes that take something new."""
        return self._slots

    def __contains__(self, node: str) -> bool:
        return node in self._nodes

    def leased(self, node: str) -> int:
        """Slots that are taken on a node."""
        return self._nodes[node].leased

    def join(self, node: str, slots: int) -> None:
        """A node that takes leases from now on."""
        self._nodes[node] = _Node(slots)
        self._slots += slots
        self._rank(node)

    def resize(self, node: str, slots: int) -> None:
        """How many slots a node has now; what is leased beyond them stays leased."""
        one = self._nodes[node]
        self._slots += slots - one.slots if one.open else 0
        one.slots = slots
        self._rank(node)

    def leave(self, node: str) -> None:
        """A node that is gone, with all that it held. Idempotent."""
        if node not in self._nodes:
            return
        self.shut(node)
        for snapshot in self._nodes.pop(node).snapshots:
            self._unhold(node, snapshot)

    def shut(self, node: str) -> None:
        """Nothing new goes to this node; what it has goes on. Idempotent."""
        one = self._nodes[node]
        if one.open:
            one.open = False
            self._slots -= one.slots
            self._rank(node)

    def reopen(self, node: str) -> None:
        """The node takes leases again. Idempotent."""
        one = self._nodes[node]
        if not one.open:
            one.open = True
            self._slots += one.slots
            self._rank(node)

    # -- what they hold

    def hold(self, node: str, snapshot: str) -> None:
        """A node has a snapshot: what begins from it goes to nodes that have it, and nowhere else."""
        self._nodes[node].snapshots.add(snapshot)
        self._holders.setdefault(snapshot, OrderedDict())[node] = None

    def holders(self, snapshot: str) -> list[str]:
        """The nodes that have a snapshot."""
        return list(self._holders.get(snapshot, ()))

    def drop(self, node: str, snapshot: str) -> None:
        """A node has a snapshot no longer. Idempotent."""
        if node in self._nodes and snapshot in self._nodes[node].snapshots:
            self._nodes[node].snapshots.remove(snapshot)
            self._unhold(node, snapshot)

    def _unhold(self, node: str, snapshot: str) -> None:
        del self._holders[snapshot][node]
        if not self._holders[snapshot]:
            del self._holders[snapshot]

    # -- leases

    def place(self, image: str, count: int = 1, *, avoid: Collection[str] = (), held: bool = False) -> str | None:
        """Take `count` slots for a plan on `image`; the node, or None where none takes it.

        Free slots come first; where there are none it is the node that is least beyond its slots, whose own queue the
        plan joins. `held`: the image is a snapshot, and only its holders will do.
        """
        node = self._holder(image, avoid) if held else self._warm_or_any(image, count, avoid)
        if node is not None:
            one = self._nodes[node]
            one.leased += count
            if not held:
                self._warmed(node, image)
            self._rank(node)
        return node

    def take(self, node: str, count: int = 1) -> None:
        """Take slots of a node that was chosen otherwise."""
        self._nodes[node].leased += count
        self._rank(node)

    def give(self, node: str, count: int = 1) -> None:
        """`count` slots are free again; those of a node that is gone are ignored."""
        if node in self._nodes:
            self._nodes[node].leased -= count
            self._rank(node)

    def _holder(self, snapshot: str, avoid: Collection[str]) -> str | None:
        seen = []
        for node in self._holders.get(snapshot, ()):
            if self._nodes[node].open and node not in avoid:
                seen.append(node)
                if len(seen) == HOLDERS_SEEN:
                    break
        return max(seen, key=lambda node: self._nodes[node].free, default=None)

    def _warm_or_any(self, image: str, count: int, avoid: Collection[str]) -> str | None:
        best = self._all.best(avoid)
        warm = self._warm[image].best(avoid) if image in self._warm else None
        if warm is None or best is None:
            return best
        one, other = self._nodes[warm], self._nodes[best]
        near = one.load <= other.load + self._margin
        return warm if near and (one.free >= count or other.free < count) else best

    def _warmed(self, node: str, image: str) -> None:
        warm = self._nodes[node].warm
        warm[image] = None
        warm.move_to_end(image)
        if len(warm) > WARM_PER_NODE:
            oldest, _ = warm.popitem(last=False)
            self._unrank(oldest, node)

    def _rank(self, node: str) -> None:
        """The node's place in every bucket it belongs in; in none when it is shut."""
        one = self._nodes[node]
        if not one.open:
            self._all.remove(node)
            for image in one.warm:
                self._unrank(image, node)
            return
        self._all.put(node, one.free)
        for image in one.warm:
            self._warm.setdefault(image, _Ranks()).put(node, one.free)

    def _unrank(self, image: str, node: str) -> None:
        if image in self._warm:
            self._warm[image].remove(node)
            if not len(self._warm[image]):
                del self._warm[image]
