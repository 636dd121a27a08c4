import std.conv, std.range, std.array;
void main() { string[string] m; for (int i = 0;; i++) m[i.to!string] = i.to!string.replicate(500); }
