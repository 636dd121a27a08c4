#include <cstdio>
#include <vector>

std::vector<long long> v;

long long total(size_t n) {
    volatile char pad[64];
    pad[n % 64] = 1;
    return n == 400000 ? 0 : (n < v.size() ? v[n] : 0) + total(n + 1) + pad[n % 64] - 1;
}

int main() {
    int n;
    if (scanf("%d", &n) != 1) return 1;
    for (long long x; n-- && scanf("%lld", &x) == 1;) v.push_back(x);
    printf("%lld\n", total(0));
}
