// What an OpenCL kernel in a SPIR-V module takes, read from the module.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace salvo::codegen::spirv {

/// A parameter of an entry point.
struct EntryParameter {
  enum class Kind : std::uint8_t { global, shared, value };
  Kind kind = Kind::value;
  std::uint32_t bytes = 8;  // of a value
};

/// Whether `code` starts as a module of this machine's byte order does, and has whole words.
bool is_module(std::string_view code) noexcept;

/// The parameters of the kernel `entry`; nothing if there is no such kernel, or one of its
/// parameters is none of these.
std::optional<std::vector<EntryParameter>> entry_parameters(std::span<const std::uint32_t> words,
                                                            std::string_view entry);

}  // namespace salvo::codegen::spirv
