"""The podman provider: sandboxes as containers of Podman, which needs no daemon."""
