"""sandbox_gym: a verifier backend that runs model answers in sandboxes and says what they are worth."""

__version__ = "0.1.0"
