"""The dashboard: a live picture of one server and a page per verdict, for its operator."""
