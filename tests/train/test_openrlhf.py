"""OpenRLHF's own rollout executor and reward filter of its wheel, with our files as `--reward.remote_url`."""

from __future__ import annotations

import asyncio
import json
import math
import sys
from collections.abc import Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import sandbox_gym.trainers
from tests.trainers.rows import LOST, METADATA, RIGHT, WRONG

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("server")]
FOLDER = Path(sandbox_gym.trainers.__file__).parent
PROMPT = "<|user|>Double.<|assistant|>"


GPUS = frozenset({"deepspeed", "flash_attn", "ring_flash_attn", "vllm"})
"""Packages that only a GPU's installation has, and what is tested does not call."""


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "meta_path", [_Absent(), *sys.meta_path])
    monkeypatch.setitem(sys.modules, "openrlhf.trainer.ray.vllm_engine", _Anything("openrlhf.trainer.ray.vllm_engine"))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] in (*GPUS, "openrlhf")]:
        del sys.modules[name]


class _Absent(MetaPathFinder, Loader):
    """Finds those packages, with any module below them."""

    def find_spec(self, name: str, path: object, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name.partition(".")[0] in GPUS else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Anything(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


class _Anything(ModuleType):
    __path__: list[str] = []

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return SimpleNamespace


class Words:
    """A tokenizer whose tokens are characters, and an engine that gives one answer."""

    def __init__(self, answer: str = "") -> None:
        self.answer = answer

    def __call__(self, text: str, **_: object) -> Any:
        import torch

        return {"input_ids": torch.tensor([[ord(sign) for sign in text]])}

    def decode(self, ids: list[int], **_: object) -> str:
        return "".join(map(chr, ids))

    async def generate(self, *_: object, **__: object) -> Any:
        ids = [ord(sign) for sign in self.answer + "<|im_end|>"]
        return SimpleNamespace(outputs=[SimpleNamespace(token_ids=ids, finish_reason="stop", logprobs=None)])


def executed(file: str, answer: str, metadata: object) -> Any:
    """What OpenRLHF's executor makes of one rollout."""
    from openrlhf.utils.agent import SingleTurnAgentExecutor

    executor = SingleTurnAgentExecutor(str(FOLDER / file))
    limits = SimpleNamespace(max_tokens=4096, logprobs=None)
    label = json.dumps(metadata)
    return asyncio.run(executor.execute(PROMPT, label, limits, 100_000, Words(), Words(answer)))


@pytest.mark.parametrize("file", ["openrlhf.py", "openrlhf_filtered.py"])
def test_rewards(file: str) -> None:
    for answer, reward in ((RIGHT, 1.0), (WRONG, 0.0), ("print(2 * int(input()))", 1.0)):
        found = executed(file, answer, METADATA)
        assert (found["reward"], found["scores"], found["extra_logs"]) == (reward, reward, {"no_verdict": 0.0})


def experiences(responses: list[Any]) -> list[Any]:
    """As OpenRLHF makes them of what its engines answer."""
    from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator

    generator: Any = SamplesGenerator.__new__(SamplesGenerator)
    return [generator._process_response_into_experience(response) for response in responses]


def test_a_lost_verdict_is_no_reward_and_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from openrlhf.trainer.ppo_utils import experience_maker

    lost, kept = executed("openrlhf.py", RIGHT, LOST), executed("openrlhf.py", RIGHT, METADATA)
    assert (lost["reward"], lost["scores"]) == (None, None)
    maker: Any = experience_maker.RemoteExperienceMaker.__new__(experience_maker.RemoteExperienceMaker)
    maker.strategy = SimpleNamespace(args=SimpleNamespace(ds=SimpleNamespace(ring_attn_size=1, tensor_parallel_size=1)))
    maker.reward_model_group = None
    monkeypatch.setattr(experience_maker, "ray", SimpleNamespace(put=lambda value: value))
    with pytest.raises(ValueError, match="reward_model_group is required"):
        maker.make_experience(experiences([lost, kept]))
    first, second = experiences([kept, lost])
    with pytest.raises(AttributeError):  # in one micro batch
        type(first).concat_experiences([first, second], 0)


def test_the_filter_drops_a_group_with_a_lost_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    from openrlhf.trainer.ppo_utils import samples_generator

    groups = {
        "lost": [executed("openrlhf_filtered.py", RIGHT, metadata) for metadata in (METADATA, LOST)],
        "kept": [executed("openrlhf_filtered.py", answer, METADATA) for answer in (RIGHT, WRONG)],
        "next": [executed("openrlhf_filtered.py", answer, METADATA) for answer in (WRONG, RIGHT)],
    }
    assert math.isnan(groups["lost"][1]["reward"])
    ray = SimpleNamespace(wait=lambda refs, **_: (refs[:1], refs[1:]), get=lambda ref: ref)
    monkeypatch.setattr(samples_generator, "ray", ray)
    generator: Any = samples_generator.SamplesGenerator.__new__(samples_generator.SamplesGenerator)
    generator.args = SimpleNamespace(algo=SimpleNamespace(dynamic_filtering_range=(0, 1)))
    generator._dispatch_prompts_to_vllm = lambda prompts, labels, **_: [groups[prompt] for prompt in prompts]
    prompts = iter([(None, [name], [""], [None]) for name in groups])
    found, consumed, _ = generator._generate_vllm(prompts, 2, dynamic_filtering=True)
    assert [one.rewards.item() for one in found] == [1.0, 0.0, 0.0, 1.0]
    assert consumed == 3
