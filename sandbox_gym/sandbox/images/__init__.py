"""Images that rows name: pulled where they are missing, within a disk budget; only pulled ones are removed."""
