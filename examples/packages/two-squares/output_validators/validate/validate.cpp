#include "feedback.h"
#include <fstream>
#include <iostream>

int main(int argc, char **argv) {
    std::ifstream input(argv[1]), answer(argv[2]);
    std::string folder = argv[3], truth, first, more;
    bool ordered = argc > 4 && std::string(argv[4]) == "ordered";
    long long n, a, b;
    input >> n;
    answer >> truth;
    if (!(std::cin >> first)) reject(folder, "nothing was printed");
    if (first == "impossible") {
        if (truth != "impossible") reject(folder, "it is possible");
    } else {
        if (first.size() > 9 || first.find_first_not_of("0123456789") != std::string::npos) reject(folder, "no number");
        a = std::stoll(first);
        if (!(std::cin >> b) || b < 0 || b > 1000000) reject(folder, "no second number");
        if (ordered && a > b) reject(folder, "the larger number stands first");
        if (a * a + b * b != n) reject(folder, "the sum is another");
    }
    if (std::cin >> more) reject(folder, "more than was asked for");
    return 42;
}
