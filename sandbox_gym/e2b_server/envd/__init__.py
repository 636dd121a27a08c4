"""envd's API: processes, files and watches, over the Connect protocol."""
