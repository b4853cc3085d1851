// Every environment variable Salvo reads, in one table, and their checked values.
// SPDX-License-Identifier: MIT
#include "runtime/environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "runtime/backend_names.hpp"
#include "salvo/error.hpp"

namespace salvo::runtime {
namespace {

[[noreturn]] void refuse(const EnvironmentVariable& variable) {
  throw Error(Errc::bad_environment, fmt::format("{}={} is not understood; good values: {}",
                                                 variable.name, variable.current, variable.values));
}

std::uint32_t number(const EnvironmentVariable& variable, std::uint32_t most,
                     std::uint32_t fallback) {
  const std::string& text = variable.current;
  if (text.empty()) return fallback;
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc{} || end != text.data() + text.size() || value < 1 || value > most) {
    refuse(variable);
  }
  return value;
}

bool flag(const EnvironmentVariable& variable, bool fallback) {
  if (variable.current.empty()) return fallback;
  if (variable.current == "1") return true;
  if (variable.current == "0") return false;
  refuse(variable);
}

/// As the XDG base directory specification has it: a relative path counts as unset.
std::string default_cache_folder(const std::string& user_cache, const std::string& home) {
  if (user_cache.starts_with('/')) return user_cache + "/salvo";
  if (home.starts_with('/')) return home + "/.cache/salvo";
  return {};
}

}  // namespace

std::string disable_suffix(std::string_view backend) {
  if (backend == "LevelZero") return "LEVEL_ZERO";
  std::string suffix;
  for (char c : backend) suffix += c == '/' ? '_' : static_cast<char>(std::toupper(c));
  return suffix;
}

Environment::Environment(const EnvironmentLookup& lookup) {
  const auto add = [&](std::string name, std::string values, std::string effect) {
    const char* value = lookup(name.c_str());
    table_.push_back({std::move(name), std::move(values), std::move(effect), value ? value : ""});
    return table_.back();
  };

  device = add("SALVO_DEVICE", "<backend>:<id>, as `salvo info` prints it", "the default device")
               .current;
  const auto explained =
      add("SALVO_EXPLAIN", "0, 1, json", "tells on stderr what was held and fused, and why not");
  if (explained.current == "json") {
    explain = ExplainFormat::json;
  } else if (flag(explained, false)) {
    explain = ExplainFormat::text;
  }
  trace =
      add("SALVO_TRACE", "a file", "writes a timeline there, for Chrome's trace viewer").current;
  window = flag(add("SALVO_WINDOW", "0, 1", "holds launches, to fuse them (default 1)"), true);
  epilogue = flag(add("SALVO_EPILOGUE", "0, 1",
                      "merges element-wise launches into their producers (default 1)"),
                  true);
  background_compile =
      flag(add("SALVO_BACKGROUND_COMPILE", "0, 1", "builds fused kernels on a thread of their own"),
           false);
  disk_cache =
      flag(add("SALVO_DISK_CACHE", "0, 1", "keeps compiled kernels on disk (default 1)"), true);
  cache_dir = add("SALVO_CACHE_DIR", "a folder",
                  "where they are kept (default salvo/ in the user's cache folder)")
                  .current;
  const auto size = add("SALVO_CACHE_SIZE", "1 to 1048576", "most MiB they may take (default 512)");
  cache_bytes = std::uint64_t{number(size, 1'048'576, 512)} << 20U;
  const auto user_cache = add("XDG_CACHE_HOME", "a folder", "the user's cache folder").current;
  const auto home = add("HOME", "a folder", "holds .cache/, if XDG_CACHE_HOME is not set").current;
  if (cache_dir.empty()) cache_dir = default_cache_folder(user_cache, home);
  vulkan_batch = number(
      add("SALVO_VULKAN_BATCH", "1 to 4096", "dispatches in a Vulkan submission (default 32)"),
      4096, vulkan_batch);
  vulkan_validation =
      flag(add("SALVO_VULKAN_VALIDATION", "0, 1",
               "validation layers check each Vulkan call; what they say is an error"),
           false);
  vulkan_large_push_constants =
      flag(add("SALVO_VULKAN_LARGE_PUSH_CONSTANTS", "0, 1",
               "fused kernels may fill the device's push constants, not only 128 bytes"),
           false);
  level_zero_in_order =
      flag(add("SALVO_LEVEL_ZERO_IN_ORDER", "0, 1",
               "trusts Level Zero command lists to keep order on drivers older than API 1.7"),
           false);
  scratch_drain =
      flag(add("SALVO_SCRATCH_DRAIN", "0, 1",
               "frees cached memory before a kernel that spills more than any before (default 1)"),
           true);

  const auto llvm = add("SALVO_NATIVE_LLVM", "14 to 19",
                        "version of LLVM that compiles for Native (default the newest there is)");
  native_llvm = number(llvm, 19, 0);
  if (native_llvm != 0 && native_llvm < 14) refuse(llvm);
  native_checks = flag(
      add("SALVO_NATIVE_CHECKS", "0, 1", "Native checks bounds: an access beyond them is an error"),
      false);
  native_symbols = flag(
      add("SALVO_NATIVE_SYMBOLS", "0, 1", "Native tells gdb and perf about kernels, line by line"),
      false);
  interpreter_steps = number(add("SALVO_INTERPRETER_STEPS", "1 to 4294967295",
                                 "most operations of a block on Interpreter (default no limit)"),
                             std::numeric_limits<std::uint32_t>::max(), interpreter_steps);
  interpreter_workers = number(add("SALVO_INTERPRETER_WORKERS", "1 to 1024",
                                   "threads that run Interpreter's blocks (default 1)"),
                               1024, interpreter_workers);

  const auto disable = [&](std::string name, std::string effect) {
    const auto variable = add(std::move(name), "0, 1", std::move(effect));
    if (flag(variable, false)) hidden_.push_back(variable.name);
  };
  disable("SALVO_DISABLE_GPU", "hides every backend but Native and Interpreter");
  for (const KnownBackend& backend : kBackends) {
    if (backend.name == "Interpreter") continue;
    disable("SALVO_DISABLE_" + disable_suffix(backend.name), fmt::format("hides {}", backend.name));
  }
}

std::optional<std::string> Environment::hidden_by(std::string_view backend) const {
  const std::string own = "SALVO_DISABLE_" + disable_suffix(backend);
  for (const std::string& name : hidden_) {
    const bool gpu = name == "SALVO_DISABLE_GPU" && backend != "Native" && backend != "Interpreter";
    if (gpu || name == own) return name;
  }
  return std::nullopt;
}

}  // namespace salvo::runtime
