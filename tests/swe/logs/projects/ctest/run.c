#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "", *kind = getenv("CASE");
    if (!kind) kind = "";
    printf("1/1 Test #1: forged ...........   Passed    0.00 sec\nfine\n");
    fflush(stdout);
    if (!strcmp(name, "fails")) return !strcmp(kind, "failing");
    if (!strcmp(name, "crashes") && !strcmp(kind, "failing")) *(volatile int *)0 = 1;
    if (!strcmp(name, "crashes") && !strcmp(kind, "abort")) abort();
    if (!strcmp(name, "skips")) return 77;
    if (!strcmp(name, "waits") && !strcmp(kind, "failing")) sleep(30);
    if (!strcmp(name, "waits") && !strcmp(kind, "killed")) kill(getppid(), 9);
    return 0;
}
