#include <iostream>

int main() {
    int n, t = 0;
    long long x;
    std::cin >> n;
    while (n--) {
        std::cin >> x;
        t += x;
    }
    std::cout << t << std::endl;
}
