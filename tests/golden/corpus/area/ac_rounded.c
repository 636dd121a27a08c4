#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    double r = atof(s);
    printf("%.9f\n", 3.14159265358979 * r * r);
    return 0;
}
