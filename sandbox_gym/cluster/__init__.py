"""Verifies on many machines: a pool of sandboxes on each node, and a scheduler beside the server that judges.

The engine's core never imports this; only `ray_fleet.py` imports Ray.
"""
