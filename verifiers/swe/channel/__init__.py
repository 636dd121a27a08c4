"""How a repository's tests tell how each ended: the programs in the box and their reader on the host."""
