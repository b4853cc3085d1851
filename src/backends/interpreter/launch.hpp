// Runs all blocks of a launch, one after another or on several threads of the host.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/interpreter/code.hpp"
#include "backends/interpreter/machine.hpp"
#include "backends/interpreter/options.hpp"

namespace salvo::backends::interpreter {

/// Runs a launch to its end. Throws salvo::Error with the first fault of the lowest block that has
/// one, the same with any number of workers: a launch in which some worker finds a fault is undone
/// and run again in order. What was stored before the fault stays. `moment` is the first one that
/// no launch has used, 1 at first; it moves on.
void launch(const Code& code, const runtime::LaunchShape& shape,
            std::span<const BoundArgument> arguments, const Options& options,
            std::uint64_t& moment);

/// One argument on plain memory of the host: a span, or the bits of a scalar.
struct HostArgument {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t length = 0;  // elements
  std::uint64_t bits = 0;
  bool written = true;  // false: reading an element before the kernel stores it is a fault

  template <class T>
  static HostArgument of(std::span<T> elements, bool written = true) {
    return {elements.data(), elements.size_bytes(), elements.size(), 0, written};
  }
  /// Bits as runtime::Argument holds them.
  static HostArgument scalar(std::uint64_t bits) { return {nullptr, 0, 0, bits, true}; }
};

/// Runs a kernel on memory of the host, without device or backend. Spans may overlap.
void run(const ir::Kernel& kernel, const runtime::LaunchShape& shape,
         std::span<const HostArgument> arguments, const Options& options = {});

}  // namespace salvo::backends::interpreter
