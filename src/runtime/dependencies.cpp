// Which launches of a sequence must come after which, by the buffers that they touch.
// SPDX-License-Identifier: MIT
#include "runtime/dependencies.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace salvo::runtime {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// Of one buffer, so far.
struct Uses {
  std::uint32_t writer = kNone;        // the last
  std::vector<std::uint32_t> readers;  // since then
};

}  // namespace

Dependencies::Dependencies(std::span<const LaunchCommand> commands) {
  std::unordered_map<std::uintptr_t, Uses> buffers;
  for (std::uint32_t launch = 0; launch < commands.size(); ++launch) {
    const auto begin = static_cast<std::ptrdiff_t>(before_.size());
    const auto add = [&](std::uint32_t earlier) {
      if (earlier != kNone && earlier != launch) before_.push_back(earlier);
    };
    for (const Argument& argument : commands[launch].arguments) {
      if (!argument.buffer || argument.access == AccessMode::none) continue;
      Uses& uses = buffers[argument.buffer.handle];
      add(uses.writer);
      if (argument.access == AccessMode::read) {
        uses.readers.push_back(launch);
        continue;
      }
      std::ranges::for_each(uses.readers, add);
      uses = {launch, {}};
    }
    std::sort(before_.begin() + begin, before_.end());
    before_.erase(std::unique(before_.begin() + begin, before_.end()), before_.end());
    first_.push_back(static_cast<std::uint32_t>(before_.size()));
  }
}

}  // namespace salvo::runtime
