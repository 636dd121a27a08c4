import std.stdio, std.algorithm, std.array, std.conv, std.string;
void main() {
    readln();
    auto a = readln.split.map!(to!long).array;
    writeln(a.sum, " ", a.maxElement, " ", a.sort.uniq.walkLength);
}
import std.range : walkLength;
