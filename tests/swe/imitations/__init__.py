"""Images made here as datasets' are: their layout, owners, history and entry points, with projects of a few lines."""
