"""Each container's command, started outside Kubernetes with what its manifest gives it: its probes, a verify, its end.

Changed for it: addresses, the folder of its state, the database, and the drain, which would be most of the test's time.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.kubernetes.rendering import Object, only, pods, rendered
from tests.kubernetes.test_manifests import environment
from tests.load.servers import ServerProcess, free_port

pytestmark = [pytest.mark.timeout(240), pytest.mark.postgres]
DRAIN_S = 2
ROWS: dict[str, Object] = {
    "coding": {"verifier_metadata": {"unit_tests": {"inputs": ["2"], "outputs": ["2"]}}, "answer": "print(input())"},
    "math": {"question": "?", "expected_answer": "4", "answer": "\\boxed{4}"},
}


class Running:
    """A container's process, as its kubelet sees it."""

    def __init__(self, objects: list[Object], name: str, folder: Path, changed: dict[str, str]) -> None:
        (template,) = [each for of, each in pods(only(objects, "Deployment")) if of == name]
        self.pod = template["spec"]
        self.container = self.pod["containers"][0]
        self.settings = {**environment(objects, self.container), **changed}
        folder.mkdir()
        command = [sys.executable, "-m", "sandbox_gym", *self.container["args"]]
        self.server = ServerProcess("", folder, settings=self.settings, command=command)

    def probe(self, kind: str) -> int:
        probe = self.container[kind]
        try:
            answer = httpx.get(self.server.url + probe["httpGet"]["path"], timeout=probe.get("timeoutSeconds", 1))
        except httpx.TransportError:
            return 0
        return answer.status_code

    def started(self) -> None:
        probe = self.container["startupProbe"]
        until = time.monotonic() + probe["periodSeconds"] * probe["failureThreshold"]
        while self.probe("startupProbe") != 200:
            assert time.monotonic() < until, self.server.log()
            time.sleep(0.1)
        ready_by = time.monotonic() + 60
        while self.probe("readinessProbe") != 200:
            assert time.monotonic() < ready_by, self.server.log()
        assert self.probe("livenessProbe") == 200

    def verify(self, row: Object) -> float:
        headers = {
            "Authorization": f"Bearer {self.settings['SANDBOX_GYM_TOKEN']}",
            "Idempotency-Key": str(self.server.url),
        }
        answer = httpx.post(f"{self.server.url}/verify", json=row, headers=headers, timeout=120)
        assert answer.status_code == 200, answer.text
        reward: float = answer.json()["reward"]
        return reward

    def ends(self) -> None:
        """As told, within what the pod is given, and where it drains not before its probe was red."""
        process = self.server.process
        process.send_signal(signal.SIGTERM)
        if self.settings.get("SANDBOX_GYM_DRAIN_S"):
            until = time.monotonic() + 60
            while (said := self.probe("readinessProbe")) == 200:
                assert time.monotonic() < until
            assert said == 503
        assert process.wait(self.pod["terminationGracePeriodSeconds"]) == 0, self.server.log()


@contextmanager
def running(overlay: str, names: tuple[str, ...], folder: Path) -> Iterator[dict[str, Running]]:
    journal = os.environ.get("SANDBOX_GYM_TEST_POSTGRES", "")
    assert journal, "SANDBOX_GYM_TEST_POSTGRES is not set: run under tests/with-postgres.sh"
    objects = rendered(overlay)
    found: dict[str, Running] = {}
    with ExitStack() as ends:
        for name in names:
            port = free_port()
            changed = {
                "SANDBOX_GYM_HOST": "127.0.0.1",
                "SANDBOX_GYM_PORT": str(port),
                "SANDBOX_GYM_STATE_DIR": str(folder / name / "state"),
            }
            if name != "pool":
                changed["SANDBOX_GYM_JOURNAL_URL"] = journal
                changed["SANDBOX_GYM_DRAIN_S"] = str(DRAIN_S)
            if "pool" in found and name != "pool":
                changed["SANDBOX_GYM_E2B_API_URL"] = found["pool"].server.url
            found[name] = Running(objects, name, folder / name, changed)
            ends.callback(found[name].server.stop)
        yield found


ALL = ("coding", "math", "swe")


@pytest.mark.parametrize(
    ("overlay", "names"),
    [
        pytest.param("e2b", ("pool", "math"), id="a-pool-and-math"),
        pytest.param("e2b", ("pool", *ALL), id="e2b", marks=pytest.mark.extended),
        pytest.param("local", ALL, id="local", marks=pytest.mark.extended),
    ],
)
def test_probes_answer_and_a_signal_ends_it_in_order(overlay: str, names: tuple[str, ...], tmp_path: Path) -> None:
    with running(overlay, names, tmp_path) as found:
        for each in found.values():
            each.started()
        for name, row in ROWS.items():
            if name in found:
                assert found[name].verify(row) == 1.0
        for name in reversed(names):  # the pool last: servers give their sandboxes back to it
            found[name].ends()
