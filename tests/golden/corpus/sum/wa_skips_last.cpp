#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    stringstream in(s); long long n, x, t = 0; in >> n;
    for (int i = 0; i + 1 < n; i++) { in >> x; t += x; }
    cout << t << endl;
}
