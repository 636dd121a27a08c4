"""Sandboxes of E2B's cloud, or of any server that speaks its API."""
