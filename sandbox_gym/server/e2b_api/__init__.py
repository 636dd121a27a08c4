"""The E2B API over sandboxes of this machine: what the unmodified e2b SDK speaks."""
