// How often each function of a driver was called, for every backend in one form (P3).
// SPDX-License-Identifier: MIT
#include "runtime/call_counts.hpp"

namespace salvo::runtime {

CallCounts calls_between(const CallCounts& before, const CallCounts& after) {
  CallCounts called;
  for (std::size_t i = 0; i < after.size(); ++i) {
    const std::uint64_t count = after[i].second - before[i].second;
    if (count != 0) called.emplace_back(after[i].first, count);
  }
  return called;
}

}  // namespace salvo::runtime
