// The run-time compiler of HIP C++, loaded at run time.
// SPDX-License-Identifier: MIT
#include "backends/hip/hiprtc_api.hpp"

#include <mutex>
#include <utility>

#include <fmt/format.h>

namespace salvo::backends::hip {
namespace {

/// The compiler keeps state of its own between calls, in a process-wide place.
std::mutex& compiling() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

}  // namespace

std::string Hiprtc::load() {
  std::string reasons;
  for (auto names : {std::initializer_list<std::string_view>{"libamdhip64.so.7", "libamdhip64.so.6",
                                                             "libamdhip64.so.5", "libamdhip64.so",
                                                             "/opt/rocm/lib/libamdhip64.so"},
                     std::initializer_list<std::string_view>{"libhiprtc.so.7", "libhiprtc.so.6",
                                                             "libhiprtc.so.5", "libhiprtc.so",
                                                             "/opt/rocm/lib/libhiprtc.so"}}) {
    runtime::Library found = runtime::Library::open(names);
    const std::string reason = found ? take(std::move(found), {&code_}) : found.reason();
    if (reason.empty()) return {};
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return reasons;
}

std::string Hiprtc::version() const {
  return fmt::format("{}.{}", major(), minor());
}

std::string Hiprtc::compile(const std::string& code, const std::string& file,
                            const std::vector<std::string>& options) const {
  const std::lock_guard lock(compiling());
  return compile_to(code_, code, file, options);
}

std::vector<std::string> compile_options(const std::string& architecture,
                                         const std::vector<std::string>& users) {
  std::vector<std::string> options{"-O3", "-std=c++17"};
  options.insert(options.end(), users.begin(), users.end());
  options.push_back("--offload-arch=" + architecture);
  options.push_back("-fno-gpu-flush-denormals-to-zero");
  options.push_back("-ffp-contract=off");
  return options;
}

}  // namespace salvo::backends::hip
