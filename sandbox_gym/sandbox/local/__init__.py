"""The embedded provider: bubblewrap jails on this machine, no daemon."""

from sandbox_gym.sandbox.local.provider import LocalProvider

__all__ = ["LocalProvider"]
