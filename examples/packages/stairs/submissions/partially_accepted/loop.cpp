#include <iostream>

int main() {
    unsigned long long n, a = 1, b = 1;
    std::cin >> n;
    for (unsigned long long i = 1; i < n; i++) {
        unsigned long long c = (a + b) % 1000000007;
        a = b;
        b = c;
    }
    std::cout << b << std::endl;
}
