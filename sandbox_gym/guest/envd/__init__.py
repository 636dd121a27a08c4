"""The driver of an E2B sandbox: processes, files, watches, notebooks."""
