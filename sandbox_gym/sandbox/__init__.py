"""Sandboxes: what the engine asks of them (api), the providers that make them, and the pool that keeps them."""
