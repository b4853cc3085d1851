// The run-time compiler of CUDA C++, loaded at run time in any version that is installed.
// SPDX-License-Identifier: MIT
#include "backends/cuda/nvrtc_api.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "salvo/error.hpp"

namespace salvo::backends::cuda {
namespace {

[[noreturn]] void fail(std::string_view operation, int status, std::string log = {}) {
  throw Error(Error::Details{
      .code = Errc::compile_failed,
      .message = status == 6 ? "NVRTC refused the source" : fmt::format("NVRTC error {}", status),
      .backend = "CUDA/C",
      .operation = std::string(operation),
      .log = std::move(log)});
}

void check(std::string_view operation, int status) {
  if (status != 0) fail(operation, status);
}

}  // namespace

std::string Nvrtc::load() {
  // The plain name last: it may belong to any version.
  library_ = runtime::Library::open({"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                     "libnvrtc.so.11.1", "libnvrtc.so.11.0", "libnvrtc.so",
                                     "/usr/local/cuda/lib64/libnvrtc.so"});
  if (!library_) return library_.reason();
  std::string missing;
#define SALVO_NVRTC_RESOLVE(name, symbol, parameters) \
  if (!name##_.resolve(library_, symbol)) missing += " " symbol;
  SALVO_NVRTC_FUNCTIONS(SALVO_NVRTC_RESOLVE)
#undef SALVO_NVRTC_RESOLVE
  if (!missing.empty()) return fmt::format("{} lacks{}", library_.name(), missing);
  int major = 0;
  int minor = 0;
  int count = 0;
  if (Version_(&major, &minor) != 0 || ArchCount_(&count) != 0) {
    return fmt::format("{} does not tell its version", library_.name());
  }
  version_ = major * 1000 + minor * 10;
  archs_.resize(static_cast<std::size_t>(count));
  if (Archs_(archs_.data()) != 0) {
    return fmt::format("{} does not tell its architectures", library_.name());
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
  void* program = nullptr;
  check("nvrtcCreateProgram", Create_(&program, code.c_str(), file.c_str(), 0, nullptr, nullptr));
  const auto destroy = [&](void* handle) { Destroy_(&handle); };
  const std::unique_ptr<void, decltype(destroy)> owner(program, destroy);

  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const int status = Compile_(program, static_cast<int>(texts.size()), texts.data());
  if (status != 0) {
    // The status of the compilation is what matters: a log that cannot be had stays empty.
    std::size_t bytes = 0;
    std::string log;
    if (LogSize_(program, &bytes) == 0 && bytes > 1) {
      log.resize(bytes);
      if (Log_(program, log.data()) != 0) log.clear();
      log.resize(std::min(log.size(), log.find('\0')));
    }
    fail("nvrtcCompileProgram", status, std::move(log));
  }
  const bool machine_code = std::ranges::any_of(options, [](const std::string& option) {
    return option.starts_with("--gpu-architecture=sm_");
  });
  std::size_t bytes = 0;
  check("nvrtcGetProgramSize",
        machine_code ? CubinSize_(program, &bytes) : PtxSize_(program, &bytes));
  std::string result(bytes, '\0');
  check("nvrtcGetProgram",
        machine_code ? Cubin_(program, result.data()) : Ptx_(program, result.data()));
  return result;
}

}  // namespace salvo::backends::cuda
