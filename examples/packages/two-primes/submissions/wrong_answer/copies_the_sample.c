#include <stdio.h>

int main(void) {
    puts("3 7");
    return 0;
}
