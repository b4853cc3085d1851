// A compiled kernel, and how the arguments of a launch become arguments of it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "backends/metal/metal_compiler.hpp"
#include "runtime/backend.hpp"
#include "runtime/launched_names.hpp"

namespace salvo::backends::metal {

/// One launch argument.
struct ArgumentPlan {
  bool is_span = false;
  bool length = false;    // span: its length is passed, after it
  std::size_t bytes = 0;  // scalar
};

class MetalExecutable final : public runtime::Executable {
 public:
  MetalExecutable(Pipeline compiled, const std::string& kernel)
      : pipeline(std::move(compiled)), kernel_name(std::make_shared<const std::string>(kernel)) {}

  std::uint32_t max_threads_per_block() const noexcept override { return pipeline.max_threads; }

  const Pipeline pipeline;
  const runtime::KernelName kernel_name;
  std::vector<ArgumentPlan> plan;  // a launch argument each
  bool has_plan = true;            // false for a user's source: arguments are taken as they come
  bool dynamic_shared = false;
};

}  // namespace salvo::backends::metal
