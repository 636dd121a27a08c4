"""Sessions and snapshots over any provider: names, records, waking and resting."""
