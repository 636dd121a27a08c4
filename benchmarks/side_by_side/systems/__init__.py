"""What is measured: each system starts, answers verifies, and says what CPU time it took."""
