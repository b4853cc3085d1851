// Names that are legal and unique in a target's source.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "codegen/c_family/dialect.hpp"

namespace salvo::codegen::c_family {

/// Hands out identifiers of one source file.
class Names {
 public:
  /// What the language keeps for itself.
  using Reserved = std::function<bool(std::string_view)>;

  explicit Names(Reserved is_reserved) : is_reserved_(std::move(is_reserved)) {}
  explicit Names(const Dialect& dialect)
      : Names([&dialect](std::string_view name) { return dialect.is_reserved(name); }) {}

  /// `wanted`, or the nearest identifier that is neither reserved nor taken (K14).
  std::string fresh(std::string_view wanted);

 private:
  Reserved is_reserved_;
  std::unordered_map<std::string, unsigned> taken_;  // identifier -> last number tried after it
};

}  // namespace salvo::codegen::c_family
