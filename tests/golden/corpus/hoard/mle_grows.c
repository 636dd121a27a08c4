#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    for (;;) { char *p = malloc(1 << 22); if (!p) abort(); memset(p, 1, 1 << 22); }
    return 0;
}
