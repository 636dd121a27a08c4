"""The manifests against Kubernetes' published schemas, and our rendering of them against kubectl's."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.kubernetes.rendering import OVERLAYS, ROOT, Object, examples, only, pods, rendered

VERSIONS = ("1.31", "1.34", "1.37")


def checkable(overlay: str) -> list[Object]:
    """What there are schemas of; KubeRay's are not published as a package, so of its objects the pods."""
    objects = rendered(overlay)
    ray = [template for one in only(objects, "RayCluster") for template in pods([one])]
    made = [{**template, "apiVersion": "v1", "kind": "Pod"} for _, template in ray]
    return [*(one for one in objects if one["kind"] != "RayCluster"), *made]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_object_keeps_the_schema(version: str, tmp_path: Path) -> None:
    files = []
    for overlay in OVERLAYS:
        files.append(tmp_path / f"{overlay}.yaml")
        files[-1].write_text(yaml.safe_dump_all(_named(checkable(overlay) + examples())))
    command = [sys.executable, "-m", "kubernetes_validate", "--kubernetes-version", version, "--strict"]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, timeout=120, check=False)
    said = (done.stdout + done.stderr).splitlines()
    assert done.returncode == 0, [line for line in said if not line.startswith("INFO")]
    assert len(said) == sum(len(checkable(overlay) + examples()) for overlay in OVERLAYS)
    assert all(line.endswith(f"against version {version}") for line in said)


def _named(objects: list[Object]) -> list[Object]:
    """Pods of a template have no name; the validator's report wants one."""
    return [{**one, "metadata": {"name": "of-a-template", **one.get("metadata", {})}} for one in objects]


def test_a_misspelt_field_is_found(tmp_path: Path) -> None:
    wrong = only(rendered("e2b"), "Deployment", "coding")[0]
    wrong["spec"]["template"]["spec"]["terminationGracePeriod"] = 30
    (tmp_path / "wrong.yaml").write_text(yaml.safe_dump(wrong))
    command = [sys.executable, "-m", "kubernetes_validate", "--kubernetes-version", VERSIONS[0], "--strict"]
    done = subprocess.run([*command, str(tmp_path / "wrong.yaml")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "terminationGracePeriod" in done.stdout + done.stderr


@pytest.mark.extended
@pytest.mark.parametrize("overlay", OVERLAYS)
def test_kubectl_makes_the_same(overlay: str) -> None:
    kubectl = shutil.which("kubectl")
    assert kubectl is not None, "no kubectl: install 1.27 or later, from https://kubernetes.io/docs/tasks/tools"
    done = subprocess.run([kubectl, "kustomize", f"{ROOT}/overlays/{overlay}"], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""
    assert _by_name(yaml.safe_load_all(done.stdout)) == _by_name(rendered(overlay))


def _by_name(objects: object) -> dict[tuple[str, str], Object]:
    assert hasattr(objects, "__iter__")
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}
