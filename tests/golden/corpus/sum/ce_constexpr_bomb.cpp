constexpr unsigned long spin(unsigned long n) {
    unsigned long x = n;
    for (unsigned long i = 0; i < 100000000000ul; i++) x = x * 31 + i;
    return x;
}

constexpr unsigned long value = spin(7);

int main() { return value; }
