// Records launches and copies into batches and submits them: W74 to W78.
// SPDX-License-Identifier: MIT
#include "backends/vulkan/vulkan_recorder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "backends/vulkan/vulkan_error.hpp"
#include "codegen/spirv/options.hpp"

namespace salvo::backends::vulkan {
namespace {

using runtime::AccessMode;
using runtime::Argument;

/// Batches on the device before a launch waits for the oldest.
constexpr std::size_t kMostRunning = 64;
constexpr std::uint64_t kReadback = std::uint64_t{16} << 20;

constexpr VkPipelineStageFlags kLaunches = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
constexpr VkPipelineStageFlags kStages = kLaunches | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kShaderWrites = VK_ACCESS_SHADER_WRITE_BIT;
constexpr VkAccessFlags kShader = kShaderWrites | VK_ACCESS_SHADER_READ_BIT;
constexpr VkAccessFlags kWrites = kShaderWrites | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kAll = kWrites | kShader | VK_ACCESS_TRANSFER_READ_BIT;

Block* block_of(const runtime::Buffer& buffer) {
  return reinterpret_cast<Block*>(buffer.handle);
}

bool writes(AccessMode access) {
  return access == AccessMode::write || access == AccessMode::read_write;
}

}  // namespace

Recorder::Recorder(const BatchContext& context, std::uint32_t batch_limit)
    : context_(context),
      api_(context.api),
      batch_limit_(batch_limit),
      progress_(Progress::make(context.api, context.device, context.facts)) {
  api_.GetDeviceQueue(context_.device, context_.facts.queue_family, 0, &queue_);
}

Recorder::~Recorder() {
  // W74: destroying the device submits. Nobody is left to be told of a failure.
  if (open_) submit_open();
  api_.DeviceWaitIdle(context_.device);
  for (Dead& dead : dead_) free_now(dead);
  if (readback_.buffer != VK_NULL_HANDLE) context_.memory.destroy(readback_);
  running_.clear();
  idle_.clear();
}

// Batches.

void Recorder::open(const runtime::Queue& stream) {
  if (open_ && stream_ != &stream) submit_open();
  if (open_) return;
  if (idle_.empty()) recycle();
  if (idle_.empty() && running_.size() >= kMostRunning) {
    wait_until(running_.front()->serial);
    recycle();
  }
  std::unique_ptr<Batch> batch;
  if (idle_.empty()) {
    batch = std::make_unique<Batch>(context_);
  } else {
    batch = std::move(idle_.back());
    idle_.pop_back();
  }
  batch->begin();
  open_ = std::move(batch);
  stream_ = &stream;
  bound_ = VK_NULL_HANDLE;
  pushed_bytes_ = 0;
  horizon_.store(submitted_ + 1, std::memory_order_release);
}

void Recorder::submit_open() {
  if (!open_) return;
  std::unique_ptr<Batch> batch = std::move(open_);
  const std::uint64_t serial = submitted_ + 1;
  if (host_reads_) {
    // The host reads what is mapped without any further command.
    VkMemoryBarrier to_host{};
    to_host.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
    to_host.srcAccessMask = kWrites;
    to_host.dstAccessMask = VK_ACCESS_HOST_READ_BIT;
    api_.CmdPipelineBarrier(batch->commands(), kStages, VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host,
                            0, nullptr, 0, nullptr);
    host_reads_ = false;
  }
  const char* operation = "vkEndCommandBuffer";
  VkResult status = api_.EndCommandBuffer(batch->commands());
  if (status == VK_SUCCESS) {
    operation = "vkQueueSubmit";
    status = progress_->submit(queue_, batch->commands(), serial);
    ++counters_.submissions;
  }
  if (status != VK_SUCCESS) {
    // Told by the next call that waits: the launches themselves have returned long ago (W77).
    const Error error = failure(status, operation, Errc::launch_failed);
    Error::Details details = error.details();
    details.kernel = batch->kernels();
    if (!details.kernel.empty()) details.message += "; the batch held " + details.kernel;
    keep_failure(Error(std::move(details)));
    idle_.push_back(std::move(batch));
    // Its barriers went with it.
    barrier_due_ = copied_ = true;
    horizon_.store(submitted_, std::memory_order_release);
    return;
  }
  batch->serial = submitted_ = serial;
  running_.push_back(std::move(batch));
  collect();
}

void Recorder::recycle() {
  if (running_.empty()) return;
  const std::uint64_t done = completed();
  const auto first = std::find_if(running_.begin(), running_.end(),
                                  [&](const auto& batch) { return batch->serial > done; });
  std::move(running_.begin(), first, std::back_inserter(idle_));
  running_.erase(running_.begin(), first);
}

std::uint64_t Recorder::completed() {
  if (completed_ == submitted_) return completed_;
  std::uint64_t value = 0;
  // A lost device is reported by the next submission or wait.
  if (progress_->completed(value) == VK_SUCCESS) completed_ = value;
  return completed_;
}

void Recorder::wait_until(std::uint64_t serial) {
  serial = std::min(serial, submitted_);
  if (serial <= completed_) return;
  const VkResult status = progress_->wait(serial);
  if (status == VK_SUCCESS) {
    completed_ = std::max(completed_.load(), serial);
    return;
  }
  Error::Details details = failure(status, progress_->waits_by(), Errc::launch_failed).details();
  details.may_have_started = true;
  std::string kernels;
  for (const auto& batch : running_) {
    const std::string names = batch->kernels();
    if (names.empty()) continue;
    kernels += (kernels.empty() ? "" : ", ") + names;
    batch->forget_kernels();
  }
  details.kernel = kernels;
  if (!kernels.empty()) details.message += "; pending were " + kernels;
  keep_failure(Error(std::move(details)));
}

void Recorder::keep_failure(const Error& error) {
  failure_ = failure_ ? failure_->with_others({error}) : error;
}

void Recorder::throw_failure() {
  if (!failure_) return;
  const Error first = *failure_;
  failure_.reset();
  throw first;
}

void Recorder::submit() {
  const std::lock_guard lock(mutex_);
  submit_open();
}

void Recorder::finish() {
  const std::lock_guard lock(mutex_);
  submit_open();
  wait_until(submitted_);
  recycle();
  collect();
  throw_failure();
}

void Recorder::drain() noexcept {
  const std::lock_guard lock(mutex_);
  submit_open();
  wait_until(submitted_);
  recycle();
  collect();
}

// Order.

void Recorder::barrier(Before before) {
  // Copies are left out where only launches take part: a driver waits for less.
  const bool copies = copied_ || before == Before::copy;
  VkMemoryBarrier memory{};
  memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
  memory.srcAccessMask = copies ? kWrites : kShaderWrites;
  memory.dstAccessMask = copies ? kAll : kShader;
  const VkPipelineStageFlags stages = copies ? kStages : kLaunches;
  api_.CmdPipelineBarrier(open_->commands(), stages, stages, 0, 1, &memory, 0, nullptr, 0, nullptr);
  ++counters_.barriers;
  hazards_.clear();
  barrier_due_ = false;
  copied_ = false;
  launches_only_ = !copies;
}

void Recorder::use(Block& block, std::uint64_t begin, std::uint64_t end, bool writes_it) {
  hazards_.note(block, begin, end, writes_it);
  block.last_use = submitted_ + 1;
  if (writes_it && block.mapped()) host_reads_ = true;
}

void Recorder::order_copy(std::initializer_list<Access> accesses) {
  const bool depends =
      barrier_due_ || launches_only_ || hazards_.full() ||
      std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
        return hazards_.conflicts(*access.block, access.begin, access.end, access.writes);
      });
  if (depends) barrier(Before::copy);
  for (const Access& access : accesses) {
    use(*access.block, access.begin, access.end, access.writes);
  }
  copied_ = true;
}

void Recorder::order_arguments(const VulkanExecutable& executable,
                               std::span<const Argument> arguments) {
  const auto plan = executable.plan();
  const auto each_access = [&](const auto& visit) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      const Argument& argument = arguments[i];
      if (!plan[i].is_span || !argument.buffer || argument.access == AccessMode::none) continue;
      const std::uint64_t end = argument.byte_offset + argument.length * plan[i].element_bytes;
      if (end == argument.byte_offset) continue;
      visit(*block_of(argument.buffer), argument.byte_offset, end, writes(argument.access));
    }
  };
  bool depends = barrier_due_ || hazards_.full();
  each_access([&](Block& block, std::uint64_t begin, std::uint64_t end, bool writes_it) {
    depends = depends || hazards_.conflicts(block, begin, end, writes_it);
  });
  if (depends) barrier(Before::launch);
  each_access([&](Block& block, std::uint64_t begin, std::uint64_t end, bool writes_it) {
    use(block, begin, end, writes_it);
  });
}

void Recorder::order_after() {
  const std::lock_guard lock(mutex_);
  barrier_due_ = true;
}

// Launches.

void Recorder::bind_arguments(const VulkanExecutable& executable,
                              std::span<const Argument> arguments) {
  PushConstants push{};
  std::byte* values = push.data();
  std::byte* addresses = push.data();
  const VkCommandBuffer commands = open_->commands();
  if (executable.table_bytes() != 0) {
    const Batch::Table table = open_->table(executable.table_bytes());
    if (executable.addresses_in_table()) addresses = table.data;
    if (executable.values_in_table()) values = table.data;
    api_.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                               executable.pipeline_layout(), codegen::spirv::kTableSet, 1,
                               &table.set, 1, &table.offset);
  }
  if (BufferSets* sets = executable.sets()) {
    const VkDescriptorSet set = sets->set(arguments, submitted_ + 1, completed_);
    if (set != VK_NULL_HANDLE) {
      api_.CmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE,
                                 executable.pipeline_layout(), codegen::spirv::kBufferSet, 1, &set,
                                 0, nullptr);
    }
  }
  const auto plan = executable.plan();
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const ArgumentPlan& to = plan[i];
    const Argument& argument = arguments[i];
    std::uint64_t value = argument.bits;
    if (to.is_span) {
      value = argument.length;
      const std::uint64_t address =
          argument.buffer ? block_of(argument.buffer)->address() + argument.byte_offset : 0;
      std::memcpy(addresses + to.address, &address, sizeof(address));
    }
    // Of a size that the compiler knows.
    if (to.value_bytes == sizeof(value)) {
      std::memcpy(values + to.value, &value, sizeof(value));
    } else {
      std::memcpy(values + to.value, &value, sizeof(std::uint32_t));
    }
  }
  push_changed(executable, push);
}

/// What an earlier launch of the batch pushed is still there: all layouts have the same range.
void Recorder::push_changed(const VulkanExecutable& executable, const PushConstants& push) {
  constexpr std::uint32_t kWord = 8;
  const std::uint32_t bytes = executable.push_bytes();
  std::uint32_t first = 0;
  while (first < bytes && first < pushed_bytes_ &&
         std::memcmp(push.data() + first, pushed_.data() + first, kWord) == 0) {
    first += kWord;
  }
  if (first >= bytes) return;
  std::uint32_t last = bytes;
  while (last <= pushed_bytes_ && last >= first + 2 * kWord &&
         std::memcmp(push.data() + last - kWord, pushed_.data() + last - kWord, kWord) == 0) {
    last -= kWord;
  }
  api_.CmdPushConstants(open_->commands(), executable.pipeline_layout(),
                        VK_SHADER_STAGE_COMPUTE_BIT, first, last - first, push.data() + first);
  std::memcpy(pushed_.data() + first, push.data() + first, last - first);
  pushed_bytes_ = std::max(pushed_bytes_, bytes);
}

void Recorder::launch(const runtime::Queue& stream, VulkanExecutable& executable,
                      const runtime::LaunchShape& shape, std::span<const Argument> arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (executable.plan()[i].is_span &&
        arguments[i].length > std::uint64_t{std::numeric_limits<std::int32_t>::max()}) {
      throw Error(Error::Details{
          .code = Errc::unsupported,
          .message =
              fmt::format("vectors of {} elements: a length is 32 bits here", arguments[i].length),
          .backend = std::string(kName),
          .operation = "launch"});
    }
  }
  const std::lock_guard lock(mutex_);
  const VkPipeline pipeline = executable.pipeline(shape);
  open(stream);
  order_arguments(executable, arguments);
  const VkCommandBuffer commands = open_->commands();
  if (bound_ != pipeline) {
    api_.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    bound_ = pipeline;
  }
  bind_arguments(executable, arguments);
  api_.CmdDispatch(commands, shape.grid[0], shape.grid[1], shape.grid[2]);
  open_->add(executable.name());
  ++counters_.dispatches;
  if (open_->dispatches() < batch_limit_) return;
  submit_open();
  if (batch_limit_ > 1) return;
  wait_until(submitted_);  // W78
  throw_failure();
}

// Copies.

void Recorder::copy_command(VkBuffer from, std::uint64_t from_offset, VkBuffer to,
                            std::uint64_t to_offset, std::uint64_t bytes) {
  const VkBufferCopy region{from_offset, to_offset, bytes};
  api_.CmdCopyBuffer(open_->commands(), from, to, 1, &region);
}

void Recorder::write(const runtime::Queue& stream, Block& to, std::uint64_t offset,
                     const std::byte* from, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (to.mapped() && to.last_use <= completed()) {
    std::memcpy(to.mapped() + offset, from, bytes);
    return;
  }
  while (bytes != 0) {
    open(stream);
    const Batch::Staged staged = open_->upload(bytes);
    if (staged.bytes == 0) {
      submit_open();
      continue;
    }
    std::memcpy(staged.data, from, staged.bytes);
    order_copy({{&to, offset, offset + staged.bytes, true}});
    copy_command(staged.buffer, staged.offset, to.allocation->buffer, to.offset + offset,
                 staged.bytes);
    from += staged.bytes;
    offset += staged.bytes;
    bytes -= staged.bytes;
  }
}

void Recorder::read(const runtime::Queue& stream, std::byte* to, Block& from, std::uint64_t offset,
                    std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  if (from.mapped()) {
    submit_open();
    wait_until(from.last_use);
    throw_failure();
    std::memcpy(to, from.mapped() + offset, bytes);
    return;
  }
  if (readback_.buffer == VK_NULL_HANDLE) {
    readback_ = context_.memory.make(Use::readback, kReadback);
  }
  while (bytes != 0) {
    const std::uint64_t part = std::min(bytes, kReadback);
    open(stream);
    order_copy({{&from, offset, offset + part, false}});
    copy_command(from.allocation->buffer, from.offset + offset, readback_.buffer, 0, part);
    host_reads_ = true;
    submit_open();
    wait_until(submitted_);
    throw_failure();
    std::memcpy(to, readback_.mapped, part);
    to += part;
    offset += part;
    bytes -= part;
  }
  recycle();
  collect();
}

void Recorder::copy(const runtime::Queue& stream, Block& to, std::uint64_t to_offset, Block& from,
                    std::uint64_t from_offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  open(stream);
  order_copy({{&from, from_offset, from_offset + bytes, false},
              {&to, to_offset, to_offset + bytes, true}});
  copy_command(from.allocation->buffer, from.offset + from_offset, to.allocation->buffer,
               to.offset + to_offset, bytes);
}

void Recorder::fill(const runtime::Queue& stream, Block& to, std::uint64_t offset,
                    std::uint32_t word, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  open(stream);
  order_copy({{&to, offset, offset + bytes, true}});
  api_.CmdFillBuffer(open_->commands(), to.allocation->buffer, to.offset + offset, bytes, word);
}

void Recorder::write(const runtime::Queue& stream, Block& to, std::uint64_t offset,
                     const Allocation& from, std::uint64_t from_offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  open(stream);
  order_copy({{&to, offset, offset + bytes, true}});
  copy_command(from.buffer, from_offset, to.allocation->buffer, to.offset + offset, bytes);
}

void Recorder::read(const runtime::Queue& stream, const Allocation& to, std::uint64_t to_offset,
                    Block& from, std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  open(stream);
  order_copy({{&from, offset, offset + bytes, false}});
  copy_command(from.allocation->buffer, from.offset + offset, to.buffer, to_offset, bytes);
  host_reads_ = true;
}

// Points in the work.

std::uint64_t Recorder::record(const runtime::Queue& stream, VkQueryPool query) {
  const std::lock_guard lock(mutex_);
  open(stream);
  if (query != VK_NULL_HANDLE) {
    api_.CmdResetQueryPool(open_->commands(), query, 0, 1);
    api_.CmdWriteTimestamp(open_->commands(), VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, query, 0);
  }
  return submitted_ + 1;
}

void Recorder::wait(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  if (serial > submitted_) submit_open();
  wait_until(serial);
  throw_failure();
}

void Recorder::complete(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  if (serial > submitted_) submit_open();
  wait_until(serial);
  if (failure_) throw Error(*failure_);
}

bool Recorder::reached(std::uint64_t serial) {
  const std::lock_guard lock(mutex_);
  if (serial > submitted_) submit_open();
  // A batch that could not be submitted is never reached, however often one asks.
  if (serial > submitted_ && failure_) throw Error(*failure_);
  return serial <= completed();
}

// Frees.

void Recorder::free_now(Dead& dead) {
  if (dead.block) context_.memory.release(std::move(dead.block));
  if (dead.allocation) context_.memory.destroy(*dead.allocation);
  if (dead.pipeline != VK_NULL_HANDLE) {
    api_.DestroyPipeline(context_.device, dead.pipeline, nullptr);
  }
  dead.sets.reset();
  if (dead.query != VK_NULL_HANDLE) api_.DestroyQueryPool(context_.device, dead.query, nullptr);
}

void Recorder::bury(Dead dead) {
  dead.serial = horizon_.load(std::memory_order_acquire);
  if (dead.serial <= completed_.load(std::memory_order_acquire)) return free_now(dead);
  const std::lock_guard lock(dead_mutex_);
  dead_.push_back(std::move(dead));
}

void Recorder::tidy() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock.owns_lock()) collect();
}

void Recorder::collect() {
  const std::lock_guard lock(dead_mutex_);
  if (dead_.empty()) return;
  const std::uint64_t done = completed();
  const auto first = std::partition(dead_.begin(), dead_.end(),
                                    [&](const Dead& dead) { return dead.serial > done; });
  for (auto dead = first; dead != dead_.end(); ++dead) free_now(*dead);
  dead_.erase(first, dead_.end());
}

void Recorder::release(std::unique_ptr<Block> block) {
  Dead dead;
  dead.block = std::move(block);
  bury(std::move(dead));
}
void Recorder::retire(VkPipeline pipeline) {
  Dead dead;
  dead.pipeline = pipeline;
  bury(std::move(dead));
}
void Recorder::retire(VkQueryPool query) {
  Dead dead;
  dead.query = query;
  bury(std::move(dead));
}
void Recorder::retire(std::unique_ptr<BufferSets> sets) {
  Dead dead;
  dead.sets = std::move(sets);
  bury(std::move(dead));
}
void Recorder::retire(std::unique_ptr<Allocation> allocation) {
  Dead dead;
  dead.allocation = std::move(allocation);
  bury(std::move(dead));
}

Counters Recorder::counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

}  // namespace salvo::backends::vulkan
