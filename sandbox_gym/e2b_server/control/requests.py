"""What a checked request asks for: the sandbox, with defaults for what was left out, and its network. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sandbox_gym.e2b_server.control.shapes import CreateSandbox, NetworkRules
from sandbox_gym.e2b_server.faults import Fault
from sandbox_gym.e2b_server.sandboxes.sandbox import SandboxRequest
from sandbox_gym.network import normal

DEFAULT_TIMEOUT_S: Final = 300
MAX_ENTRIES: Final = 100
_HOST: Final = re.compile(r"[A-Za-z0-9._-]{1,253}(:\d{1,5})?")


def given_or(value: int | None, default: int) -> int:
    """The value, or the default where there is none."""
    return default if value is None else value


def wanted(allowed: bool | None, rules: NetworkRules | None, *, strict: bool = False) -> tuple[bool, tuple[str, ...]]:
    """What a request's `allow_internet_access` and `network` ask for: (everything that the tenant may reach, else these
    entries). As at E2B `allowOut` goes before `denyOut`. A `denyOut` without an `allowOut` means no network; an
    `allowOut` is the whole allow-list, with or without a `denyOut`. `strict`: refuse rules that are not supported,
    instead of giving no network. Raises Fault 400."""
    if rules is None:
        return allowed is not False, ()
    allow_out = _entries(rules.allow_out or [])
    unsupported = "rules" if rules.rules else "egressProxy" if rules.egress_proxy else ""
    if unsupported and (allow_out or strict):
        raise Fault(400, f"network.{unsupported} is not supported")
    return allowed is not False and not (rules.deny_out or unsupported or allow_out), allow_out


def _entries(allow_out: Sequence[str]) -> tuple[str, ...]:
    if len(allow_out) > MAX_ENTRIES:
        raise Fault(400, f"network.allowOut has {len(allow_out)} entries; at most {MAX_ENTRIES}")
    try:
        return tuple(dict.fromkeys(map(normal, allow_out)))
    except ValueError as error:
        raise Fault(400, f"network.allowOut: {error}") from None


def sandbox_request(asked: CreateSandbox) -> SandboxRequest:
    """Raises Fault 400 for what is not supported."""
    network, resume = asked.network, asked.auto_resume
    everything, allow_out = wanted(asked.allow_internet_access, network)
    if asked.mcp or asked.volume_mounts or asked.iam:
        raise Fault(400, "mcp, volumeMounts and iam are not supported")
    wakes = resume is not None and (resume.policy == "any" if resume.enabled is None else resume.enabled)
    return SandboxRequest(
        template=asked.template or "",
        timeout_s=given_or(asked.timeout, DEFAULT_TIMEOUT_S),
        metadata=asked.metadata or {},
        env=asked.env or {},
        auto_pause=asked.auto_pause is True,
        auto_pause_memory=asked.auto_pause_memory is not False,
        auto_resume=wakes,
        public_traffic=network is None or network.allow_public_traffic is not False,
        secure=asked.secure is not False,
        network=everything,
        allow_out=allow_out,
        deny_out=(network and network.deny_out) or (),
        mask_host=_mask(network),
        https_ports=(network and network.https_ports) or (),
    )


def _mask(rules: NetworkRules | None) -> str:
    """The Host header that programs at the sandbox's ports see. Raises Fault 400 for an invalid one."""
    mask = None if rules is None else rules.mask_request_host
    if mask is None:
        return ""
    if not _HOST.fullmatch(mask.replace("${PORT}", "1")):
        raise Fault(400, "network.maskRequestHost must be a host, with or without :${PORT}")
    return mask
