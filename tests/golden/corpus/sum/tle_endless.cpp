#include <bits/stdc++.h>
using namespace std;

int main() {
    string s((istreambuf_iterator<char>(cin)), istreambuf_iterator<char>());
    volatile unsigned x = s.size();
    while (true) x = x * 31 + 7;
}
