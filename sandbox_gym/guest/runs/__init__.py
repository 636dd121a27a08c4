"""Programs in a box: the supervisor, the init that holds them, their limits and how they ended."""
