// A kernel built for one OpenCL device, and how a launch's arguments become the kernel's.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "backends/opencl/opencl_api.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::opencl {

/// How one launch argument becomes kernel arguments.
struct ArgumentPlan {
  bool is_span = false;
  bool offset = true;     // span: its byte offset is passed
  bool length = false;    // span: its length is passed
  std::size_t bytes = 0;  // scalar
};

class OpenclExecutable final : public runtime::Executable {
 public:
  const Api* api = nullptr;
  ProgramHandle program;
  KernelHandle kernel;
  std::vector<ArgumentPlan> plan;  // a launch argument each
  bool serial = false;             // one work-item runs a block; see passes::serialize_block
  bool dynamic_shared = false;
  std::uint32_t max_threads = 1;
  std::uint32_t spill_bytes = 0;
  // A cl_kernel holds its arguments until it is enqueued (P4).
  std::mutex mutex;

  std::uint32_t max_threads_per_block() const noexcept override { return max_threads; }
  std::uint32_t spill_bytes_per_thread() const noexcept override { return spill_bytes; }
  std::vector<std::byte> binary() const override;
  std::optional<std::vector<runtime::SourceParameter>> source_parameters() const override;
};

}  // namespace salvo::backends::opencl
