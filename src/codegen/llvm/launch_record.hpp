// What a Native kernel is handed for a launch: the layout that host and generated code share.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace salvo::codegen::llvm {

/// An argument: for a span the address of its first element, for a scalar its bits.
struct LaunchArgument {
  std::uint64_t value = 0;
  std::uint64_t length = 0;  // span: elements
};

/// The first access out of bounds that a launch met; written by the generated code.
struct LaunchFault {
  std::uint32_t taken = 0;  // set once, by the thread that writes the rest
  std::uint32_t node = 0;
  std::int64_t index = 0;
  std::uint64_t length = 0;  // elements there are
  std::uint32_t thread[3] = {};
  std::uint32_t block[3] = {};
};

/// Followed by the arguments, in the order of the parameters, tables spread out.
struct LaunchRecord {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t dynamic_shared_bytes = 0;
  std::uint32_t unused = 0;
  LaunchFault* fault = nullptr;
  std::uint64_t reserved = 0;  // arguments start at a multiple of 16

  static constexpr std::size_t kArguments = 48;
};
static_assert(sizeof(LaunchRecord) == LaunchRecord::kArguments);

/// What the host must know of a kernel to launch it; a constant of the object file, beside the
/// entry function.
struct KernelFacts {
  std::uint64_t scratch_bytes = 0;  // for each vector of threads of a block
  std::uint64_t work = 0;           // rough number of operations of a thread
};

/// The entry function: runs blocks `first` up to `last` of the grid, x first, one after another.
/// `scratch` has room for the vectors of one block and is aligned to 64 bytes.
using KernelEntry = void (*)(const LaunchRecord* launch, std::uint64_t first, std::uint64_t last,
                             std::byte* scratch);

}  // namespace salvo::codegen::llvm
