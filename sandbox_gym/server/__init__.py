"""The HTTP side: NeMo Gym's protocol over an engine. The only package that may import FastAPI."""
