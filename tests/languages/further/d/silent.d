import std.stdio; void main() { readln(); }
