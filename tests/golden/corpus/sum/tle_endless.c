#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    volatile unsigned x = 1;
    for (;;) x = x * 31 + 7;
    return 0;
}
