"""The signs of tampering that cost the reward, as the setting names them."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox_gym.errors import ConfigurationError


def costly_signs(names: Sequence[str]) -> frozenset[str]:
    """The setting `fail_on_tamper`, of coding and SWE alike. Raises ConfigurationError for what is no sign."""
    if not names:  # and import no other kind of verifier
        return frozenset()
    from sandbox_gym.verifiers.coding.tamper import SIGNS, unknown_sign
    from sandbox_gym.verifiers.swe.patches.restore import SIGNS as SWE_SIGNS

    if (unknown := unknown_sign(names, {**SIGNS, **SWE_SIGNS})) is not None:
        raise ConfigurationError(f"fail_on_tamper: {unknown[0]!r} is no sign of tampering; {unknown[1]}")
    return frozenset(names)
