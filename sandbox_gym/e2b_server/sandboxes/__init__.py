"""The sandboxes that the E2B server holds: made, paused, resumed, counted by tenant."""
