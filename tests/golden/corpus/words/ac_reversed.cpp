#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    stringstream in(s); vector<string> w; string x;
    while (in >> x) w.push_back(x);
    reverse(w.begin(), w.end());
    for (size_t i = 0; i < w.size(); i++) cout << (i ? " " : "") << w[i];
    cout << "\n";
}
