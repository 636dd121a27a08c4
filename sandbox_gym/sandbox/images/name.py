"""Names of images: which registry, which repository there, which tag or digest; and where a mirror has the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

HUB: Final = "docker.io"
HUB_API: Final = "registry-1.docker.io"
"""The host that answers Docker Hub's registry API."""


@dataclass(frozen=True, slots=True)
class ImageName:
    """`repository` as its registry has it, `library/debian` for Hub's `debian`; `digest` beats `tag`."""

    registry: str
    repository: str
    tag: str = ""
    digest: str = ""

    @property
    def version(self) -> str:
        """The tag, or the digest where there is one."""
        return self.digest or self.tag

    @property
    def path(self) -> str:
        """Registry and repository, as the Engine pulls them."""
        return f"{self.registry}/{self.repository}"

    @property
    def full(self) -> str:
        """With everything that is implied in a short name."""
        return f"{self.path}@{self.digest}" if self.digest else f"{self.path}:{self.tag}"

    def from_mirror(self, mirror: str) -> ImageName:
        """What to pull in its place: names of Docker Hub from `mirror`, `host[:port][/folder]`, others as they are."""
        if not mirror or self.registry != HUB:
            return self
        host, _, folder = mirror.strip("/").partition("/")
        repository = f"{folder}/{self.repository}" if folder else self.repository
        return ImageName(host, repository, self.tag, self.digest)


def parse_name(text: str) -> ImageName:
    """A name as rows and Dockerfiles have it; of nothing but a name the tag is `latest`."""
    rest, _, digest = text.partition("@")
    first, slash, below = rest.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        registry, path = first, below
    else:
        registry, path = HUB, rest
    if registry in ("index.docker.io", "registry.hub.docker.com", HUB_API):
        registry = HUB
    folder, slash, last = path.rpartition("/")
    name, _, tag = last.partition(":")
    repository = f"{folder}{slash}{name}"
    if registry == HUB and "/" not in repository:
        repository = f"library/{repository}"
    return ImageName(registry, repository, "" if digest else tag or "latest", digest)


def is_foreign(image: str) -> bool:
    """Whether a builder's image is a dataset's; a name without a registry, folder or tag is one of our own."""
    return "/" in image or ":" in image or "@" in image
