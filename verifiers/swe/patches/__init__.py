"""Patches: read out of an answer, applied over a repository, held against what they may touch."""
