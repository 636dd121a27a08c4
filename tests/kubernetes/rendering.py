"""What `kubectl kustomize` makes of deploy/kubernetes, by the parts of kustomize that those files use.

tests/kubernetes/test_rendering.py compares it with kubectl itself, which Debian does not have in a version of today.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parents[2] / "deploy" / "kubernetes"
OVERLAYS: Final = ("e2b", "kuberay", "local", "single")
_MERGED: Final = {"containers": "name", "env": "name", "volumes": "name", "volumeMounts": "mountPath"}
"""Lists that are merged item by item, and what an item is known by; every other list replaces the one before."""
Object = dict[str, Any]


def rendered(overlay: str) -> list[Object]:
    """Every object of an overlay."""
    return _build(ROOT / "overlays" / overlay)


def examples() -> list[Object]:
    """The Secrets that are not applied."""
    return [one for path in sorted(ROOT.rglob("secret.example.yaml")) for one in _objects(path)]


def only(objects: Iterable[Object], kind: str, name: str = "") -> list[Object]:
    """Those of a kind, and of a name."""
    return [one for one in objects if one["kind"] == kind and name in ("", one["metadata"]["name"])]


def pods(objects: Iterable[Object]) -> Iterator[tuple[str, Object]]:
    """The template of each pod that an overlay makes, Ray's too, and whose it is."""
    for one in objects:
        if one["kind"] == "Deployment":
            yield one["metadata"]["name"], one["spec"]["template"]
        if one["kind"] == "RayCluster":
            yield "head", one["spec"]["headGroupSpec"]["template"]
            for group in one["spec"]["workerGroupSpecs"]:
                yield group["groupName"], group["template"]


def _build(folder: Path) -> list[Object]:
    file = yaml.safe_load((folder / "kustomization.yaml").read_text())
    known = {"apiVersion", "kind", "namespace", "resources", "patches"}
    assert set(file) <= known, f"{folder}: {set(file) - known} is not rendered here"
    objects: list[Object] = []
    for resource in file["resources"]:
        path = folder / resource
        objects += _build(path) if path.is_dir() else _objects(path)
    for patch in file.get("patches", ()):
        (change,) = _objects(folder / patch["path"])
        meant = [one for one in objects if _is_meant(one, change, patch.get("target"))]
        assert meant, f"{folder}: {patch} changes nothing"
        for one in meant:
            name = one["metadata"]["name"]
            _merge(one, change)
            one["metadata"]["name"] = name
    for one in objects:
        if "namespace" in file:
            one["metadata"]["namespace"] = file["namespace"]
    return objects


def _objects(path: Path) -> list[Object]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def _is_meant(one: Object, change: Object, target: dict[str, str] | None) -> bool:
    if target is None:
        return bool((one["kind"], one["metadata"]["name"]) == (change["kind"], change["metadata"]["name"]))
    label, _, value = target.get("labelSelector", "!=").partition("!=")
    return bool(one["kind"] == target["kind"] and (not label or one["metadata"]["labels"].get(label) != value))


def _merge(into: Object, change: Object) -> None:
    """A strategic merge, in place."""
    for key, value in change.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and value.get("$patch") == "replace":
            into[key] = {name: each for name, each in value.items() if name != "$patch"}
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        elif key in _MERGED and key in into:
            into[key] = _merged(into[key], value, _MERGED[key])
        else:
            into[key] = value


def _merged(before: list[Object], changes: list[Object], known_by: str) -> list[Object]:
    """Items that the patch names stand first, as kustomize has it."""
    old = {item[known_by]: item for item in before}
    first = []
    for change in changes:
        item = old.pop(change[known_by], None)
        if item is not None:
            _merge(item, change)
        first.append(change if item is None else item)
    return [*first, *old.values()]
