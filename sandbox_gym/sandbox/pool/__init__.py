"""Warm boxes, admission of work, and services that stay."""
