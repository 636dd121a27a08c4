"""The provider through nemo_gym's own facade, against a real server: found by its name, shared between processes."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_gym.clients.nemo_gym_sandbox import SandboxCallError, SandboxGymProvider, SandboxLost
from tests.gym.serving import serving

pytestmark = [pytest.mark.timeout(300), pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]
api = importlib.import_module("nemo_gym.sandbox.api")
base = importlib.import_module("nemo_gym.sandbox.providers.base")
ELSEWHERE = """
import anyio, json, sys
from sandbox_gym.clients.nemo_gym_sandbox import SandboxGymProvider
async def main():
    provider = SandboxGymProvider(sys.argv[1])
    handle = await provider.connect(json.loads(sys.argv[2]))
    done = await provider.exec(handle, "cat kept; echo $WHO")
    print(done.stdout, end="")
    await provider.aclose()
anyio.run(main)
"""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("boxes"), "coding") as port:
        yield f"http://127.0.0.1:{port}"


async def test_the_facade_finds_and_uses_it(url: str, tmp_path: Path) -> None:
    spec = base.SandboxSpec(workdir="/workspace/repo", env={"WHO": "me"}, files={"/workspace/repo/a/b.txt": "héllo"})
    async with api.AsyncSandbox({"sandbox_gym": {"base_url": url}}) as box:
        await box.start(spec)
        done = await box.exec("pwd; cat a/b.txt; echo $WHO; echo wrong >&2; exit 3")
        assert (done.stdout, done.stderr, done.return_code) == ("/workspace/repo\nhéllome\n", "wrong\n", 3)
        assert done.error_type is None
        assert (await box.exec("echo $X; X=1; cd /", env={"X": 'it\'s "$HOME"'})).stdout == 'it\'s "$HOME"\n'
        assert (await box.exec("pwd; echo $X", cwd="/tmp")).stdout == "/tmp\n\n"
        assert (await box.exec("cd", cwd="/none")).return_code == 1
        assert await box.status() == base.SandboxStatus.RUNNING
        await box.exec("printf 1234 > a/made")
        await box.download("a/made", tmp_path / "deep" / "made")
        assert (tmp_path / "deep" / "made").read_bytes() == b"1234"
        with pytest.raises(SandboxCallError, match="No such file"):
            await box.download("none", tmp_path / "none")
        with pytest.raises(ValueError, match="own user"):
            await box.exec("true", user="root")
    assert await box.status() == base.SandboxStatus.STOPPED


async def test_large_files_and_outputs(url: str, tmp_path: Path) -> None:
    content = bytes(range(256)) * (18 << 12)  # more than two chunks
    (tmp_path / "large").write_bytes(content)
    async with api.AsyncSandbox({"sandbox_gym": {"base_url": url}}, base.SandboxSpec()) as box:
        await box.start()
        await box.upload(tmp_path / "large", "large")
        assert (await box.exec("ls; stat -c %s large")).stdout == f"large\n{len(content)}\n"
        await box.download("/workspace/large", tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == content
        long = await box.exec("head -c 3000000 /dev/zero | tr '\\0' a")
        assert (long.stdout, long.error_type) == ("a" * 3_000_000, None)
        flood = await box.exec("head -c 9000000 /dev/zero | tr '\\0' a")
        assert (len(flood.stdout), flood.error_type) == (8 << 20, "output_truncated")


async def test_a_command_that_takes_too_long(url: str) -> None:
    async with api.AsyncSandbox({"sandbox_gym": {"base_url": url}}, base.SandboxSpec()) as box:
        await box.start()
        slow = await box.exec("echo before; sleep 60", timeout_s=1)
        assert (slow.stdout, slow.return_code, slow.error_type) == ("before\n", 125, "timeout")
        assert (await box.exec("echo after; pgrep -c sleep")).stdout == "after\n0\n"


async def test_another_process_goes_on_with_it_until_it_is_closed(url: str) -> None:
    provider = SandboxGymProvider(url)
    handle = await provider.create(base.SandboxSpec(env={"WHO": "me"}))
    other = await provider.create(base.SandboxSpec())
    assert handle.sandbox_id != other.sandbox_id
    await provider.exec(handle, "echo mine > kept")
    assert (await provider.exec(other, "ls")).stdout == ""
    told = json.dumps(await provider.serialize_handle(handle))
    done = subprocess.run([sys.executable, "-c", ELSEWHERE, url, told], capture_output=True, text=True, timeout=60)
    assert done.stdout == "mine\nme\n", done.stderr
    for _ in range(2):
        await provider.close(handle)
    assert await provider.status(handle) == base.SandboxStatus.STOPPED
    with pytest.raises(SandboxLost):
        await provider.connect(json.loads(told))
    with pytest.raises(SandboxCallError, match="409"):
        await provider.exec(handle, "true")
    await provider.close(other)
    await provider.aclose()


async def test_what_no_sandbox_here_has(url: str) -> None:
    provider = SandboxGymProvider(url, image="python")
    for spec in ({"image": "ubuntu"}, {"entrypoint": ["sh"]}, {"resources": {"gpu": 1}}):
        with pytest.raises(base.SandboxCreateError):
            await provider.create(base.SandboxSpec(**spec))
    await provider.close(await provider.create(base.SandboxSpec(image="python")))
    nowhere = SandboxGymProvider("http://127.0.0.1:1")
    with pytest.raises(base.SandboxCreateError):
        await nowhere.create(base.SandboxSpec())
    await nowhere.aclose()
    await provider.aclose()
