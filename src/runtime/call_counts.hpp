// How often each function of a driver was called, for every backend in one form (P3).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace salvo::runtime {

/// A driver's functions by name, always in the same order.
using CallCounts = std::vector<std::pair<std::string_view, std::uint64_t>>;

/// What was called between two counts of one driver, and how often.
CallCounts calls_between(const CallCounts& before, const CallCounts& after);

}  // namespace salvo::runtime
