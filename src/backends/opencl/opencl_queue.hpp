// Queues and events of an OpenCL device.
// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include "backends/opencl/opencl_api.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::opencl {

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

inline cl_command_queue handle_of(runtime::Queue& queue) noexcept {
  return static_cast<OpenclQueue&>(queue).get();
}

}  // namespace salvo::backends::opencl
