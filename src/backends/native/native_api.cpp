// LLVM's functions that the backend calls, declared here and found in its library at run time.
// SPDX-License-Identifier: MIT
#include "backends/native/native_api.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

#include <fmt/format.h>

namespace salvo::backends::native {
namespace {

constexpr unsigned kOldest = 14;
constexpr unsigned kNewest = 19;

#if defined(__x86_64__) || defined(__i386__)
constexpr std::string_view kArchitecture = "X86";
#elif defined(__aarch64__)
constexpr std::string_view kArchitecture = "AArch64";
#elif defined(__riscv)
constexpr std::string_view kArchitecture = "RISCV";
#elif defined(__powerpc64__)
constexpr std::string_view kArchitecture = "PowerPC";
#else
constexpr std::string_view kArchitecture = "";
#endif

/// Debian's names: releases from 18 on have the version after the suffix, too.
runtime::Library open(unsigned version) {
  const std::string before = fmt::format("libLLVM-{}.so.1", version);
  const std::string since = fmt::format("libLLVM.so.{}.1", version);
  const std::string elsewhere = fmt::format("libLLVM-{}.so", version);
  return runtime::Library::open({before, since, elsewhere});
}

/// Tells two builds of one version apart, which LLVM itself does not before version 16.
std::string build_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "";
  std::error_code failed;
  const std::filesystem::path file = std::filesystem::canonical(info.dli_fname, failed);
  if (failed) return info.dli_fname;
  const auto bytes = std::filesystem::file_size(file, failed);
  return fmt::format("{} {}", file.filename().string(), failed ? 0 : bytes);
}

}  // namespace

bool Api::resolve() {
  const char* missing = nullptr;
#define SALVO_LLVM_RESOLVE(name, ...) \
  if (!name.resolve(shared_object, "LLVM" #name)) missing = "LLVM" #name;
  SALVO_LLVM_FUNCTIONS(SALVO_LLVM_RESOLVE)
#undef SALVO_LLVM_RESOLVE
  for (const char* part : {"TargetInfo", "Target", "TargetMC", "AsmPrinter"}) {
    const std::string name = fmt::format("LLVMInitialize{}{}", kArchitecture, part);
    runtime::Function<void (*)()> initialize;
    if (!initialize.resolve(shared_object, name.c_str())) {
      reason = fmt::format("{} has no code generator for this processor ({})", shared_object.name(),
                           name);
      return false;
    }
    initialize();
  }
  if (missing != nullptr) reason = fmt::format("{} lacks {}", shared_object.name(), missing);
  return missing == nullptr;
}

void Api::load(unsigned wanted) {
  std::string failures;
  for (unsigned candidate = kNewest; candidate >= kOldest; --candidate) {
    if (wanted != 0 && candidate != wanted) continue;
    shared_object = open(candidate);
    if (!shared_object) {
      failures +=
          fmt::format("{}{}", failures.empty() ? "" : "; ", shared_object.failures().front());
      continue;
    }
    version = candidate;
    reason.clear();
    if (resolve()) {
      build = build_of(reinterpret_cast<const void*>(ContextCreate.get()));
      return;
    }
    failures += fmt::format("{}{}", failures.empty() ? "" : "; ", reason);
  }
  reason =
      fmt::format("LLVM {} was not found, which Debian's package libllvm{} has ({})",
                  wanted == 0 ? fmt::format("{} to {}", kOldest, kNewest) : std::to_string(wanted),
                  wanted == 0 ? 15 : wanted, failures);
}

const Api& llvm_api(unsigned version) {
  static std::mutex lock;
  static auto& loaded = *new std::map<unsigned, Api>;
  const std::lock_guard guard(lock);
  const auto known = loaded.find(version);
  if (known != loaded.end()) return known->second;
  Api& api = loaded[version];
  api.load(version);
  return api;
}

}  // namespace salvo::backends::native
