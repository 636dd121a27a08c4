#include "codec.h"

std::string encoded(long number) {
    std::string word;
    for (; number; number /= 2) word = (number % 2 ? "b" : "a") + word;
    return word;
}

long decoded(const std::string &word) {
    long number = 0;
    for (auto letter = word.rbegin(); letter != word.rend(); ++letter) number = 2 * number + (*letter == 'b');
    return number;
}
