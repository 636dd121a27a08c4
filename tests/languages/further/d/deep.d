import std.stdio, std.conv, std.string;
int depth(int n) { if (n == 0) return 0; int[4] pad = n; return 1 + depth(n - 1) + (pad[3] - n); }
void main() { depth(readln.strip.to!int).writeln; }
