"""Images for tests: a layer of chosen bytes that nothing else has, pushed to a registry and gone from the Engine."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import docker
import docker.errors


class Published:
    """Makes images of this test run, and removes from the Engine what they left there."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._run = uuid.uuid4().hex[:10]
        self._names: list[str] = []

    def name(self, registry: str, image: str, tag: str = "1") -> str:
        """A name that no other run has; `registry` may be empty, for Docker Hub."""
        name = f"{registry}/t{self._run}/{image}:{tag}".lstrip("/")
        self._names.append(name)
        return name

    def make(self, name: str, size: int = 300_000) -> None:
        """An image of one layer of its own under that name."""
        self.client.api.import_image_from_data(_layer(size), *_parted(name))

    def on_top(self, name: str, below: str, files: dict[str, str] | None = None, run: str = "") -> None:
        """An image with more layers than another one: a file of its own, `files`, and what `run` makes."""
        made = f"RUN {run}\n" if run else ""
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as packed:
            _add(packed, "Dockerfile", f"FROM {below}\nCOPY own /own\nCOPY files/ /\n{made}".encode())
            _add(packed, "own", os.urandom(200_000))
            for path, text in {"files/.made": "", **{f"files/{k}": v for k, v in (files or {}).items()}}.items():
                _add(packed, path, text.encode())
        context.seek(0)
        self.client.images.build(fileobj=context, custom_context=True, tag=name, network_mode="host")

    def push(self, name: str, to: str = "", auth: dict[str, str] | None = None) -> None:
        """Bring an image to a registry, under the name `to` where that is given, and forget it here."""
        if to and to != name:
            self.client.api.tag(name, *_parted(to))
            self.client.images.remove(name)
        said = self.client.api.push(*_parted(to or name), stream=True, decode=True, auth_config=auth)
        wrong = [line["error"] for line in said if "error" in line]
        assert not wrong, wrong
        self.client.images.remove(to or name)

    def has(self, name: str) -> bool:
        try:
            self.client.images.get(name)
        except docker.errors.ImageNotFound:
            return False
        return True

    def await_pull(self, name: str) -> None:
        """For what a server goes on pulling when its caller is gone: only what has come can be forgotten."""
        while not self.has(name):  # pytest's own timeout ends it
            time.sleep(0.1)

    def forget(self) -> None:
        for name in self._names:
            with contextlib.suppress(docker.errors.APIError):
                self.client.images.remove(name, force=True)


@contextmanager
def publishing() -> Iterator[Published]:
    with contextlib.closing(docker.from_env()) as client:
        published = Published(client)
        try:
            yield published
        finally:
            published.forget()


def _layer(size: int) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        _add(tar, "own", os.urandom(size))
    return packed.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


def _parted(name: str) -> tuple[str, str]:
    repository, _, tag = name.rpartition(":")
    return repository, tag
