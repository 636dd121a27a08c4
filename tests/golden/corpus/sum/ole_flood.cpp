#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    string line(100000, '6');
    while (true) cout << line << '\n';
}
