#include <stdio.h>
#include "root.h"

int main(void) {
    long n;
    if (scanf("%ld", &n) != 1) return 1;
    for (long a = 0; 2 * a * a <= n; a++) {
        long b = root(n - a * a);
        if (a * a + b * b == n) {
            printf("%ld %ld\n", a, b);
            return 0;
        }
    }
    puts("impossible");
    return 0;
}
