"""Tests of a function: their shapes in a row, how they run beside an answer, and values on the wire."""
