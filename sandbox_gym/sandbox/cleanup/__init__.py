"""Who owns what is left outside of our process, and its removal when the owner is dead."""
