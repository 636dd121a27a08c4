"""Access control: tokens, tenants, defences against pages of other sites, and the key of session cookies."""
