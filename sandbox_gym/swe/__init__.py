"""Instances of software-engineering tasks: built once, kept as snapshots that agents and verdicts begin from."""
