// The stand-in's queues, command buffers and encoders: work is done when somebody waits for it.
// SPDX-License-Identifier: MIT
//
// Committing runs nothing. A wait, or a question for the status, runs what stands before it, and of
// another queue only what an event holds it up for. So what a backend forgets to order, or to wait
// for, comes out wrong each time.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "drivers/metal/objects.hpp"

namespace salvo::test::metal {
namespace {

/// Guards all queues, and is held while kernels run.
std::recursive_mutex& work_mutex() {
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  return mutex;
}
std::vector<Queue*>& queues() {
  static std::vector<Queue*>& all = *new std::vector<Queue*>;
  return all;
}

double now() {
  static double last = 0;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  return last = std::max(seconds, last + 1e-6);
}

constexpr std::size_t kCommandBuffers = 64;

/// Runs the next command of a queue. False if there is none, or it waits for an event.
bool step(Queue& queue) {
  if (queue.committed.empty()) return false;
  const Reference<CommandBuffer> first = queue.committed.front();
  CommandBuffer& buffer = *first.get();
  if (buffer.start == 0) buffer.start = now();
  if (!buffer.commands.empty()) {
    const Command& next = buffer.commands.front();
    if (next.is_ready && !next.is_ready()) return false;
    if (ErrorObject* const error = next.work()) {
      buffer.error = Reference<ErrorObject>(error);
      release(error);
    }
    buffer.commands.pop_front();
  }
  if (buffer.commands.empty()) {
    buffer.end = now();
    buffer.status = buffer.error ? kFailed : kCompleted;
    queue.committed.pop_front();
  }
  return true;
}

void run_until_done(CommandBuffer& buffer) {
  const std::lock_guard lock(work_mutex());
  if (buffer.status == kNotEnqueued) {
    return note_misuse("a command buffer was waited for before it was committed");
  }
  while (buffer.status < kCompleted) {
    if (step(*buffer.queue.get())) continue;
    // An event holds it up.
    const std::vector<Reference<Queue>> others(queues().begin(), queues().end());
    if (std::ranges::any_of(others, [](const auto& queue) { return step(*queue.get()); })) continue;
    note_misuse("a command buffer waits for what is never signalled");
    buffer.status = kFailed;
  }
}

template <typename Made>
Object* encoder(CommandBuffer* self) {
  if (self->encoder) note_misuse("two encoders were open at once");
  if (self->status != kNotEnqueued) note_misuse("a committed command buffer was encoded to");
  return autorelease(new Made(*self));
}

void dispatch(ComputeEncoder* self, Selector, Three blocks, Three threads) {
  if (!self->pipeline) return note_misuse("a dispatch without a pipeline");
  const Kernel& kernel = self->pipeline->kernel;
  const unsigned long count = threads[0] * threads[1] * threads[2];
  if (count == 0 || count > kMaxThreads || blocks[0] * blocks[1] * blocks[2] == 0) {
    return note_misuse(fmt::format("a dispatch of {} threads in a block", count));
  }
  if (kernel.has_shared && self->shared_bytes == 0) {
    return note_misuse(fmt::format("{} lacks its threadgroup memory", kernel.name));
  }
  // The arguments as they are now: the encoder's may change before the work is done.
  auto bound = std::make_shared<std::vector<Bound>>(self->bound);
  Dispatch what;
  what.entry = kernel.entry;
  what.hooks = self->pipeline->owner->hooks;
  what.threads_meet = self->pipeline->owner->threads_meet;
  what.flushes = driver_knobs().flushes;
  what.shared_bytes = self->shared_bytes;
  what.blocks = blocks;
  what.threads = threads;
  what.buffers.resize(kArguments);
  for (const unsigned number : kernel.buffers) {
    Bound& one = bound->at(number);
    if (one.buffer) {
      what.buffers[number] = one.buffer->bytes.data() + one.offset;
    } else if (one.bytes) {
      what.buffers[number] = one.bytes->data();
    } else {
      return note_misuse(fmt::format("{} lacks its buffer argument {}", kernel.name, number));
    }
  }
  auto pipeline = self->pipeline;
  self->commands->commands.push_back(
      {nullptr, [what = std::move(what), bound, pipeline]() -> ErrorObject* {
         const Knobs& knobs = driver_knobs();
         if (pipeline->kernel.name == knobs.failing_kernel) {
           return new ErrorObject(knobs.failure_code, "Caused GPU Hang Error (as the test asked)");
         }
         const std::string failed = run(what);
         return failed.empty() ? nullptr : new ErrorObject(1, failed);
       }});
}

void copy(BlitEncoder* self, Selector, Buffer* from, unsigned long from_offset, Buffer* to,
          unsigned long to_offset, unsigned long bytes) {
  if ((from_offset | to_offset | bytes) % 4 != 0 || bytes == 0) {
    return note_misuse("a blit that is no multiple of 4");
  }
  if (from_offset + bytes > from->bytes.size() || to_offset + bytes > to->bytes.size()) {
    return note_misuse("a blit beyond a buffer's end");
  }
  self->commands->commands.push_back(
      {nullptr, [=, source = Reference<Buffer>(from), target = Reference<Buffer>(to)] {
         std::memmove(target->bytes.data() + to_offset, source->bytes.data() + from_offset, bytes);
         return static_cast<ErrorObject*>(nullptr);
       }});
}

void end(Encoder* self, Selector) {
  if (std::exchange(self->ended, true)) note_misuse("an encoder was ended twice");
  self->commands->encoder = nullptr;
}

/// MTLSize, as the platform passes it.
struct SizeArgument {
  unsigned long width, height, depth;
};

}  // namespace

Queue::Queue() : Object(class_of("MTLCommandQueue")) {
  const std::lock_guard lock(work_mutex());
  queues().push_back(this);
}
Queue::~Queue() {
  const std::lock_guard lock(work_mutex());
  std::erase(queues(), this);
}

CommandBuffer::CommandBuffer(Queue* from) : Object(class_of("MTLCommandBuffer")), queue(from) {}

void define_commands() {
  class_of("MTLCommandQueue").method("commandBuffer", [](Queue* self, Selector) -> Object* {
    if (driver_knobs().out_of_command_buffers) return nullptr;
    // A queue has so many, and blocks for another.
    const std::lock_guard lock(work_mutex());
    while (self->committed.size() >= kCommandBuffers && step(*self)) continue;
    return autorelease(new CommandBuffer(self));
  });
  class_of("MTLCommandBuffer")
      .method("computeCommandEncoder",
              [](CommandBuffer* self, Selector) { return encoder<ComputeEncoder>(self); })
      .method("blitCommandEncoder",
              [](CommandBuffer* self, Selector) { return encoder<BlitEncoder>(self); })
      .method("encodeSignalEvent:value:",
              [](CommandBuffer* self, Selector, Event* event, std::uint64_t value) {
                if (self->encoder) note_misuse("an event was encoded inside an encoder");
                self->commands.push_back({nullptr, [value, to = Reference<Event>(event)] {
                                            to->value = std::max(to->value, value);
                                            return static_cast<ErrorObject*>(nullptr);
                                          }});
              })
      .method("encodeWaitForEvent:value:",
              [](CommandBuffer* self, Selector, Event* event, std::uint64_t value) {
                if (self->encoder) note_misuse("an event was encoded inside an encoder");
                self->commands.push_back(
                    {[value, on = Reference<Event>(event)] { return on->value >= value; },
                     [] { return static_cast<ErrorObject*>(nullptr); }});
              })
      .method("commit",
              [](CommandBuffer* self, Selector) {
                const std::lock_guard lock(work_mutex());
                if (self->encoder)
                  note_misuse("a command buffer was committed with an open encoder");
                if (self->status != kNotEnqueued)
                  note_misuse("a command buffer was committed twice");
                self->status = kCommitted;
                Queue& queue = *self->queue.get();
                queue.committed.emplace_back(self);
              })
      .method("waitUntilCompleted", [](CommandBuffer* self, Selector) { run_until_done(*self); })
      .method("status",
              [](CommandBuffer* self, Selector) -> unsigned long {
                const std::lock_guard lock(work_mutex());
                if (self->status == kCommitted) step(*self->queue.get());
                return self->status;
              })
      .method("error", [](CommandBuffer* self, Selector) -> Object* { return self->error.get(); })
      .method("GPUEndTime", [](CommandBuffer* self, Selector) { return self->end; });

  class_of("MTLComputeCommandEncoder")
      .method("setComputePipelineState:",
              [](ComputeEncoder* self, Selector, Pipeline* pipeline) {
                self->pipeline = Reference<Pipeline>(pipeline);
              })
      .method("setBuffer:offset:atIndex:",
              [](ComputeEncoder* self, Selector, Buffer* buffer, unsigned long offset,
                 unsigned long index) {
                if (index >= kArguments || !buffer || offset > buffer->bytes.size()) {
                  return note_misuse(fmt::format("buffer argument {} cannot be", index));
                }
                self->bound[index] = {Reference<Buffer>(buffer), offset, nullptr};
              })
      .method("setBytes:length:atIndex:",
              [](ComputeEncoder* self, Selector, const void* bytes, unsigned long length,
                 unsigned long index) {
                if (index >= kArguments || length == 0 || length > 4096) {
                  return note_misuse(fmt::format("{} bytes as argument {}", length, index));
                }
                auto kept = std::make_shared<std::vector<std::uint64_t>>((length + 7) / 8);
                std::memcpy(kept->data(), bytes, length);
                self->bound[index] = {{}, 0, std::move(kept)};
              })
      .method("setThreadgroupMemoryLength:atIndex:",
              [](ComputeEncoder* self, Selector, unsigned long bytes, unsigned long index) {
                if (bytes % 16 != 0 || bytes > kThreadgroupBytes || index != 0) {
                  return note_misuse(fmt::format("{} bytes of threadgroup memory", bytes));
                }
                self->shared_bytes = bytes;
              })
      .method(
          "dispatchThreadgroups:threadsPerThreadgroup:",
          [](ComputeEncoder* self, Selector selector, SizeArgument blocks, SizeArgument threads) {
            dispatch(self, selector, {blocks.width, blocks.height, blocks.depth},
                     {threads.width, threads.height, threads.depth});
          })
      .method("endEncoding", [](Encoder* self, Selector selector) { end(self, selector); });
  class_of("MTLBlitCommandEncoder")
      .method("copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", copy)
      .method("endEncoding", [](Encoder* self, Selector selector) { end(self, selector); });
}

}  // namespace salvo::test::metal
