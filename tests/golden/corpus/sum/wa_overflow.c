#include <stdio.h>

int main(void) {
    int n, x, t = 0;
    scanf("%d", &n);
    while (n--) {
        scanf("%d", &x);
        t += x;
    }
    printf("%d\n", t);
    return 0;
}
