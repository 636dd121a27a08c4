"""GRPO by TRL over rows, and what is watched of it by step."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
from datasets import Dataset
from policy import model, tokenizer, warm_up
from tasks import TASKS
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback, TrainerControl
from trl import GRPOConfig, GRPOTrainer

from sandbox_gym.trainers.trl import rewards

PROMPTS: Final = 8
GROUP: Final = 16
"""Prompts of a step, and answers to each."""
UPDATES: Final = 3
"""Of the policy, from each step's answers."""
_ANSWERS: Final = {task.prompt: task.answer for task in TASKS}


@dataclass
class Policy:
    """A model and its words."""

    model: LlamaForCausalLM
    words: PreTrainedTokenizerFast

    @classmethod
    def warmed_up(cls, seed: int, constants: float) -> Policy:
        """One that knows programs, and nothing of the tasks; see `random_answer`."""
        torch.manual_seed(seed)
        torch.set_num_threads(1)  # more gain nothing with so small a model, and take the server's cores
        words = tokenizer()
        made = cls(model(words), words)
        warm_up(made.model, words, constants, random.Random(seed))
        return made


@dataclass
class Watched:
    """The reward function, and by step what it saw: shares of the answers."""

    reward: list[float] = field(default_factory=list)
    solved: list[float] = field(default_factory=list)
    """Answers that are the task's solution and no more, whatever their tests say."""
    ignores_input: list[float] = field(default_factory=list)
    paid_hacks: list[float] = field(default_factory=list)
    """Answers that ignore their input and pass."""
    no_verdict: list[float] = field(default_factory=list)
    verdicts: int = 0
    verifying_s: float = 0.0
    training_s: float = 0.0

    def asked(
        self, prompts: Sequence[str], completions: Sequence[str], log_metric: Callable[[str, float], None], **more: Any
    ) -> list[float]:
        """TRL's reward function."""
        began = time.monotonic()

        def log(name: str, value: float) -> None:
            self.no_verdict.append(value)
            log_metric(name, value)

        found = rewards(prompts, completions, log_metric=log, **more)
        self.verifying_s += time.monotonic() - began
        self.verdicts += len(found)
        self.reward.append(sum(found) / len(found))
        solved = [_ANSWERS[prompt] == answer for prompt, answer in zip(prompts, completions, strict=True)]
        self.solved.append(sum(solved) / len(solved))
        ignores = ["input" not in answer for answer in completions]
        self.ignores_input.append(sum(ignores) / len(ignores))
        self.paid_hacks.append(sum(value for value, hack in zip(found, ignores, strict=True) if hack) / len(found))
        return found


class _Learned(TrainerCallback):
    """Ends the training where the last five steps' mean reward is over `enough`."""

    def __init__(self, watched: Watched, enough: float) -> None:
        self._watched, self._enough = watched, enough

    def on_step_end(self, args: object, state: object, control: TrainerControl, **more: object) -> TrainerControl:
        last = self._watched.reward[-5:]
        control.should_training_stop |= len(last) == 5 and sum(last) / 5 > self._enough
        return control


def train(
    policy: Policy,
    rows: Sequence[Mapping[str, object]],
    steps: int,
    seed: int,
    out: Path,
    url: str,
    enough: float = 1.0,
    rate: float = 1e-3,
) -> Watched:
    """The policy is changed, in as many steps at most. `url`: the server that judges. `enough`: the reward that ends
    it. `rate`: of learning, at first."""
    os.environ["SANDBOX_GYM_URL"] = url
    watched = Watched()
    config = GRPOConfig(
        output_dir=str(out / "trainer"),
        seed=seed,
        use_cpu=True,
        bf16=False,
        max_steps=steps * UPDATES,
        per_device_train_batch_size=PROMPTS * GROUP,
        num_generations=GROUP,
        num_iterations=UPDATES,
        max_completion_length=12,
        learning_rate=rate,
        lr_scheduler_type="linear",  # with both, no batch undoes what was learned: at a constant rate and a norm of 1
        max_grad_norm=0.2,  # some policies forgot what a program is, and no reward led back
        temperature=1.0,
        beta=0.0,
        report_to="none",
        save_strategy="no",
        logging_steps=10,
        disable_tqdm=True,
    )
    trainer = GRPOTrainer(
        model=policy.model,
        processing_class=policy.words,
        reward_funcs=watched.asked,
        args=config,
        train_dataset=Dataset.from_list([dict(row) for row in rows]),
        callbacks=[_Learned(watched, enough)],
    )
    began = time.monotonic()
    trainer.train()
    watched.training_s = time.monotonic() - began
    return watched
