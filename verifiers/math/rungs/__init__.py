"""The rungs of the ladder, one idea each: they say equal, not equal, or nothing."""
