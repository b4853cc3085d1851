// One device of a CUDA-shaped driver: context, memory, launches.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda_family/cuda_family_error.hpp"
#include "backends/cuda_family/cuda_family_executable.hpp"
#include "backends/cuda_family/cuda_family_properties.hpp"
#include "backends/cuda_family/cuda_family_queue.hpp"
#include "backends/cuda_family/cuda_family_replay.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::cuda_family {

/// The primary context, shared with every other CUDA library in the process.
class PrimaryContext {
 public:
  PrimaryContext(const Reporter& reporter, Ordinal ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;
  Context get() const noexcept { return context_; }

 private:
  const Reporter& reporter_;
  Ordinal ordinal_;
  Context context_ = nullptr;
};

class FamilyDevice : public runtime::DeviceDriver {
 public:
  using Buffer = runtime::Buffer;

  FamilyDevice(const Api& api, const DeviceFacts& facts, std::string_view backend);
  ~FamilyDevice() override;

  const DeviceProperties& properties() const noexcept override { return facts_.properties; }

  runtime::Buffer allocate(std::size_t bytes) override;
  void release(runtime::Buffer buffer) noexcept override;

  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override;
  std::unique_ptr<runtime::Executable> build_source(const runtime::UserSource& source) override;
  std::uint32_t preferred_block(const runtime::Executable* executable) const override;
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override;

  runtime::Queue& queue() noexcept override { return *queue_; }
  void launch(runtime::Queue& queue, runtime::Executable& executable,
              const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments) override;
  bool takes_repeats() const noexcept override { return true; }
  bool replay(runtime::Queue& queue, std::span<const runtime::LaunchCommand> commands) override;
  std::size_t shortest_replay() const noexcept override { return 8; }
  runtime::CallCounts driver_calls() const override {
    return reporter_.api().counts(reporter_.api());
  }
  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override;
  void read(runtime::Queue& queue, void* target, runtime::Buffer from, std::size_t offset,
            std::size_t bytes) override;
  void copy(runtime::Queue& queue, runtime::Buffer to, std::size_t to_offset, runtime::Buffer from,
            std::size_t from_offset, std::size_t bytes) override;
  bool copy_from(runtime::Queue& queue, Buffer to, std::size_t to_offset,
                 runtime::DeviceDriver& source, runtime::Queue& source_queue, Buffer from,
                 std::size_t from_offset, std::size_t bytes) override;
  Buffer adopt(std::uint64_t address, std::size_t bytes) override;
  std::unique_ptr<runtime::Queue> adopt_queue(std::uintptr_t native) override;
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

 protected:
  using Image = std::vector<std::byte>;

  /// Machine code for `program`. Throws Errc::compile_failed.
  virtual Image compile(const runtime::Program& program) const = 0;
  /// Changes a program so that blocks of so many threads are possible, whatever that costs it.
  /// False where the compiler does not let itself be told.
  virtual bool bound(runtime::Program& /*program*/, std::uint32_t /*threads*/) const {
    return false;
  }
  /// What `compile` compiles, as `build_source` calls it.
  virtual std::string_view language() const noexcept = 0;

  /// Compiles PTX by the driver's own assembler.
  Image assemble(const std::string& ptx, const std::string& name) const;
  const DeviceFacts& facts() const noexcept { return facts_; }
  const Reporter& reporter() const noexcept { return reporter_; }

 private:
  std::unique_ptr<FamilyExecutable> load(const ir::Kernel& kernel, const runtime::Program& program,
                                         Image image) const;
  /// What starts blocks that `code` has too many registers for; `code` if there is nothing else.
  FamilyExecutable& for_large_blocks(FamilyExecutable& code) const;
  /// Arguments by `pointers`, one for each, or by `block`, in which they are packed.
  void start(runtime::Queue& queue, KernelHandle kernel, const runtime::LaunchShape& shape,
             void** pointers, void** block);
  Address allocate_pooled(std::size_t bytes);
  /// Lets this device reach the other's memory, as far as the machine has a way; asked once.
  void reach(FamilyDevice& other);

  Reporter reporter_;
  const DeviceFacts facts_;
  PrimaryContext context_;
  std::unique_ptr<FamilyQueue> queue_;
  std::unique_ptr<FamilyQueue> memory_queue_;  // orders allocations; null without pools
  Pool pool_ = nullptr;
  std::atomic<std::uint32_t> pinned_blocks_{0};
  std::mutex reached_lock_;
  std::set<Ordinal> reached_;  // devices whose memory this one was given a way to
  std::unique_ptr<Replay> replay_;
};

}  // namespace salvo::backends::cuda_family
