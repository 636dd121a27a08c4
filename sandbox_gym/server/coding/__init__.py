"""The coding resources server: verification, its tools, SandboxFusion's routes."""
