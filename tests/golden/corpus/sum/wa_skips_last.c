#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    long long n, t = 0; char *p = s;
    for (n = strtoll(p, &p, 10); n > 1; n--) t += strtoll(p, &p, 10);
    printf("%lld\n", t);
    return 0;
}
