"""Sandboxes as containers of a Docker Engine."""
