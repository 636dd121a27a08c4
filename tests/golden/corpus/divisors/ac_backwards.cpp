#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    int n = stoi(s); set<int> found;
    for (int d = 1; d * d <= n; d++) if (n % d == 0) { found.insert(d); found.insert(n / d); }
    for (auto i = found.rbegin(); i != found.rend(); ++i) cout << *i << "\r\n";
}
