// The run-time compiler of CUDA C++, loaded at run time in any version that is installed.
// SPDX-License-Identifier: MIT
#include "backends/cuda/nvrtc_api.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace salvo::backends::cuda {

std::string Nvrtc::load() {
  // The plain name late: it may belong to any version.
  return load({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so.11.1",
               "libnvrtc.so.11.0", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"});
}

std::string Nvrtc::load(std::initializer_list<std::string_view> names) {
  runtime::Library found = runtime::Library::open(names);
  if (!found) return found.reason();
  if (std::string reason = take(std::move(found), {&ptx_, &cubin_}); !reason.empty()) return reason;

  runtime::Function<int (*)(int*)> arch_count;
  runtime::Function<int (*)(int*)> supported_archs;
  int count = 0;
  if (!arch_count.resolve(library(), "nvrtcGetNumSupportedArchs") ||
      !supported_archs.resolve(library(), "nvrtcGetSupportedArchs") || arch_count(&count) != 0) {
    return fmt::format("{} does not tell its architectures", shared_object_name());
  }
  archs_.resize(static_cast<std::size_t>(count));
  if (supported_archs(archs_.data()) != 0) {
    return fmt::format("{} does not tell its architectures", shared_object_name());
  }
  return {};
}

int Nvrtc::arch_for(int device) const noexcept {
  int best = 0;
  for (int arch : archs_) {
    if (arch <= device) best = std::max(best, arch);
  }
  return best;
}

std::string Nvrtc::compile(const std::string& code, const std::string& file,
                           const std::vector<std::string>& options) const {
  const bool machine_code = std::ranges::any_of(options, [](const std::string& option) {
    return option.starts_with("--gpu-architecture=sm_");
  });
  return compile_to(machine_code ? cubin_ : ptx_, code, file, options);
}

}  // namespace salvo::backends::cuda
