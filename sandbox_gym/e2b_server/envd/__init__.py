"""envd's routes: processes, files, watches, and the Connect protocol that they speak."""
