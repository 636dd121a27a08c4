"""Agents of the field on our sandboxes, over the tool routes of a running server; with the extra `agents`."""
