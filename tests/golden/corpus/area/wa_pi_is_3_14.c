#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    float r = atof(s);
    printf("%.3f\n", 3.1415f * r * r);
    return 0;
}
