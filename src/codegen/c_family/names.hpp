// Names that are legal and unique in a target's source.
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "codegen/c_family/dialect.hpp"

namespace salvo::codegen::c_family {

/// Hands out identifiers of one source file.
class Names {
 public:
  explicit Names(const Dialect& dialect) : dialect_(dialect) {}

  /// `wanted`, or the nearest identifier that is neither reserved nor taken (K14).
  std::string fresh(std::string_view wanted);

 private:
  const Dialect& dialect_;
  std::unordered_map<std::string, unsigned> taken_;  // identifier -> last number tried after it
};

}  // namespace salvo::codegen::c_family
