"""What the commands have in common: the screen, options, signals, settings."""
