// One Level Zero device: memory, code and work.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "backends/level_zero/level_zero_backend.hpp"
#include "backends/level_zero/level_zero_queue.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::level_zero {

class LevelZeroDevice final : public runtime::DeviceDriver {
 public:
  /// Opens a context and a command list.
  LevelZeroDevice(const Api& api, const DeviceFacts& facts, const Settings& settings);

  const DeviceProperties& properties() const noexcept override { return facts_.properties; }

  runtime::Buffer allocate(std::size_t bytes) override;
  void release(runtime::Buffer buffer) noexcept override;

  // Code: level_zero_device_code.cpp.
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
  runtime::HostBlock register_host(void* data, std::size_t bytes) override;
  void unregister_host(runtime::HostBlock block) noexcept override;
  void write_async(runtime::Queue& queue, runtime::Buffer to, std::size_t offset,
                   const runtime::HostBlock& from, std::size_t from_offset,
                   std::size_t bytes) override;
  void read_async(runtime::Queue& queue, const runtime::HostBlock& to, std::size_t to_offset,
                  runtime::Buffer from, std::size_t offset, std::size_t bytes) override;

  runtime::CallCounts driver_calls() const override;

  /// The driver's own memory fill, which nothing here uses: `pattern_bytes` are a power of two.
  void fill(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* pattern,
            std::size_t pattern_bytes, std::size_t bytes);

 private:
  void append_copy(runtime::Queue& queue, void* to, const void* from, std::size_t bytes);

  const Api& api_;
  const DeviceFacts& facts_;
  DeviceContext context_;
  LevelZeroQueue queue_;
};

}  // namespace salvo::backends::level_zero
