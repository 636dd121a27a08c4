#include <iostream>

static bool prime(int n) {
    if (n < 2) return false;
    for (int d = 2; d * d <= n; d++)
        if (n % d == 0) return false;
    return true;
}

int main() {
    int n;
    std::cin >> n;
    for (int a = n / 2; a > 1; a--)
        if (prime(a) && prime(n - a)) {
            std::cout << n - a << ' ' << a << std::endl;
            return 0;
        }
}
