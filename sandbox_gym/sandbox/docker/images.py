"""A Docker Engine's images: looked at, pulled, removed. All calls block; each pull has a connection of its own."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.images.contract import ImageUses, LocalImage, PullFailed, PullProblem, PullProgress
from sandbox_gym.sandbox.images.name import HUB, ImageName

CONNECT_S: Final = 10.0
_DISK: Final = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_RATE: Final = re.compile(r"toomanyrequests|too many requests|rate limit", re.IGNORECASE)
_REFUSED: Final = re.compile(
    r"manifest unknown|manifest for \S+ not found|repository \S+ not found|name unknown|name invalid"
    r"|repository does not exist|pull access denied|access to the resource is denied|\bdenied: |unauthorized"
    r"|no basic auth credentials|authentication required|HTTP 40[134] |HTTP status: 40[134]"
    r"|invalid reference format|invalid repository name|no matching manifest|does not match the specified platform"
    r"|unsupported manifest|unsupported media type|^\S+: not found$|failed to resolve reference \S+: \S+: not found",
    re.IGNORECASE,
)
_LAYER_DONE: Final = frozenset({"Pull complete", "Already exists"})


class DockerImages:
    """See `images.contract.ImageEngine`."""

    def __init__(self, engine: Engine, snapshots: str) -> None:
        """`snapshots`: what the images of snapshots are called, with the snapshot's id as tag."""
        self._engine, self._snapshots = engine, snapshots

    def inspect(self, reference: str) -> LocalImage | None:
        api = self._engine.connect().api
        try:
            found = api.inspect_image(reference)
            history = api.history(str(found["Id"]))
        except self._engine.not_found:
            return None
        layers = _layers((found.get("RootFS") or {}).get("Layers") or (), history)
        return LocalImage(str(found["Id"]), tuple(found.get("RepoTags") or ()), int(found["Size"]), layers)

    def pull(self, name: ImageName, progress: PullProgress, stall_s: float, go_on: Callable[[], bool]) -> None:
        try:
            with contextlib.closing(self._engine.patient(stall_s)) as client:
                for event in self._events(client.api, name, stall_s):
                    _note(event, progress)
                    if not go_on():
                        raise PullFailed(PullProblem.NETWORK, "it was given up")
        except self._engine.errors as error:
            raise PullFailed(_problem(str(error)), _shown(error, stall_s)) from error

    def _events(self, api: Any, name: ImageName, stall_s: float) -> Iterator[Mapping[str, Any]]:
        """The Engine's words about a pull. As `APIClient.pull`, which would wait for the next one for ever."""
        headers = {}
        credentials = self._engine.sdk.auth.get_config_header(api, name.registry)
        if credentials:
            headers["X-Registry-Auth"] = credentials
        path = name.path if name.registry != HUB else name.repository
        response = api.post(
            f"{api.base_url}/v{api.api_version}/images/create",
            params={"fromImage": path, "tag": name.version},
            headers=headers,
            stream=True,
            timeout=(CONNECT_S, stall_s),
        )
        with contextlib.closing(response):
            if response.status_code != 200:
                raise self._engine.api_error(_message(response.content))
            for line in response.iter_lines():
                if line.strip():
                    yield json.loads(line)

    def rename(self, old: str, new: str) -> None:
        api = self._engine.connect().api
        repository, tag = self._engine.sdk.utils.parse_repository_tag(new)
        api.tag(old, repository, tag or "latest")
        api.remove_image(old, force=False, noprune=True)

    def uses(self, image_id: str) -> ImageUses:
        api = self._engine.connect().api
        above = [each for each in api.images(all=True) if each.get("ParentId") == image_id]
        snapshots = tuple(self._snapshot_id(each.get("RepoTags") or ()) for each in above)
        return ImageUses(len(api.containers(all=True, filters={"ancestor": image_id})), snapshots)

    def _snapshot_id(self, names: tuple[str, ...]) -> str:
        tags = [name.removeprefix(f"{self._snapshots}:") for name in names if name.startswith(f"{self._snapshots}:")]
        return tags[0] if tags else ""

    def remove(self, reference: str) -> bool:
        api = self._engine.connect().api
        try:
            api.remove_image(reference, force=False)
        except self._engine.not_found:
            return True
        except self._engine.api_error as error:
            if getattr(error, "status_code", None) == 409:  # a container was made of it meanwhile
                return False
            raise
        return True


def _note(event: Mapping[str, Any], progress: PullProgress) -> None:
    """Raises PullFailed for an event that says so."""
    if "error" in event or "errorDetail" in event:
        detail = event.get("errorDetail") or {}
        message = str(detail.get("message") or event.get("error"))
        raise PullFailed(_problem(message), message)
    layer, status = str(event.get("id") or ""), str(event.get("status") or "")
    if layer and "progressDetail" in event:  # others are of the tag, or warnings
        sizes = event.get("progressDetail") or {}
        fetched = status == "Downloading" and isinstance(sizes.get("total"), int)
        known = progress.layers.setdefault(layer, (0, 0))
        if fetched:
            progress.layers[layer] = (int(sizes.get("current") or 0), int(sizes["total"]))
        elif status in ("Download complete", *_LAYER_DONE):
            progress.layers[layer] = (known[1], known[1])
        if status in _LAYER_DONE:
            progress.done.add(layer)


def _problem(message: str) -> PullProblem:
    for pattern, problem in ((_DISK, PullProblem.DISK), (_RATE, PullProblem.RATE), (_REFUSED, PullProblem.REFUSED)):
        if pattern.search(message):
            return problem
    return PullProblem.NETWORK


def _shown(error: BaseException, stall_s: float) -> str:
    text = str(error)
    return f"no byte came for {stall_s:.0f} s" if "timed out" in text.lower() and "read" in text.lower() else text


def _message(body: bytes) -> str:
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        return body[:500].decode("utf-8", "replace") or "no reason given"


def _layers(layers: Any, history: Any) -> tuple[tuple[str, int], ...]:
    """(key, bytes) of each layer that takes any. The Engine gives sizes by the steps that made an image, not by
    layers: equal steps from the first on, over layers that are equal too, are the same layers."""
    steps, digests = hashlib.sha256(), list(layers)
    found: list[tuple[str, int]] = []
    for step in reversed(history):
        steps.update(repr((step.get("Created"), step.get("CreatedBy"), step.get("Size"))).encode())
        if step.get("Size"):
            below = digests[: len(found) + 1]
            key = hashlib.sha256(steps.digest() + "\n".join(below).encode()).hexdigest()[:32]
            found.append((key, int(step["Size"])))
    return tuple(found)
