"""E2B's JSON of sandboxes, their metrics and their snapshots. Changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, Literal

from sandbox_gym.e2b_server.control.shapes import NetworkView, SandboxDetails, SandboxMetric, SandboxView, SnapshotView
from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.records import Image
from sandbox_gym.e2b_server.sandboxes.sandbox import Sample, Sandbox

ENVD_VERSION: Final = "0.6.4"
CLIENT_ID: Final = "sandbox-gym"
ALL: Final = "0.0.0.0/0"


class Views:
    """`domain`: where sandboxes have host names; sent to clients."""

    def __init__(self, sandboxes: Sandboxes, domain: str) -> None:
        self._sandboxes, self._domain = sandboxes, domain

    def brief(self, sandbox: Sandbox) -> SandboxView:
        """For the client that created or resumed it."""
        view: SandboxView = {
            "templateID": sandbox.record.template_id or sandbox.record.template,
            "sandboxID": sandbox.sandbox_id,
            "clientID": CLIENT_ID,
            "envdVersion": ENVD_VERSION,
            "alias": sandbox.record.template,
            "envdAccessToken": sandbox.record.token,
            "trafficAccessToken": sandbox.record.traffic_token,
        }
        if self._domain:
            view["domain"] = self._domain
        return view

    def listed(self, sandbox: Sandbox) -> SandboxDetails:
        """As in a list of sandboxes."""
        record = sandbox.record
        limits = self._sandboxes.machines.limits_of(record.image)
        return {
            "templateID": record.template_id or record.template,
            "sandboxID": sandbox.sandbox_id,
            "clientID": CLIENT_ID,
            "startedAt": iso(record.started_at),
            "endAt": iso(sandbox.end_at),
            "envdVersion": ENVD_VERSION,
            "alias": record.template,
            "cpuCount": max(1, round(limits.cpus)),
            "memoryMB": limits.memory_bytes >> 20,
            "diskSizeMB": limits.scratch_bytes >> 20,
            "state": state_of(sandbox),
            "metadata": dict(record.metadata),
        }

    def whole(self, sandbox: Sandbox) -> SandboxDetails:
        """For a request of this one sandbox: also its token, network and lifecycle."""
        record, details = sandbox.record, self.listed(sandbox)
        network: NetworkView = {"allowPublicTraffic": record.public_traffic and not record.network}
        if record.allow_out:
            network["allowOut"] = list(record.allow_out)
        if record.allow_out or record.deny_out:
            network["denyOut"] = list(record.deny_out) or [ALL]
        if record.mask_host:
            network["maskRequestHost"] = record.mask_host
        if record.https_ports:
            network["httpsPorts"] = list(record.https_ports)
        details["envdAccessToken"] = record.token
        details["allowInternetAccess"] = record.network or bool(record.allow_out)
        details["network"] = network
        details["lifecycle"] = {"onTimeout": "pause" if record.auto_pause else "kill", "autoResume": record.auto_resume}
        if self._domain:
            details["domain"] = self._domain
        if not sandbox.running:
            details["pauseMode"] = "full" if self._sandboxes.frozen.has(sandbox) else "filesystem"
        return details

    def metrics(self, sandbox: Sandbox, samples: Sequence[Sample]) -> list[SandboxMetric]:
        """What it used, beside its limits."""
        limits = self._sandboxes.machines.limits_of(sandbox.record.image)
        return [
            {
                "timestamp": iso(one.at),
                "timestampUnix": int(one.at),
                "cpuCount": max(1, round(limits.cpus)),
                "cpuUsedPct": round(one.cpu_pct, 2),
                "memTotal": limits.memory_bytes,
                "memUsed": one.memory,
                "memCache": 0,
                "diskTotal": limits.scratch_bytes,
                "diskUsed": one.disk,
            }
            for one in samples
        ]


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def state_of(sandbox: Sandbox) -> Literal["running", "paused"]:
    return "running" if sandbox.running else "paused"


def snapshot_view(image: Image) -> SnapshotView:
    """By its first name, or its own id, with a tag, as at E2B."""
    return {"snapshotID": next(iter(image.names), f"{image.snapshot_id}:default"), "names": list(image.names)}
