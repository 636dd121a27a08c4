#include <iostream>
int main() { std::cout << answer << std::endl; }
