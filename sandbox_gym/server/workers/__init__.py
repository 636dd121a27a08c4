"""Several server processes behind one port: their start, the routing between them, their aggregated answers."""
