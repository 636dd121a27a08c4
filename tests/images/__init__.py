"""Pulling what rows name, from a real registry on this machine and from registries that fail."""
