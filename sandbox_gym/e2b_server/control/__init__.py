"""E2B's control routes: what they take, what they answer, what a tenant may."""
