// One OpenCL device: memory, code and work.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>

#include "backends/opencl/opencl_api.hpp"
#include "backends/opencl/opencl_executable.hpp"
#include "backends/opencl/opencl_properties.hpp"
#include "backends/opencl/opencl_queue.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::opencl {

inline cl_mem memory_of(runtime::Buffer buffer) noexcept {
  return reinterpret_cast<cl_mem>(buffer.handle);
}

class OpenclDevice final : public runtime::DeviceDriver {
 public:
  /// Opens a context and a queue.
  OpenclDevice(const Api& api, const DeviceFacts& facts);

  const DeviceProperties& properties() const noexcept override { return facts_.properties; }

  runtime::Buffer allocate(std::size_t bytes) override;
  void release(runtime::Buffer buffer) noexcept override;

  // Code: opencl_device_code.cpp.
  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override;
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override;
  std::unique_ptr<runtime::Executable> build_source(const runtime::UserSource& source) override;
  std::uint32_t preferred_block(const runtime::Executable* executable) const override;
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override;

  runtime::Queue& queue() noexcept override { return queue_; }
  void launch(runtime::Queue& queue, runtime::Executable& executable,
              const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments) override;
  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override;
  void read(runtime::Queue& queue, void* target, runtime::Buffer from, std::size_t offset,
            std::size_t bytes) override;
  void copy(runtime::Queue& queue, runtime::Buffer to, std::size_t to_offset, runtime::Buffer from,
            std::size_t from_offset, std::size_t bytes) override;
  void submit(runtime::Queue& queue) override;
  void finish(runtime::Queue& queue) override;

  std::unique_ptr<runtime::Queue> make_queue(int priority) override;
  std::unique_ptr<runtime::Event> make_event() override;
  void record(runtime::Queue& queue, runtime::Event& event) override;
  void wait(runtime::Queue& queue, runtime::Event& event) override;
  void wait(runtime::Event& event) override;
  bool reached(runtime::Event& event) override;
  double elapsed_ms(runtime::Event& first, runtime::Event& second) override;

  runtime::HostBlock allocate_host(std::size_t bytes) override;
  void release_host(runtime::HostBlock block) noexcept override;
  void write_async(runtime::Queue& queue, runtime::Buffer to, std::size_t offset,
                   const runtime::HostBlock& from, std::size_t from_offset,
                   std::size_t bytes) override;
  void read_async(runtime::Queue& queue, const runtime::HostBlock& to, std::size_t to_offset,
                  runtime::Buffer from, std::size_t offset, std::size_t bytes) override;

  runtime::CallCounts driver_calls() const override { return api_.calls(); }

 private:
  bool runs_serially(const ir::Kernel& kernel) const;
  ProgramHandle compile(std::string_view source, const std::vector<std::string>& options,
                        std::span<const std::byte> cached);
  std::unique_ptr<OpenclExecutable> load(ProgramHandle program, const std::string& entry);
  void set_arguments(const OpenclExecutable& executable, const runtime::LaunchShape& shape,
                     std::span<const runtime::Argument> arguments) const;

  const Api& api_;
  const DeviceFacts facts_;
  ContextHandle context_;
  OpenclQueue queue_;
};

}  // namespace salvo::backends::opencl
