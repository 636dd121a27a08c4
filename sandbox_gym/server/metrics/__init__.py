"""Aggregate metrics over verify responses, for NeMo Gym."""
