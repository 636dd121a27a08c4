int deep(volatile int n) {
    volatile char pad[4096];
    pad[n % 4096] = 1;
    return n < 0 ? 0 : deep(n + 1) + pad[0];
}

int main(void) { return deep(0) & 1; }
