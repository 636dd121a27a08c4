"""The math resources server: verification, its judge model and its tools."""
