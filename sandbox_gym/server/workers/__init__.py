"""Several processes behind one port: their start, their routes, their sums."""
