"""Runs plans: admission of callers, attempts and their limits, one plan in its sandboxes. Judges nothing."""
