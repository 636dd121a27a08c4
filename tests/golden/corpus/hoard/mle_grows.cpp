#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    vector<vector<char>> kept;
    while (true) kept.emplace_back(1 << 22, 'x');
}
