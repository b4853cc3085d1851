// The host's cores as one device.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/native/native_backend.hpp"
#include "backends/native/native_compiler.hpp"
#include "backends/native/native_executable.hpp"
#include "backends/native/native_scheduler.hpp"
#include "codegen/llvm/emitter.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::native {

/// Work is done before the call that asks for it returns, so that every queue is in order with all
/// others and an event is a moment of the past.
class NativeDevice final : public runtime::DeviceDriver {
 public:
  NativeDevice(const Api& api, const Settings& settings);

  const DeviceProperties& properties() const noexcept override { return properties_; }
  const Scheduler& scheduler() const noexcept { return scheduler_; }

  runtime::Buffer allocate(std::size_t bytes) override;
  void release(runtime::Buffer buffer) noexcept override;
  bool works_on_host_memory() const noexcept override { return true; }

  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override;
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override;
  std::unique_ptr<runtime::Executable> build_source(const runtime::UserSource& source) override;
  std::string build_identity() const override;
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

  /// Of the host's memory any address is taken but null: what lies there cannot be asked.
  runtime::Buffer adopt(std::uint64_t address, std::size_t bytes) override;

 private:
  class HostQueue final : public runtime::Queue {};

  void fill_record(const NativeExecutable& code, const runtime::LaunchShape& shape,
                   std::span<const runtime::Argument> arguments, codegen::llvm::LaunchFault* fault);
  void run_blocks(const NativeExecutable& code, const runtime::LaunchShape& shape);

  const Api& api_;
  const Settings settings_;
  const Scheduler scheduler_;
  const Compiler compiler_;
  const codegen::llvm::EmitOptions emit_;
  const DeviceProperties properties_;
  HostQueue queue_;

  // Kept from launch to launch, so that a repeat allocates nothing.
  std::vector<codegen::llvm::LaunchArgument> record_;
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> scratch_;
  std::size_t scratch_bytes_ = 0;
};

}  // namespace salvo::backends::native
