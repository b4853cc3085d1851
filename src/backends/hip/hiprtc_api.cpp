// The run-time compiler of HIP C++, loaded at run time.
// SPDX-License-Identifier: MIT
#include "backends/hip/hiprtc_api.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "salvo/error.hpp"

namespace salvo::backends::hip {
namespace {

/// The compiler keeps state of its own between calls, in a process-wide place.
std::mutex& compiling() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

[[noreturn]] void fail(std::string_view operation, int status, std::string log = {}) {
  constexpr int kCompilation = 6;
  throw Error(Error::Details{.code = Errc::compile_failed,
                             .message = status == kCompilation
                                            ? "hiprtc refused the source"
                                            : fmt::format("hiprtc error {}", status),
                             .backend = "HIP",
                             .operation = std::string(operation),
                             .log = std::move(log)});
}

void check(std::string_view operation, int status) {
  if (status != 0) fail(operation, status);
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
    library_ = runtime::Library::open(names);
    if (!library_) {
      reasons += (reasons.empty() ? "" : "; ") + library_.reason();
      continue;
    }
    std::string missing;
#define SALVO_HIPRTC_RESOLVE(name, symbol, parameters) \
  if (!name##_.resolve(library_, symbol)) missing += " " symbol;
    SALVO_HIPRTC_FUNCTIONS(SALVO_HIPRTC_RESOLVE)
#undef SALVO_HIPRTC_RESOLVE
    if (missing.empty()) {
      int major = 0;
      int minor = 0;
      if (Version_(&major, &minor) != 0)
        return fmt::format("{} does not tell its version", library_.name());
      version_ = fmt::format("{}.{}", major, minor);
      return {};
    }
    reasons += fmt::format("{}{} lacks{}", reasons.empty() ? "" : "; ", library_.name(), missing);
  }
  return reasons;
}

std::string Hiprtc::compile(const std::string& code, const std::string& file,
                            const std::vector<std::string>& options) const {
  const std::lock_guard lock(compiling());
  void* program = nullptr;
  check("hiprtcCreateProgram", Create_(&program, code.c_str(), file.c_str(), 0, nullptr, nullptr));
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
    fail("hiprtcCompileProgram", status, std::move(log));
  }
  std::size_t bytes = 0;
  check("hiprtcGetCodeSize", CodeSize_(program, &bytes));
  std::string result(bytes, '\0');
  check("hiprtcGetCode", Code_(program, result.data()));
  return result;
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
