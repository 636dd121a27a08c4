"""What providers of containers have in common, whichever engine runs them. Knows no engine."""
