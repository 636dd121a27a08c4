"""NeMo Gym's wire: request and response models, JSON bodies, dataset rows, single flight of equal requests."""
