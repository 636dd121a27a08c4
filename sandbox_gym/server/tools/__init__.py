"""Tools that the resources servers share: sessions, files, plain sandboxes, MCP."""
