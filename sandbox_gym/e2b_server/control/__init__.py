"""E2B's control plane: its routes, their requests and responses, and the network rules of a request."""
