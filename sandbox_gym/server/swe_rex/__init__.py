"""SWE-ReX's runtime protocol, by which SWE-agent works in our sandboxes."""
