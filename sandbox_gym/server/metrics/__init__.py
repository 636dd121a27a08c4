"""Aggregate metrics over verdicts, as NeMo Gym asks for them."""
