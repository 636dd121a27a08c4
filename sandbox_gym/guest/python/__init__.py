"""Python programs: function calls, tests beside an answer, the prelude."""
