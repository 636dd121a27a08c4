"""Our servers as other systems want to see them from their own processes."""
