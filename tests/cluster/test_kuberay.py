"""The command of a server's pod in deploy/kubernetes/overlays/kuberay, beside a cluster that is not KubeRay's."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.cluster.test_serve import BIN, RIGHT, ROW, WRONG, started_by_hand
from tests.kubernetes.rendering import only, pods, rendered
from tests.kubernetes.test_manifests import environment
from tests.load.servers import ServerProcess, free_port
from tests.server.fakes import verify_body


@pytest.mark.timeout(300)
def test_a_pod_joins_the_cluster_verifies_there_and_ends_in_order(folder: Path) -> None:
    objects = rendered("kuberay")
    (template,) = [pod for name, pod in pods(only(objects, "Deployment")) if name == "coding"]
    container = template["spec"]["containers"][0]
    (folder / "pod").mkdir()
    with started_by_hand(folder) as address:
        changed = {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "HOME": str(folder / "pod"),
            "RAY_AUTH_TOKEN": os.environ["RAY_AUTH_TOKEN"],
            "SANDBOX_GYM_CLUSTER_ADDRESS": address,
            "SANDBOX_GYM_DRAIN_S": "1",
            "SANDBOX_GYM_HOST": "127.0.0.1",
            "SANDBOX_GYM_PORT": str(free_port()),
            "SANDBOX_GYM_JOURNAL_URL": f"sqlite:///{folder}/pod/journal.sqlite",
            "SANDBOX_GYM_STATE_DIR": str(folder / "pod" / "state"),
        }
        settings = {**environment(objects, container), **changed}
        command = [*container["command"], *container["args"]]
        with ServerProcess("", folder / "pod", settings=settings, command=command) as server:
            bearer = {"Authorization": f"Bearer {settings['SANDBOX_GYM_TOKEN']}"}
            bodies = [verify_body(text, **ROW) for text in (WRONG, RIGHT)]
            answers = [httpx.post(f"{server.url}/verify", json=body, headers=bearer, timeout=120) for body in bodies]
            assert [answer.json()["reward"] for answer in answers] == [0.0, 1.0]
            up = [node for node in server.health()["nodes"].values() if node["status"] == "up"]
            assert len(up) >= 1
            server.process.send_signal(signal.SIGTERM)
            code = server.process.wait(template["spec"]["terminationGracePeriodSeconds"])
            assert "Application shutdown complete" in server.log()
            assert code in (0, -signal.SIGABRT), server.log()  # Ray's library may abort when all is done
