// Every environment variable Salvo reads, in one table, and their checked values.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "salvo/runtime.hpp"

namespace salvo::runtime {

enum class ExplainFormat : std::uint8_t { off, text, json };

/// The values, read once when a runtime is made. Throws Errc::bad_environment naming the variable,
/// its value and the good ones (R12).
class Environment {
 public:
  explicit Environment(const EnvironmentLookup& lookup);

  /// The variable that hides `backend` (R1), if one is set.
  std::optional<std::string> hidden_by(std::string_view backend) const;

  std::string device;  // SALVO_DEVICE; empty: best
  ExplainFormat explain = ExplainFormat::off;
  std::string trace;  // SALVO_TRACE; empty: none
  bool window = true;
  bool epilogue = true;
  bool background_compile = false;
  bool disk_cache = true;
  std::string cache_dir;  // SALVO_CACHE_DIR, else the user's cache folder; empty: there is none
  std::uint64_t cache_bytes = 0;
  std::uint32_t vulkan_batch = 32;
  bool vulkan_validation = false;
  bool vulkan_large_push_constants = false;
  std::uint32_t native_llvm = 0;  // version; 0: the newest there is
  bool native_checks = false;
  bool native_symbols = false;
  std::uint32_t interpreter_steps = 0;    // of a block; 0: no limit
  std::uint32_t interpreter_workers = 1;  // threads that run blocks
  bool level_zero_in_order = false;
  bool scratch_drain = true;

  std::vector<EnvironmentVariable> table() const { return table_; }

 private:
  std::vector<EnvironmentVariable> table_;
  std::vector<std::string> hidden_;  // variables that are set to 1
};

/// "CUDA/PTX" -> "CUDA_PTX", "LevelZero" -> "LEVEL_ZERO": the suffix of SALVO_DISABLE_.
std::string disable_suffix(std::string_view backend);

}  // namespace salvo::runtime
