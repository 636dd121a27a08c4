"""What runs inside a box: stdlib only, Python 3.8 and later, imports nothing of sandbox_gym."""
