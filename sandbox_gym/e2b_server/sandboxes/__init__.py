"""The sandboxes of the E2B server: their life, records, quotas and templates."""
