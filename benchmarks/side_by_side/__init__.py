"""Ours and its peers on the same work, in one run on one machine; see __main__.py."""
