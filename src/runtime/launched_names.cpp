// The kernels of a batch of launches, for messages about a failure that befell one of them (W77).
// SPDX-License-Identifier: MIT
#include "runtime/launched_names.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace salvo::runtime {

std::string LaunchedNames::text() const {
  std::vector<std::pair<std::string_view, unsigned>> counts;
  for (const Row& row : names_) {
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& one) { return one.first == *row.kernel; });
    if (found == counts.end()) {
      counts.emplace_back(*row.kernel, row.times);
    } else {
      found->second += row.times;
    }
  }
  std::string text;
  for (const auto& [name, count] : counts) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", name,
                        count == 1 ? "" : fmt::format(" ({} times)", count));
  }
  return text;
}

}  // namespace salvo::runtime
