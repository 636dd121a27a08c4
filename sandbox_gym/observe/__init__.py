"""What operators see of a running server: metrics, traces, the radar. Knows no HTTP and no provider."""
