#pragma once
#include <string>

std::string encoded(long number);
long decoded(const std::string &word);
