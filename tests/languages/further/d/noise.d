import std.stdio, std.range; void main() { for (;;) stderr.writeln("no".repeat(500).join); }
import std.array;
