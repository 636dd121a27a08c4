"""Names of images as rows have them, and where a mirror has the same."""

from __future__ import annotations

import httpx2 as httpx
import pytest

from sandbox_gym.client.errors import NoSandbox
from sandbox_gym.client.session import _checked
from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.images.name import is_foreign, parse_name

DIGEST = "sha256:" + "0" * 64
NAMES = {
    "debian": ("docker.io/library/debian:latest", "m:5000/hub/library/debian:latest"),
    "swebench/sweb.eval.x86_64.a_1776_b:v2": ("docker.io/swebench/sweb.eval.x86_64.a_1776_b:v2",) * 2,
    "docker.io/a/b:2": ("docker.io/a/b:2", "m:5000/hub/a/b:2"),
    f"a/b@{DIGEST}": (f"docker.io/a/b@{DIGEST}", f"m:5000/hub/a/b@{DIGEST}"),
    f"a/b:tag@{DIGEST}": (f"docker.io/a/b@{DIGEST}", f"m:5000/hub/a/b@{DIGEST}"),
    "ghcr.io/a/b": ("ghcr.io/a/b:latest",) * 2,
    "localhost/a": ("localhost/a:latest",) * 2,
    "127.0.0.1:5000/a/b:1": ("127.0.0.1:5000/a/b:1",) * 2,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_read_as_the_engine_reads_it(name: str) -> None:
    full, mirrored = NAMES[name]
    parsed = parse_name(name)
    assert parsed.full == full
    wanted = mirrored.replace("docker.io", "m:5000/hub") if full == mirrored else mirrored
    assert parsed.from_mirror("m:5000/hub").full == wanted
    assert parsed.from_mirror("") == parsed
    assert parse_name(full) == parsed


def test_our_own_images_are_no_data_sets() -> None:
    assert [is_foreign(name) for name in ("swe", "python", "a/b", "debian:12", f"a@{DIGEST}")] == [False] * 2 + [
        True
    ] * 3


@pytest.mark.parametrize("wrong", ["http://m:5000", "http://m", "a b", "m:5000/hub?x", "m:5000/Hub "])
def test_a_mirror_is_a_host_and_a_folder(wrong: str) -> None:
    assert Settings.from_flat({"docker_registry_mirror": "m.internal:5000/hub"}).docker.registry_mirror
    with pytest.raises(ConfigurationError, match="docker_registry_mirror"):
        Settings.from_flat({"docker_registry_mirror": wrong})


def test_agents_over_http_are_told_of_a_seed_that_failed_with_200() -> None:
    told = httpx.Response(200, headers={"X-Sandbox-Gym-No-Verdict": "swe:provider_down"}, json={})
    with pytest.raises(NoSandbox, match="swe:provider_down"):
        _checked("seed_session", told)
    assert _checked("seed_session", httpx.Response(200, json={})) == {}
