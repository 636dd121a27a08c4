"""What NeMo Gym's wire carries and how it is read and written: models, bodies, rows, one run for equal requests."""
