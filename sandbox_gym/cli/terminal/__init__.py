"""What all commands share: the screen, progress, options, settings, signals, completion."""
