"""Provider e2b against a pool of our own: verdicts, faults, orphans, costs."""
