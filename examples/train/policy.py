"""A policy made on the spot: a tokenizer of some thirty words, a transformer of random weights, a short warm-up."""

from __future__ import annotations

import random

import torch
from tasks import PIECES, TASKS, random_answer
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WARM_UP_STEPS = 150
BATCH = 32


def tokenizer() -> PreTrainedTokenizerFast:
    """One token for each piece; nothing is downloaded."""
    words = ["<pad>", "<eos>", *PIECES]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<pad>"))
    pieces = sorted(PIECES, key=len, reverse=True)
    special = "()+*."
    escaped = ("".join(f"\\{sign}" if sign in special else sign for sign in piece) for piece in pieces)
    made.pre_tokenizer = pre_tokenizers.Split(Regex("|".join(escaped)), "isolated")
    made.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", padding_side="left",
        clean_up_tokenization_spaces=False,
    )  # fmt: skip


def model(words: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    """About 340,000 parameters."""
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        max_position_embeddings=64,
        pad_token_id=words.pad_token_id,
        bos_token_id=words.eos_token_id,
        eos_token_id=words.eos_token_id,
    )
    return LlamaForCausalLM(config)


def warm_up(policy: LlamaForCausalLM, words: PreTrainedTokenizerFast, constants: float, chance: random.Random) -> float:
    """Teach it to answer any prompt by some program. Which one a prompt asks for it can't learn here. The last loss."""
    optimizer = torch.optim.AdamW(policy.parameters(), lr=3e-3)
    loss = torch.tensor(0.0)
    policy.train()
    for _ in range(WARM_UP_STEPS):
        prompts = (task.prompt for task in chance.choices(TASKS, k=BATCH))
        texts = [prompt + random_answer(constants, chance) + words.eos_token for prompt in prompts]
        batch = words(texts, return_tensors="pt", padding=True, return_token_type_ids=False)
        labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        loss = policy(**batch, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss)
