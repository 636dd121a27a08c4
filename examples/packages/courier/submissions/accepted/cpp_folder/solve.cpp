#include <iostream>
#include "codec.h"

int main() {
    std::string order, what;
    std::cin >> order >> what;
    if (order == "send") std::cout << encoded(std::stol(what)) << "\n";
    else std::cout << decoded(what) << "\n";
}
