// What a device hands out: queues, events and compiled kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "backends/opencl/opencl_api.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::opencl {

template <auto release>
struct Releaser {
  const Api* api = nullptr;
  template <typename T>
  void operator()(T* handle) const noexcept {
    (api->*release)(handle);
  }
};
template <typename T, auto release>
using Handle = std::unique_ptr<std::remove_pointer_t<T>, Releaser<release>>;

using ContextHandle = Handle<cl_context, &Api::ReleaseContext>;
using QueueHandle = Handle<cl_command_queue, &Api::ReleaseCommandQueue>;
using ProgramHandle = Handle<cl_program, &Api::ReleaseProgram>;
using KernelHandle = Handle<cl_kernel, &Api::ReleaseKernel>;
using EventHandle = Handle<cl_event, &Api::ReleaseEvent>;

class OpenclQueue final : public runtime::Queue {
 public:
  explicit OpenclQueue(QueueHandle handle) : handle_(std::move(handle)) {}
  cl_command_queue get() const noexcept { return handle_.get(); }

 private:
  QueueHandle handle_;
};

/// Holds no cl_event until it is recorded: OpenCL makes one with each command.
class OpenclEvent final : public runtime::Event {
 public:
  EventHandle handle;
};

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

inline cl_mem memory_of(runtime::Buffer buffer) noexcept {
  return reinterpret_cast<cl_mem>(buffer.handle);
}
inline cl_command_queue handle_of(runtime::Queue& queue) noexcept {
  return static_cast<OpenclQueue&>(queue).get();
}

}  // namespace salvo::backends::opencl
