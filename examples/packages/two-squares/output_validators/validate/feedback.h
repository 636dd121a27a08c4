#pragma once
#include <string>

[[noreturn]] void reject(const std::string &folder, const std::string &why);
