"""Tools for those who work on this repository; no part of the product."""
