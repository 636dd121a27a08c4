"""Owners of what is left outside of a process, and its removal when the owner is dead."""
