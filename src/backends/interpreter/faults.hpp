// Words for what the interpreter finds wrong: names of elements and threads, and the error itself.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "backends/interpreter/checks.hpp"
#include "ir/kernel.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::interpreter {

/// A thread of a launch.
struct ThreadPlace {
  std::array<std::uint32_t, 3> thread{};
  std::array<std::uint32_t, 3> block{};
};

/// "x[5].pos.y": the leaf that `node` touches at `index`.
std::string element_name(const ir::Kernel& kernel, const ir::Node& node, const std::string& index);

/// "thread (1,0,0) of block (4,0,0)"
std::string to_string(const ThreadPlace& place);

/// An error of `node`, whose place in the kernel it carries. `operation` is "build" or "launch".
Error fault_at(const ir::Kernel& kernel, const ir::Node& node, Errc code, std::string operation,
               std::string message);

}  // namespace salvo::backends::interpreter
