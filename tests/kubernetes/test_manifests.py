"""What the manifests say to Kubernetes agrees with itself and with the servers: names, ports, probes, times, rights."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.settings.group import paths
from tests.kubernetes.rendering import OVERLAYS, ROOT, Object, examples, only, pods, rendered

JOURNAL_S = 30
"""What a stop waits for the journal's backlog at most."""
SETTINGS = {f"SANDBOX_GYM_{name.upper()}" for name in paths(Settings)}
LAST_WORDS = {"SANDBOX_GYM_SHUTDOWN_GRACE_S": "2"}
"""What a pool gives its requests, whose streams have no end."""


def environment(objects: list[Object], container: Object) -> dict[str, str]:
    """A container's variables, Secrets from their examples."""
    given: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            given |= only(objects, "ConfigMap", source["configMapRef"]["name"])[0]["data"]
        else:
            given |= _secret(source["secretRef"]["name"])
    for one in container.get("env", ()):
        source = one.get("valueFrom", {}).get("secretKeyRef")
        given[one["name"]] = one["value"] if source is None else _secret(source["name"])[source["key"]]
    return given


def _secret(name: str) -> dict[str, str]:
    (found,) = only(examples(), "Secret", name)
    data: dict[str, str] = found["stringData"]
    return data


def servers(overlay: str) -> Iterator[tuple[str, Object, dict[str, str]]]:
    """Each server, its pod and its variables."""
    objects = rendered(overlay)
    for name, template in pods(only(objects, "Deployment")):
        yield name, template["spec"], environment(objects, template["spec"]["containers"][0])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_variable_is_a_setting_and_every_value_is_one(overlay: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, _, given in servers(overlay):
        own = {key: value for key, value in given.items() if key.startswith("SANDBOX_GYM_")}
        assert set(own) <= SETTINGS
        with monkeypatch.context() as patched:
            for key, value in own.items():
                patched.setenv(key, value)
            settings = Settings.from_flat({})
        assert (settings.host, settings.port) == ("0.0.0.0", 8090 if name == "pool" else 8080)
        assert settings.token


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_pod_is_given_the_time_that_its_server_takes_to_stop(overlay: str) -> None:
    for _, pod, given in servers(overlay):
        drain_s = float(given.get("SANDBOX_GYM_DRAIN_S", 0))
        grace_s = float({**LAST_WORDS, **given}["SANDBOX_GYM_SHUTDOWN_GRACE_S"])
        assert drain_s + grace_s + JOURNAL_S < pod["terminationGracePeriodSeconds"]
        ready = pod["containers"][0]["readinessProbe"]
        if given.get("SANDBOX_GYM_DRAIN_S"):
            assert ready["periodSeconds"] * ready["failureThreshold"] < drain_s


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_names_and_ports_meet(overlay: str) -> None:
    objects = rendered(overlay)
    assert {one["metadata"]["namespace"] for one in objects} == {"sandbox-gym"}
    labels = {name: template["metadata"]["labels"] for name, template in pods(objects)}
    ports = {port["name"] for _, template in pods(objects) for port in template["spec"]["containers"][0]["ports"]}
    for kind, field in {
        "Service": "selector",
        "PodDisruptionBudget": "selector",
        "NetworkPolicy": "podSelector",
    }.items():
        for one in only(objects, kind):
            selector = one["spec"][field]
            chosen = selector.get("matchLabels", selector).items()
            assert any(chosen <= each.items() for each in labels.values()), one["metadata"]
    for service in only(objects, "Service"):
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    for name in ("coding", "math", "swe"):
        assert all(only(objects, kind, name) for kind in ("Deployment", "Service", "PodDisruptionBudget"))
    assert all(each["app.kubernetes.io/part-of"] == "sandbox-gym" for each in labels.values()), "without a policy"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_volumes_probes_and_limits_are_whole(overlay: str) -> None:
    for _, template in pods(rendered(overlay)):
        pod, container = template["spec"], template["spec"]["containers"][0]
        assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
        named = {port["name"] for port in container["ports"]}
        for probe in ("livenessProbe", "readinessProbe"):
            asked = container[probe].get("httpGet") or container[probe]["tcpSocket"]
            assert asked["port"] in named
        resources = container["resources"]
        assert {"cpu", "memory"} <= set(resources["requests"])
        assert "memory" in resources["limits"]
        assert pod["automountServiceAccountToken"] is pod["enableServiceLinks"] is False


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_only_pods_with_jails_are_more_than_restricted(overlay: str) -> None:
    """Pod Security's level `restricted`, by its fields; where jails are, all that they need and no more."""
    jails = {"e2b": {"pool"}, "kuberay": {"sandboxes"}}.get(overlay, {"coding", "math", "swe"})
    for name, template in pods(rendered(overlay)):
        pod, container = template["spec"], template["spec"]["containers"][0]
        own, rights = pod["securityContext"], container["securityContext"]
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["capabilities"]["drop"] == ["ALL"]
        assert not [volume for volume in pod["volumes"] if "hostPath" in volume]
        if name in jails:
            assert own["seccompProfile"] == {"type": "Localhost", "localhostProfile": "sandbox-gym/local.json"}
            assert (pod["hostUsers"], rights["procMount"]) == (False, "Unmasked")
            assert "SYS_ADMIN" not in rights["capabilities"]["add"]
        else:
            assert own["runAsNonRoot"] is True
            assert own["seccompProfile"] == {"type": "RuntimeDefault"}
            assert not {"add", "procMount"} & {*rights, *rights["capabilities"]}


def test_the_servers_differ_in_their_name_and_their_grace_only() -> None:
    texts = {name: (ROOT / "base" / f"{name}.yaml").read_text() for name in ("coding", "math", "swe")}
    assert texts["coding"].replace("coding", "math") == texts["math"]
    swe = texts["coding"].replace("coding", "swe").replace('value: "60"', 'value: "600"')
    assert swe.replace("Seconds: 120", "Seconds: 660") == texts["swe"]


RAY = {
    "RayCluster": {"rayVersion", "authOptions", "headGroupSpec", "workerGroupSpecs"},
    "headGroupSpec": {"rayStartParams", "template"},
    "workerGroupSpecs": {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"},
}
"""Fields of KubeRay's reference that are in use: its schemas are in no package."""


def test_the_ray_cluster_has_fields_of_kuberays_reference_only() -> None:
    (cluster,) = only(rendered("kuberay"), "RayCluster")
    spec = cluster["spec"]
    assert cluster["apiVersion"] == "ray.io/v1"
    assert set(spec) == RAY["RayCluster"]
    assert set(spec["headGroupSpec"]) == RAY["headGroupSpec"]
    assert [set(group) for group in spec["workerGroupSpecs"]] == [RAY["workerGroupSpecs"]]
    started = [spec["headGroupSpec"], *spec["workerGroupSpecs"]]
    for group in started:
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    version = re.search(r"RAY_VERSION=(\S+)", (ROOT / "ray" / "Dockerfile").read_text())
    assert version is not None
    assert version[1] == spec["rayVersion"]
    heads = {given["SANDBOX_GYM_CLUSTER_ADDRESS"] for _, _, given in servers("kuberay")}
    assert heads == {f"{cluster['metadata']['name']}-head-svc:6379"}
