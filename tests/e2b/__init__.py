"""The unmodified e2b SDK against `sandbox-gym serve pool`."""
