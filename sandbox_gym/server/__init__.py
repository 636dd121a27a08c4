"""The HTTP server: NeMo Gym's protocol over an engine. Only this package and e2b_server may import the web
framework."""
