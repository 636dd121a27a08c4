import std.stdio; void main() { writeln(twice(21)); }
