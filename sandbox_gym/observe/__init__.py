"""What operators see of a running server: metrics. Knows no HTTP and no provider."""
