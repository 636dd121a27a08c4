"""Rows whose tests only a log tells of."""
