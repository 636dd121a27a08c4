"""The rungs of the ladder, one idea each: a rung decides equal, not equal, or nothing."""
