#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char s[1 << 16];

int main(void) {
    s[fread(s, 1, sizeof s - 1, stdin)] = 0;
    char *w[1000]; int n = 0;
    for (char *p = strtok(s, " \n"); p; p = strtok(0, " \n")) w[n++] = p;
    for (int i = 0; i < n; i++) printf("%s ", w[i]);
    return 0;
}
