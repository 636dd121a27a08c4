"""What is released: the packages, what runs where, the workflow."""
