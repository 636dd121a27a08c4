#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    double r = stod(s);
    printf("%.8e\n", acos(-1.0) * r * r);
}
