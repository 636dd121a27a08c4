#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    long long n, x, t = 0; char *p = s;
    for (n = strtoll(p, &p, 10); n > 0; n--) { x = strtoll(p, &p, 10); t += x; }
    printf("%lld\n", t);
    return 0;
}
