"""A finished verify as the radar takes it. Owns which of an entry's fields count as what."""

from __future__ import annotations

from sandbox_gym.journal import Entry
from sandbox_gym.observe.radar import Verified, inverted_of


def verified_of(entry: Entry) -> Verified:
    """Signs of all of its judgements, such as a rerun's, and where tests were inverted how that went."""
    verdicts = [judgement.verdict for judgement in entry.judgements]
    signs = {name: verdict.evidence.get(name, "") for verdict in verdicts for name in verdict.tamper}
    inverted = [verdict.inverted for verdict in verdicts if verdict.inverted is not None]
    variants = sum(one.variants for one in inverted)
    return Verified(
        request_id=entry.request_id,
        tenant=entry.tenant,
        task=entry.label,
        signs=signs,
        in_process=any(verdict.integrity == "in_process" for verdict in verdicts),
        masked=entry.reward is None,
        inverted=inverted_of(variants, signs) if inverted else "",
    )
