"""Commands over verdicts on record."""
