// What the user asked for cannot be done: one line on stderr and exit code 2.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

namespace salvo::tool {

class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace salvo::tool
