import std.algorithm, std.range, std.array; void main() { for (;;) iota(1000).map!(x => x * 7 % 13).array.sort; }
