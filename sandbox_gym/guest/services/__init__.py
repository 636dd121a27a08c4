"""Programs that the host keeps for many requests, forked from one that has everything imported."""
