import std.stdio; int f(int n) { int[9] p = n; return f(n + 1) + p[n % 9]; } void main() { writeln(f(0)); }
