"""Problem packages of the Kattis and ICPC kind: read from a folder, made into rows, judged by themselves."""
