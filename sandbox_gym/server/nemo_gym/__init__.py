"""NeMo Gym's routes over any resources server: verify, seeds, sessions, the record of each verify."""
