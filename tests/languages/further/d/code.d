import std.stdio; int main() { int c; readf("%d", &c); writeln(42); return c; }
