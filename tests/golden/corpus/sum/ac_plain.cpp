#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    stringstream in(s); long long n, x, t = 0; in >> n;
    while (in >> x) t += x;
    cout << t;
}
