// Runs a suite on a fake device, then compiles every kernel it launched with the real hiprtc.
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/gallery.hpp"
#include "offline/hip_audit.hpp"

namespace salvo::tests {
namespace {

std::string some_of(const std::vector<std::string>& lines) {
  const auto end =
      lines.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(12, lines.size()));
  return fmt::format("{} in all:\n{}", lines.size(), fmt::join(lines.begin(), end, "\n"));
}

int run(const Gallery& gallery) {
  backends::hip::Hiprtc hiprtc;
  if (const std::string reason = hiprtc.load(); !reason.empty()) {
    fmt::print("skipped: {}\n", reason);
    return 0;
  }
  const std::vector<ir::Kernel> kernels = gallery.kernels();
  int failures = kernels.empty();
  // Vega, MI200 and RDNA 2: wave sizes 64, 64 and 32.
  for (const char* architecture : {"gfx900", "gfx90a", "gfx1030"}) {
    const HipAudit found = audit(hiprtc, kernels, architecture);
    fmt::print("{}: {} of {} kernels compiled, {} lines with an fma\n", architecture, found.kernels,
               kernels.size(), found.asked);
    for (const auto& [what, lines] : {std::pair{"not compiled", &found.refused},
                                      std::pair{"contracted though forbidden", &found.contracted},
                                      std::pair{"an fma without its instruction", &found.lost}}) {
      if (lines->empty()) continue;
      fmt::print("FAILED {}: {}\n", what, some_of(*lines));
      ++failures;
    }
  }
  // What the check is worth: with contraction let loose it must find some.
  const HipAudit loose = audit(hiprtc, kernels, "gfx90a", "-ffp-contract=fast");
  fmt::print("contraction let loose: {} lines\n", loose.contracted.size());
  if (loose.contracted.empty()) {
    fmt::print("FAILED the check finds no contraction where the compiler is free\n");
    ++failures;
  }
  return failures;
}

}  // namespace
}  // namespace salvo::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const salvo::tests::Gallery gallery;
  if (const int failed = RUN_ALL_TESTS(); failed != 0) return failed;
  return salvo::tests::run(gallery) == 0 ? 0 : 1;
}
