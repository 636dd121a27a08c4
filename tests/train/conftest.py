"""The trainers' own packages, in the environment that `make test-train` makes, and a server of this tree."""

from __future__ import annotations

import pytest

from tests.trainers.conftest import math_url, server, server_url

__all__ = ["math_url", "server", "server_url"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What the trainers warn of is theirs."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("default"))
