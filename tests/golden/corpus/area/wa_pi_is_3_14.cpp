#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    double r = stod(s);
    cout << 22.0 / 7 * r * r << endl;
}
