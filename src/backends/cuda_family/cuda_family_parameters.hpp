// The block of bytes in which a launch passes a kernel's arguments.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/kernel.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::cuda_family {

/// Where each argument of a launch goes, worked out once per executable, so that a launch is a loop
/// of copies. The layout is that of the parameter lists that both code generators write: a span is
/// an address and, if its length is read, an i64 length; a scalar is itself, aligned to its size;
/// a table is an array of the one and, after it, of the other.
class ParameterBlock {
 public:
  /// What a launch's arguments are to the code.
  enum class Filled : std::uint8_t {
    aligned,    // spans lie as the code's first entry takes for granted
    unaligned,  // one does not
    refused,    // they do not stand for `arguments()` slots
  };

  ParameterBlock() = default;
  /// `alignments` are Program's.
  explicit ParameterBlock(const ir::Kernel& kernel, std::span<const std::uint32_t> alignments = {});

  std::size_t arguments() const noexcept { return entries_.size(); }
  std::size_t bytes() const noexcept { return bytes_; }
  /// `block` has `bytes()` bytes.
  [[nodiscard]] Filled fill(std::span<const runtime::Argument> arguments,
                            std::byte* block) const noexcept;

 private:
  struct Entry {
    std::uint32_t offset = 0;
    std::uint32_t length_offset = ir::kNone;
    std::uint32_t scalar_bytes = 0;  // 0: a span
    std::uint32_t misaligned = 0;    // bits that are 0 in a span's address if it lies well
  };

  std::vector<Entry> entries_;
  std::uint32_t bytes_ = 0;
};

/// What the parameters of `kernel` take, whether or not lengths are read: cheap, and never less.
runtime::ParameterCost parameter_cost(const ir::Kernel& kernel);

}  // namespace salvo::backends::cuda_family
