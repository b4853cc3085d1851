// A JSON document on stdout, whatever bytes the words in it are.
// SPDX-License-Identifier: MIT
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <nlohmann/json.hpp>

namespace salvo::tool {

/// Paths and values of variables need not be UTF-8, and JSON is: other bytes become U+FFFD.
inline void print_json(const nlohmann::json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace salvo::tool
