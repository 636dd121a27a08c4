"""The way out for sandboxes that may reach named hosts: a proxy on the sandbox's own loopback."""
