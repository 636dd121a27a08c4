"""The host's end of a guest's channel: frames, flow control, runs, drivers. Knows no provider."""
