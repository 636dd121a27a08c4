"""Frames and values between the host and what runs in a box."""
