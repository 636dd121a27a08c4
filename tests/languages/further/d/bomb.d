int sum(int n) { int s; for (int i = 0; i != n; i += 2) s += i; return s; }
enum endless = sum(1);
void main() {}
