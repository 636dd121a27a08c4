"""Where plans go: free slots, warm images, held snapshots; pure, and flat in the number of nodes."""

from __future__ import annotations

import random
from collections import Counter

from sandbox_gym.cluster.placement import WARM_PER_NODE, Placement


def cluster(*slots: int) -> Placement:
    made = Placement()
    for number, count in enumerate(slots):
        made.join(f"n{number}", count)
    return made


def test_the_node_with_most_free_slots_is_next() -> None:
    nodes = cluster(2, 5, 3)
    assert [nodes.place(f"image-{n}") for n in range(4)] == ["n1", "n1", "n2", "n1"]


def test_equals_take_turns() -> None:
    nodes = cluster(2, 2, 2)
    placed = [nodes.place(f"image-{n}") for n in range(6)]
    assert Counter(placed) == {"n0": 2, "n1": 2, "n2": 2}
    assert set(placed[:3]) == {"n0", "n1", "n2"}


def test_a_warm_node_goes_before_a_freer_cold_one_until_it_is_much_busier() -> None:
    nodes = cluster(8, 8)
    first = nodes.place("polyglot")
    placed = [nodes.place("polyglot") for _ in range(7)]
    assert placed[:3] == [first] * 3  # 1, 2 and 3 of 8 slots: within the margin of an idle node
    assert len(set(placed)) == 2  # and at last the other one helps


def test_a_full_warm_node_is_passed_over() -> None:
    nodes = cluster(1, 1)
    assert nodes.place("a") != nodes.place("a")


def test_a_pair_goes_where_both_fit() -> None:
    nodes = cluster(1, 2)
    assert nodes.place("a", 1) == "n1"
    nodes.give("n1")
    assert nodes.place("a", 2) == "n1"


def test_beyond_all_slots_the_least_overfull_takes_it() -> None:
    nodes = cluster(1, 1)
    assert Counter(nodes.place("a") for _ in range(6)) == {"n0": 3, "n1": 3}


def test_slots_that_come_back_are_given_again() -> None:
    nodes = cluster(4, 1)
    assert nodes.place("a", 4) == "n0"
    assert nodes.place("a") == "n1"
    nodes.give("n0", 4)
    assert nodes.leased("n0") == 0
    assert nodes.place("b") == "n0"


def test_what_is_tried_is_avoided() -> None:
    nodes = cluster(9, 5, 1)
    assert nodes.place("a", avoid={"n0"}) == "n1"
    assert nodes.place("a", avoid={"n0", "n1"}) == "n2"
    assert nodes.place("a", avoid={"n0", "n1", "n2"}) is None


def test_a_shut_node_gets_nothing_new_and_keeps_what_it_has() -> None:
    nodes = cluster(9, 1)
    assert nodes.place("a") == "n0"
    nodes.shut("n0")
    assert nodes.slots == 1
    assert {nodes.place("a") for _ in range(5)} == {"n1"}
    assert nodes.leased("n0") == 1
    nodes.give("n0")
    nodes.reopen("n0")
    assert nodes.slots == 10
    assert nodes.place("b") == "n0"


def test_a_lost_node_takes_its_leases_and_snapshots_along() -> None:
    nodes = cluster(2, 2)
    nodes.hold("n0", "snapshot:s")
    assert nodes.place("snapshot:s", held=True) == "n0"
    nodes.leave("n0")
    nodes.leave("n0")
    nodes.give("n0")  # its lease ends now: of no matter
    assert nodes.place("snapshot:s", held=True) is None
    assert nodes.holders("snapshot:s") == []
    assert "n0" not in nodes
    assert nodes.slots == 2


def test_a_snapshots_plan_goes_to_its_freest_holder_and_nowhere_else() -> None:
    nodes = cluster(9, 2, 3)
    nodes.hold("n1", "snapshot:s")
    nodes.hold("n2", "snapshot:s")
    assert [nodes.place("snapshot:s", held=True) for _ in range(3)] == ["n2", "n1", "n2"]
    nodes.shut("n2")
    assert nodes.place("snapshot:s", held=True) == "n1"
    nodes.drop("n1", "snapshot:s")
    assert nodes.place("snapshot:s", held=True) is None


def test_resized_nodes_are_ranked_anew() -> None:
    nodes = cluster(1, 2)
    nodes.resize("n0", 8)
    assert nodes.slots == 10
    assert nodes.place("a") == "n0"
    nodes.resize("n0", 1)
    assert nodes.place("b") == "n1"


def test_a_node_is_warm_for_its_latest_images_only() -> None:
    nodes = cluster(100, 90)
    for number in range(WARM_PER_NODE + 1):
        nodes.place(f"image-{number}")
    assert nodes.leased("n0") == WARM_PER_NODE + 1
    nodes.shut("n0")
    assert nodes.place("image-0") == "n1"
    nodes.reopen("n0")
    nodes.resize("n1", 100)  # now the freer one
    assert nodes.place("image-0") == "n1"  # it alone is warm for it
    assert nodes.place(f"image-{WARM_PER_NODE}") == "n0"


def test_books_balance_under_random_work() -> None:
    """Leases are where they are said to be, no node is beyond its slots while another has room."""
    chance = random.Random(5)
    nodes = cluster(*(chance.randint(1, 8) for _ in range(30)))
    total = nodes.slots
    leases: list[str] = []
    shut: set[str] = set()
    for _ in range(5000):
        move = chance.random()
        if move < 0.5 and len(leases) < nodes.slots - 8:
            node = nodes.place(f"image-{chance.randint(0, 12)}")
            assert node is not None
            assert node not in shut
            leases.append(node)
        elif move < 0.95 and leases:
            nodes.give(leases.pop(chance.randrange(len(leases))))
        elif move < 0.975 and len(shut) < 5:
            shut.add(name := f"n{chance.randint(0, 29)}")
            nodes.shut(name)
        elif shut:
            nodes.reopen(shut.pop())
    assert Counter(leases) == Counter({f"n{n}": nodes.leased(f"n{n}") for n in range(30)})
    for name in shut:
        nodes.reopen(name)
    assert nodes.slots == total
