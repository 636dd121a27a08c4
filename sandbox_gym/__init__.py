"""sandbox_gym: a verifier backend that runs model answers in sandboxes and says what they are worth."""

from __future__ import annotations

from pathlib import Path

__version__ = "0.1.0"
__all__ = ["SandboxGymTaskset"]
"""For verifiers, which imports a taskset by its package's name and looks for it here; loaded when it is asked for."""

if Path(__file__).with_name("verifiers").is_file():
    # a checkout without symbolic links (Windows, a ZIP): a text file stands where the link to ../verifiers was meant
    __path__.append(str(Path(__file__).parents[1]))


def __getattr__(name: str) -> object:
    if name == "SandboxGymTaskset":
        from sandbox_gym.trainers.verifiers import SandboxGymTaskset

        return SandboxGymTaskset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
