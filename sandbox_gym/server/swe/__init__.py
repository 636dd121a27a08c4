"""The SWE resources server: verification and the tools of an agent in a repository."""
