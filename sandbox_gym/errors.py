"""The one error tree. The caller's fault is a RequestError, ours is an Unavailable; a program's fault is never raised.

SandboxGymError
├── RequestError            the caller's input: names the field, the value and the remedy   (HTTP 422)
├── ConfigurationError      settings or machine can't do what was asked for                 (at start)
└── Unavailable             ours, worth a retry; becomes *no verdict*, never reward 0       (HTTP 503)
    ├── BoxLost             a sandbox died, froze or broke the protocol
    ├── ProviderDown        no sandbox can be made
    ├── PoolFull            the queue is full
    ├── JournalDown         a verdict can't be kept as it must be
    └── DeadlineExceeded    the request's time is up before a verdict
"""

from __future__ import annotations


class SandboxGymError(Exception):
    """The root of everything this package raises on purpose."""


class RequestError(SandboxGymError):
    """The caller's input is wrong. `field` is a dotted path into the request."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        super().__init__(f"{field}: {problem}; {remedy}")
        self.field = field
        self.problem = problem
        self.remedy = remedy


class ConfigurationError(SandboxGymError):
    """Settings or this machine can't give what was asked for; the message says what to change."""


class Unavailable(SandboxGymError):
    """Our fault, and passing: retried elsewhere within the deadline, then answered as *no verdict*."""

    failure_kind = "sandbox_unavailable"
    retry_after_s = 5


class BoxLost(Unavailable):
    """The sandbox died, froze, or its guest broke the protocol."""

    failure_kind = "sandbox_lost"


class ProviderDown(Unavailable):
    """The provider can't make a sandbox now."""

    failure_kind = "provider_down"


class PoolFull(Unavailable):
    """No place in the queue."""

    failure_kind = "pool_full"
    retry_after_s = 1


class DeadlineExceeded(Unavailable):
    """The request's deadline passed before there was a verdict."""

    failure_kind = "deadline_exceeded"


class JournalDown(Unavailable):
    """The journal can't be read or written now, so an answer would not be on record."""

    failure_kind = "journal_down"
