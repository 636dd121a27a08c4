"""What of the math verifier runs in boxes: read as text, never imported here."""
