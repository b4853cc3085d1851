// The Level Zero backend: every device of every driver.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

#include "runtime/backend.hpp"

namespace salvo::backends::level_zero {

struct Settings {
  /// Trusts command lists to be in order on drivers that do not say they can be (P10).
  bool in_order = false;
};

std::unique_ptr<runtime::Backend> make_backend(const Settings& settings = {});

struct Api;
/// The function table that all devices of the process share; it counts the calls made.
const Api& shared_api() noexcept;

}  // namespace salvo::backends::level_zero
