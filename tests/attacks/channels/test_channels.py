"""Nothing passes from one candidate to another but by what the threat model lists: in the same box within a task
and from task to task, and between boxes side by side."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_gym.contract import Program, Run
from tests.attacks.channels.catalogue import CHANNELS
from tests.attacks.channels.trials import (
    Boxes,
    carries_beside,
    carries_to_the_next_run,
    carries_to_the_next_task,
    change_in_one_program,
)
from tests.conftest import make_real

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(240)]

MACHINE = frozenset(
    {
        "ports that the kernel chooses",
        "inode numbers of pipes",
        "inode numbers of memory files",
        "packets of the whole machine",
    }
)
"""The kernel's own counters, which nothing but another kernel parts."""
MACHINE_SEEN = frozenset(
    {"names looked up on the whole machine", "faults of the whole machine", "times that anybody synced"}
)
"""More of them, that a container shows in /proc."""
MACHINE_HELD = frozenset({"open files of the whole machine", "inodes of the whole machine"})
"""And these, for as long as the sender holds them."""
TASK = frozenset({"packets of the loopback", "counters of protocols", "ports in their last minute", "flow labels"})
"""Runs of one task share an init and a network."""
CONTAINER = frozenset(
    {
        "process numbers",
        "inode numbers of own files",
        "caps and counters of control groups",
        "accounts of the guest's processes",
    }
)
"""What a container counts from its start."""
LEFT = {
    ("local", "run"): MACHINE | TASK,
    ("local", "task"): MACHINE,
    ("local", "beside"): MACHINE,
    ("docker", "run"): MACHINE | MACHINE_SEEN | TASK | CONTAINER,
    ("docker", "task"): MACHINE | MACHINE_SEEN | CONTAINER,
    ("docker", "beside"): MACHINE | MACHINE_SEEN | MACHINE_HELD,
}
"""(provider, how): the channels that carry, as docs/design/threat-model.md has them."""
DAILY = {("local", "task"), ("docker", "task")}
"""What each daily run tries; `--extended` tries every way, two programs at the same moment too, and that what is listed
does carry."""
CASES = [
    pytest.param(
        provider, how, name, marks=() if (provider, how) in DAILY and name not in left else pytest.mark.extended
    )
    for (provider, how), left in LEFT.items()
    for name in CHANNELS
]


@pytest.fixture
async def boxes(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Boxes, Boxes]]:
    provider = make_real(request.param)
    pair = Boxes(provider), Boxes(provider)
    try:
        yield pair
    finally:
        for one in pair:
            await one.aclose()
        await provider.aclose()


@pytest.mark.parametrize(("boxes", "how", "name"), CASES, indirect=["boxes"])
async def test_what_is_left_and_nothing_else_carries(boxes: tuple[Boxes, Boxes], how: str, name: str) -> None:
    channel, (ours, theirs) = CHANNELS[name], boxes
    provider = ours.provider.name
    if how == "run":
        carried = await carries_to_the_next_run(ours, channel)
    elif how == "task":
        carried = await carries_to_the_next_task(ours, channel)
    else:
        carried = await carries_beside(await ours.get(), await theirs.get(), channel)
    assert carried == (name in LEFT[provider, how])


def test_the_threat_model_lists_what_is_left() -> None:
    text = (Path(__file__).parents[3] / "docs" / "design" / "threat-model.md").read_text("utf-8").lower()
    left = " ".join(text.partition("## what is left")[2].split())
    assert left
    for name in frozenset().union(*LEFT.values()):
        assert name in left, name


def test_enough_channels_are_tried() -> None:
    assert len(CHANNELS) - len(frozenset().union(*LEFT.values())) >= 20


SEEN_BY_ITSELF = (
    "files left in any folder",
    "times and sizes of folders",
    "flock on a shared file",
    "flock on the file of this process",
    "flock on a file of /etc",
    "watches on a shared folder",
    "ports in their last minute",
    "ports that are taken",
    "abstract names of sockets",
    "list of sockets",
    "names of open shared memory",
    "processes that stay",
    "limits, masks and environment",
    "watches that a user may have",
    "inode numbers of own files",
)
"""Channels that no box closes to a program that writes to itself: their two ends do what they say."""


@pytest.mark.parametrize("boxes", ["local"], indirect=True)
@pytest.mark.parametrize("name", SEEN_BY_ITSELF)
async def test_a_program_hears_itself(boxes: tuple[Boxes, Boxes], name: str) -> None:
    box = await boxes[0].get()
    assert await change_in_one_program(box, CHANNELS[name], 1) != await change_in_one_program(box, CHANNELS[name], 0)


async def test_the_terminals_node_is_not_shared() -> None:
    """A write through it sets the time of the machine's own node, whoever mounted it read-only."""
    provider = make_real("local")
    boxes = Boxes(provider)
    try:
        source = "try: open('/dev/tty')\nexcept PermissionError: print('hidden')"
        async with (await boxes.get()).run_all([Run("one", Program("fork", {"main.py": source.encode()}))]) as outcomes:
            assert (await anext(outcomes)).stdout == b"hidden\n"
    finally:
        await boxes.aclose()
        await provider.aclose()
