"""Running plans: whoever asks, tries and their limits, one plan in its sandboxes. Judges nothing."""
