// Runs a suite on a fake device, then compiles every kernel it launched with the real hiprtc.
// SPDX-License-Identifier: MIT
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/c_family/hip_dialect.hpp"
#include "codegen/c_family/printer.hpp"
#include "offline/gallery.hpp"
#include "offline/hip_audit.hpp"
#include "passes/access.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {
namespace {

std::string some_of(const std::vector<std::string>& lines) {
  const auto end =
      lines.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(12, lines.size()));
  return fmt::format("{} in all:\n{}", lines.size(), fmt::join(lines.begin(), end, "\n"));
}

bool is_refused(const ir::Kernel& kernel) {
  try {
    codegen::c_family::print(kernel, codegen::c_family::hip_dialect(), {});
    return false;
  } catch (const Error& error) {
    return error.code() == Errc::unsupported;
  }
}

/// Leaves out what the fake device takes and HIP cannot, if it says so.
int leave_out_matrices(std::vector<ir::Kernel>& kernels) {
  int failures = 0;
  const std::size_t count = std::erase_if(kernels, [&](const ir::Kernel& kernel) {
    if (!passes::summarize(kernel).has_cooperative_matrix) return false;
    if (!is_refused(kernel)) {
      fmt::print("FAILED {} has cooperative matrices, and HIP does not refuse it\n", kernel.name);
      ++failures;
    }
    return true;
  });
  fmt::print("left out {}: cooperative matrices\n", count);
  return failures;
}

int run(const Gallery& gallery) {
  backends::hip::Hiprtc hiprtc;
  if (const std::string reason = hiprtc.load(); !reason.empty()) {
    fmt::print("skipped: {}\n", reason);
    return 0;
  }
  std::vector<ir::Kernel> kernels = gallery.kernels();
  int failures = leave_out_matrices(kernels);
  failures += kernels.empty();
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
