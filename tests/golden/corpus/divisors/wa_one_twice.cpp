#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    int n = stoi(s);
    for (int d = 1; d * d <= n; d++) if (n % d == 0) cout << d << '\n' << n / d << '\n';
}
