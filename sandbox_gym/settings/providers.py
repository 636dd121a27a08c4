"""Settings of each provider of sandboxes, and of the users that sandboxes run as."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from sandbox_gym.limits import UID_BASE, UID_COUNT
from sandbox_gym.settings.group import Group


class UidSettings(Group):
    """The range of user ids that sandboxes of this machine run as, where the server is root."""

    base: int = Field(
        UID_BASE,
        ge=1000,
        description="As root, sandboxes on this machine run as users from this number on, each as its own: nothing else"
        " may use the range. Servers in containers of one machine don't see each other's: give each its own range.",
    )
    count: int = Field(
        UID_COUNT, ge=1, description="Users in that range: a local sandbox takes one, a container 20,000."
    )


class LocalSettings(Group):
    """The embedded provider: jails on this machine."""

    python: Path = Field(Path("/usr/bin/python3"), description="The interpreter inside local sandboxes.")
    cgroup: Literal["auto", "require", "never"] = Field(
        "auto",
        description="Cap memory and processes of a whole sandbox by cgroup: where possible (`auto`), or refuse to start"
        " (`require`), or by rlimits only (`never`).",
    )


class DockerSettings(Group):
    """Containers of the Docker Engine."""

    image_prefix: str = Field("sandbox-gym/", description="What stands before an image's name at the Docker Engine.")
    runtime: str = Field("", description="An OCI runtime by name, such as runsc; empty for the Docker Engine's own.")
    pull: Literal["missing", "never"] = Field(
        "missing", description="Whether an image that a row names is pulled where the Docker Engine does not have it."
    )
    pulls_at_once: int = Field(3, ge=1, le=64, description="Images that are pulled at once; more wait.")
    pull_timeout_s: float = Field(
        3600.0, ge=1, description="Seconds that a pull may take, its attempts included; then it has failed for now."
    )
    pull_stall_s: float = Field(
        120.0, ge=1, description="Seconds without a byte after which a pull is begun again, four times in all."
    )
    images_disk_mb: int = Field(
        100_000,
        ge=1,
        description="Disk for images that were pulled for rows, in MiB unpacked; those unused for longest are removed"
        " first, with the instances on them. Images that are in use, or were not pulled by a server with this state"
        " folder, stay.",
    )
    registry_mirror: str = Field(
        "",
        pattern=r"^((\[[0-9A-Fa-f:]+\]|[0-9A-Za-z.\-]+)(:[0-9]+)?(/[0-9a-z._\-]+)*)?$",
        description="A registry that is asked in place of Docker Hub, `host[:port][/folder]` without a scheme.",
    )


class PodmanSettings(Group):
    """Containers of Podman."""

    image_prefix: str = Field(
        "localhost/sandbox-gym/", description="What stands before an image's name in Podman's storage."
    )
    runtime: str = Field("", description="An OCI runtime by name or path, such as runc; empty for Podman's own choice.")


class E2bSettings(Group):
    """Sandboxes of an E2B account, or of a server that speaks E2B's API."""

    api_key: str = Field("", repr=False, description="Key of the account; E2B_API_KEY where it is empty.")
    domain: str = Field("", description="Where E2B's API is, with TLS; E2B_DOMAIN, then e2b.app, where it is empty.")
    api_url: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="A server of one port instead, such as http://pool:8090 of `sandbox-gym serve pool`.",
    )
    templates: dict[str, str] = Field(
        default_factory=dict,
        description="Template by image name. Where an image has none: `base` for `python` at E2B, `<image>:root`"
        " elsewhere.",
    )
    max_sandboxes: int = Field(20, ge=2, description="Sandboxes at once that the account may have; more wait.")
    creates_per_s: float = Field(1.0, gt=0, description="Sandboxes per second that the account may make; more wait.")
    timeout_s: int = Field(
        300,
        ge=20,
        description="Seconds that a sandbox outlives the last call of a server that died; it is extended while it is"
        " used.",
    )
    lifetime_s: float = Field(3600.0, ge=60, description="Seconds that the account lets a sandbox live at most.")
    isolation: Literal["vm", "container", "gvisor", "namespace", "none"] = Field(
        "vm", description="What verdicts say of sandboxes that do not say it themselves, as those of a pool do."
    )
