import std.stdio, std.math;
void main() {
    int n; readf(" %d", n); double sum = 0, px, py;
    foreach (i; 0 .. n) { double x, y; readf(" %f %f", x, y); if (i) sum += hypot(x - px, y - py); px = x; py = y; }
    writefln("%.6f", sum);
}
