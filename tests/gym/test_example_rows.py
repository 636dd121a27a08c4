"""NeMo Gym's own code_gen example rows through its server and ours: the same rewards, but where its server is fooled.

Run with -s it prints each answer's two rewards.
"""

from __future__ import annotations

import re

import httpx2 as httpx
import pytest

from sandbox_gym.server.protocol.wire import Document
from tests.documented import page
from tests.gym.hacks import HACKS
from tests.gym.running import Gym, figure
from tests.gym.tasks import REPOSITORY
from tests.gym.test_differential import example_rows, ours, posted, request, their_rollouts, theirs

__all__ = ["ours", "theirs"]
pytestmark = [pytest.mark.timeout(1500), pytest.mark.filterwarnings("ignore")]
PAGE = page("from-nemo-gym.md")


def answers() -> list[tuple[str, Document, bool]]:
    """(what it is, the request, whether it is a hack): for each row its rollout, ours right and spoilt, every hack."""
    folder = REPOSITORY / "tests" / "golden" / "code_gen_example"
    found = [("the rollout that ships with it", rollout, False) for rollout in their_rollouts()]
    for index, row in enumerate(example_rows()):
        source = (folder / f"{index}.py").read_text()
        found += [
            ("a solution", request(row, fenced(source)), False),
            ("the same, and a line too many", request(row, fenced(f"{source}\nprint(0)")), False),
            ("no code", request(row, "I don't know."), False),
            ("never ends", request(row, fenced("while True: pass")), False),
        ]
        found += [(name, request(row, fenced(code)), True) for name, code in HACKS.items()]
    return found


def fenced(code: str) -> str:
    return f"```python\n{code.strip()}\n```"


def test_the_same_rewards_but_where_theirs_is_fooled(ours: httpx.Client, theirs: httpx.Client, gym: Gym) -> None:
    told: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for name, body, hack in answers():
        pair = float(str(posted(theirs, body)["reward"])), float(str(posted(ours, body)["reward"]))
        told.setdefault((name, hack), []).append(pair)
    figure("code_gen's 5 example rows; rewards there, rewards here:")
    for (name, _), pairs in told.items():
        figure(f"{name}: {[there for there, _ in pairs]} {[here for _, here in pairs]}")
    for (name, hack), pairs in told.items():
        assert len(pairs) == 5, name
        assert pairs == ([(1.0, 0.0)] * 5 if hack else [(here, here) for _, here in pairs]), name
    recorded = [rollout["recorded"] for rollout in their_rollouts()]
    assert [there for there, _ in told["the rollout that ships with it", False]] == recorded
    assert 1.0 in recorded
    # the third row wants an answer a line in some tests and all in one line in others: no program passes
    assert [there for there, _ in told["a solution", False]] == [1.0, 1.0, 0.0, 1.0, 1.0]


def test_the_page_lists_them() -> None:
    """Each way to fool theirs that is run here is a row of the documentation's table, and no other."""
    table = re.search(r"\| answer to code_gen's example rows \|(.*?)\n\n", PAGE.read_text(), re.DOTALL)
    assert table is not None
    listed = [line.split("|")[1].strip() for line in table[0].splitlines() if "| 1.0 | 0.0 |" in line]
    assert listed == list(HACKS)
