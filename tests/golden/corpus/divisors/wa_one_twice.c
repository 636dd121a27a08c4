#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    int n = atoi(s);
    for (int d = 1; d < n; d++) if (n % d == 0) printf("%d\n", d);
    return 0;
}
