// One Metal device: memory, code and work.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "backends/metal/metal_executable.hpp"
#include "backends/metal/metal_properties.hpp"
#include "backends/metal/metal_queue.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::metal {

class MetalDevice final : public runtime::DeviceDriver {
 public:
  /// Both outlive it.
  MetalDevice(const Api& api, const DeviceFacts& facts);

  const DeviceProperties& properties() const noexcept override { return facts_.properties; }

  runtime::Buffer allocate(std::size_t bytes) override;
  void release(runtime::Buffer buffer) noexcept override;

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override;
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override;
  std::uint32_t preferred_block(const runtime::Executable* executable) const override;
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override;

  runtime::Queue& queue() noexcept override { return *queue_; }
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

  std::unique_ptr<runtime::Executable> build_source(const runtime::UserSource& source) override;

  std::string build_identity() const override { return facts_.properties.platform; }
  runtime::CallCounts driver_calls() const override { return api_.calls(); }

 private:
  Owned new_buffer(std::size_t bytes, UInt options) const;
  Owned new_queue() const;
  /// Whether nothing is on its way on the default queue and no other queue was ever made.
  bool is_idle() const;
  void encode_copy(MetalQueue& queue, Id to, std::size_t to_offset, Id from,
                   std::size_t from_offset, std::size_t bytes) const;
  void encode_arguments(Id encoder, const MetalExecutable& code,
                        std::span<const runtime::Argument> arguments) const;

  const Api& api_;
  const DeviceFacts& facts_;
  const Owned nothing_;  // bound where a span has no buffer
  std::unique_ptr<MetalQueue> queue_;
  std::atomic<bool> has_streams_{false};
};

}  // namespace salvo::backends::metal
