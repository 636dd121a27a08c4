"""Python values between two boxes: kinds, object graphs, classes, proxies."""
