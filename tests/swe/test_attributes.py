"""What a patch says of how git writes files (.gitattributes) changes no test, for right answers and for wrong ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.load.servers import ServerProcess
from tests.swe.imitations.projects import diff
from tests.swe.instance import Client, serving_swe
from tests.swe.tiny import TEST

pytestmark = [pytest.mark.timeout(300), pytest.mark.extended]
BASE = {"tiny.py": "def double(n):\n    return n\n"}
RIGHT = "def double(n):\n    return n + n\n"
EQUAL = "class Equal:\n    def __eq__(self, other):\n        return True\n\n\ndef double(n):\n    return Equal()\n"
ROW: dict[str, object] = {
    "instance_id": "tiny__tiny-attributes",
    "repo": "tiny",
    "environment": {"files": BASE},
    "patch": diff(BASE, {"tiny.py": RIGHT}),
    "test_patch": diff(BASE, {"test_tiny.py": TEST}),
    "FAIL_TO_PASS": ["test_tiny.Doubles.test_double"],
    "PASS_TO_PASS": [],
    "runner": "unittest",
}
ATTRIBUTES = [
    "", "* text=auto eol=crlf", "*.py text eol=crlf", "*.py working-tree-encoding=UTF-16", "* ident",
    "*.py working-tree-encoding=UTF-8-BOM", "test_* -text filter=x diff=x merge=union",
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with serving_swe("local", tmp_path_factory.mktemp("attributes")) as running:
        yield running


@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_attributes_change_no_verdict(server: ServerProcess, attributes: str) -> None:
    more = {".gitattributes": f"{attributes}\n"} if attributes else {}
    client = Client(server.url, ROW)
    try:
        right = client.verify(diff(BASE, {"tiny.py": RIGHT, **more}))
        wrong = client.verify(diff(BASE, {"tiny.py": EQUAL, **more}))
    finally:
        client.close()
    assert (right["reward"], right["verdict"]["inverted"]["variants"] > 0) == (1.0, True), right["failure_reason"]
    assert (wrong["reward"], wrong["failure_reason"]) == (0.0, "tampering: inverted_test_survived")
