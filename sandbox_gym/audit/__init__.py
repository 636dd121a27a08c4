"""What is weak about a dataset's rows: found by reading them, and by answers that must not pass."""
