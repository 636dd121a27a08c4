// Right when the output is two primes with the given sum and nothing else.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

static std::string feedback;

[[noreturn]] static void wrong(const std::string &why) {
    std::ofstream(feedback + "judgemessage.txt") << why << "\n";
    std::exit(43);
}

static bool prime(long n) {
    if (n < 2) return false;
    for (long d = 2; d * d <= n; d++)
        if (n % d == 0) return false;
    return true;
}

int main(int, char **argv) {
    std::ifstream given(argv[1]);
    feedback = argv[3];
    long n, a, b;
    given >> n;
    if (!(std::cin >> a >> b)) wrong("two numbers were expected");
    std::string rest;
    if (std::cin >> rest) wrong("more than two numbers");
    if (a + b != n) wrong("the sum is " + std::to_string(a + b));
    if (!prime(a) || !prime(b)) wrong("not both are prime");
    return 42;
}
