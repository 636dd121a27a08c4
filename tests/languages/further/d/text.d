import std.stdio, std.string, std.utf, std.range, std.conv;
void main() { auto s = readln.chomp; writeln(s.walkLength); writeln(s.to!dstring.retro); }
