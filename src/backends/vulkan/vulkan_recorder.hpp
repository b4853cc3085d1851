// Records launches and copies into batches and submits them: W74 to W78.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "backends/vulkan/vulkan_batch.hpp"
#include "backends/vulkan/vulkan_executable.hpp"
#include "backends/vulkan/vulkan_hazards.hpp"
#include "backends/vulkan/vulkan_progress.hpp"
#include "runtime/backend.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::vulkan {

/// What a device was made to do, for tests and benchmarks.
struct Counters {
  std::uint64_t dispatches = 0;
  std::uint64_t barriers = 0;  // between commands of the device
  std::uint64_t submissions = 0;
};

/// All work of a device goes through one Vulkan queue, in batches with serial numbers.
/// Streams are labels: their commands never mix in a batch, and a batch of one is submitted before
/// another records. Thread-safe.
class Recorder {
 public:
  Recorder(const BatchContext& context, std::uint32_t batch_limit);
  /// Waits for what was submitted.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void launch(const runtime::Queue& stream, VulkanExecutable& executable,
              const runtime::LaunchShape& shape, std::span<const runtime::Argument> arguments);
  void write(const runtime::Queue& stream, Block& to, std::uint64_t offset, const std::byte* from,
             std::uint64_t bytes);
  void read(const runtime::Queue& stream, std::byte* to, Block& from, std::uint64_t offset,
            std::uint64_t bytes);
  void copy(const runtime::Queue& stream, Block& to, std::uint64_t to_offset, Block& from,
            std::uint64_t from_offset, std::uint64_t bytes);
  /// The driver's own fill: offset and bytes are multiples of 4.
  void fill(const runtime::Queue& stream, Block& to, std::uint64_t offset, std::uint32_t word,
            std::uint64_t bytes);
  /// Copies between a block and host memory of the backend's own, which stays untouched meanwhile.
  void write(const runtime::Queue& stream, Block& to, std::uint64_t offset, const Allocation& from,
             std::uint64_t from_offset, std::uint64_t bytes);
  void read(const runtime::Queue& stream, const Allocation& to, std::uint64_t to_offset,
            Block& from, std::uint64_t offset, std::uint64_t bytes);

  void submit();
  /// Throws the failures of batches, each once (W77).
  void finish();

  // Points in the work.
  /// Notes the device's time in `query` and returns the batch that does.
  std::uint64_t record(const runtime::Queue& stream, VkQueryPool query);
  void order_after();  // what follows waits for all that was recorded
  void wait(std::uint64_t serial);
  /// Failures that these two throw stay to be told: nobody marks what was lost.
  void complete(std::uint64_t serial);
  bool reached(std::uint64_t serial);

  // Frees are queued until pending work has completed (W75).
  void release(std::unique_ptr<Block> block);
  void retire(VkPipeline pipeline);
  void retire(VkQueryPool query);
  void retire(std::unique_ptr<Allocation> allocation);
  void retire(std::unique_ptr<BufferSets> sets);
  /// Frees what has become free; does nothing while another thread is in here.
  void tidy() noexcept;
  /// Waits for all work and frees what is queued; failures stay to be told.
  void drain() noexcept;

  Counters counters() const;
  VkQueue native_queue() const noexcept { return queue_; }

 private:
  /// Something to free once a batch has completed. One of them is set.
  struct Dead {
    std::uint64_t serial = 0;
    std::unique_ptr<Block> block;
    std::unique_ptr<Allocation> allocation;
    std::unique_ptr<BufferSets> sets;
    VkPipeline pipeline = VK_NULL_HANDLE;
    VkQueryPool query = VK_NULL_HANDLE;
  };

  /// Bytes that a command touches.
  struct Access {
    Block* block;
    std::uint64_t begin;
    std::uint64_t end;
    bool writes;
  };
  enum class Before : std::uint8_t { launch, copy };

  void open(const runtime::Queue& stream);
  void submit_open();
  void barrier(Before before);
  void order_copy(std::initializer_list<Access> accesses);
  void use(Block& block, std::uint64_t begin, std::uint64_t end, bool writes);
  void copy_command(VkBuffer from, std::uint64_t from_offset, VkBuffer to, std::uint64_t to_offset,
                    std::uint64_t bytes);
  void order_arguments(const VulkanExecutable& executable,
                       std::span<const runtime::Argument> arguments);
  using PushConstants = std::array<std::byte, kMostPushConstants>;
  void push_changed(const VulkanExecutable& executable, const PushConstants& push);
  void bind_arguments(const VulkanExecutable& executable,
                      std::span<const runtime::Argument> arguments);

  std::uint64_t completed();
  void wait_until(std::uint64_t serial);
  void throw_failure();
  void keep_failure(const Error& error);
  void recycle();
  void bury(Dead dead);
  void collect();
  void free_now(Dead& dead);

  const BatchContext& context_;
  const DeviceApi& api_;
  const std::uint32_t batch_limit_;
  VkQueue queue_ = nullptr;
  std::unique_ptr<Progress> progress_;

  mutable std::mutex mutex_;
  std::unique_ptr<Batch> open_;
  const runtime::Queue* stream_ = nullptr;  // of the open batch
  VkPipeline bound_ = VK_NULL_HANDLE;       // in the open batch
  PushConstants pushed_{};                  // in the open batch
  std::uint32_t pushed_bytes_ = 0;
  bool barrier_due_ = false;
  bool copied_ = false;         // since the last barrier
  bool launches_only_ = false;  // the last barrier did not order the copies after it
  bool host_reads_ = false;     // memory that the host sees was written in the open batch
  std::vector<std::unique_ptr<Batch>> running_;  // in order
  std::vector<std::unique_ptr<Batch>> idle_;
  std::uint64_t submitted_ = 0;
  std::atomic<std::uint64_t> completed_{0};
  Hazards hazards_;
  std::optional<Error> failure_;
  Counters counters_;
  Allocation readback_;

  // Of its own lock: frees come from destructors on any thread, also while another one waits.
  std::mutex dead_mutex_;
  std::vector<Dead> dead_;
  std::atomic<std::uint64_t> horizon_{0};  // serial of the last batch that anything is in
};

}  // namespace salvo::backends::vulkan
