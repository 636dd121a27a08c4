import std;
void main() {
    auto n = readln.strip.to!int;
    int[string] count;
    foreach (_; 0 .. n) count[readln.strip.idup]++;
    foreach (w; count.keys.sort!((a, b) => count[a] != count[b] ? count[a] > count[b] : a < b)) writeln(w, " ", count[w]);
}
