"""Who may ask: tokens, tenants, browser defences and the key of session cookies."""
