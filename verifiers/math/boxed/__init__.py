"""The part of the math verifier that runs in boxes: read as text, never imported here."""
