// Which operations a kernel consists of, read from its IR as text.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "salvo/salvo.hpp"

namespace salvo::tests {

/// Names of the operations, in program order. Left out is what only brings values to an operation
/// and takes its result away: positions, constants, parameters, loads, stores and variables.
template <class... P>
std::vector<std::string> operations(const Kernel<P...>& kernel) {
  static constexpr std::array<std::string_view, 9> kAround{"constant", "param", "load", "store",
                                                           "var_get", "var_set", "thread_idx",
                                                           // Declarations.
                                                           "shared", "var"};
  std::istringstream text(kernel.ir());
  std::vector<std::string> found;
  std::string line;
  while (std::getline(text, line)) {
    const std::size_t first = line.find_first_not_of(' ');
    const bool in_body = first != std::string::npos && first >= 2;
    if (!in_body || line.back() == ':') continue;
    const std::size_t equals = line.find(" = ");
    const std::size_t start = equals == std::string::npos ? first : equals + 3;
    const std::string name = line.substr(start, line.find_first_of(" .", start) - start);
    if (std::ranges::find(kAround, name) == kAround.end()) found.push_back(name);
  }
  return found;
}

}  // namespace salvo::tests
