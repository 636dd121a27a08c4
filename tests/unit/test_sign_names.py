"""Signs of tampering that cost the reward are named rightly, or the server or the row is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.server.registry import SERVERS
from sandbox_gym.verifiers.coding.tamper import SIGNS, unknown_sign
from sandbox_gym.verifiers.swe.patches.restore import SIGNS as SWE_SIGNS
from tests.documented import page


@pytest.mark.parametrize("kind", ["coding", "swe"])
def test_a_server_knows_the_signs_that_cost(kind: str) -> None:
    every = sorted({"any", *SIGNS, *SWE_SIGNS})
    assert SERVERS[kind](Settings.from_flat({"fail_on_tamper": every}), kind).kind == kind
    with pytest.raises(ConfigurationError, match="'debuging' is no sign of tampering; did you mean debugging"):
        SERVERS[kind](Settings.from_flat({"fail_on_tamper": ["any", "debuging"]}), kind)


def test_a_name_that_is_like_none_is_answered_with_all() -> None:
    assert unknown_sign(["xyz"], ["debugging"]) == ("xyz", "give some of any, debugging")
    assert unknown_sign(["any", "debugging"], ["debugging"]) is None


@pytest.mark.parametrize(("name", "signs"), [("coding.md", SIGNS), ("swe.md", SWE_SIGNS)])
def test_the_pages_name_signs_that_there_are(name: str, signs: Mapping[str, str]) -> None:
    text = page(name).read_text()
    prefixes = "|".join(sorted({sign.partition("_")[0] for sign in SWE_SIGNS}))
    table = text.partition("| sign | seen by |")[2].partition("\n\n")[0]
    named = {sign for line in table.splitlines() for sign in re.findall(r"`(\w+)`", line.partition(" | ")[0])}
    assert named <= set(SIGNS)
    if name == "coding.md":
        assert named == set(SIGNS)
    assert set(re.findall(rf"^\| `((?:{prefixes})_\w+)` \|", text, re.MULTILINE)) <= set(signs)
