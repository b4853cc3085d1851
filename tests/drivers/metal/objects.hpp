// The stand-in's objects: Foundation's and Metal's, as far as the backend uses them.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drivers/metal/compiler.hpp"
#include "drivers/metal/control.hpp"
#include "drivers/metal/runtime.hpp"

namespace salvo::test::metal {

Knobs& driver_knobs();
std::string last_source();
/// Makes all classes, once.
void define_classes();
void define_foundation();
void define_device();
void define_commands();

struct String : Object {
  explicit String(std::string content) : Object(class_of("NSString")), text(std::move(content)) {}
  const std::string text;
};

struct Array : Object {
  Array() : Object(class_of("NSArray")) {}
  std::vector<Reference<Object>> items;
};

struct ErrorObject : Object {
  ErrorObject(long number, std::string words)
      : Object(class_of("NSError")), code(number), description(std::move(words)) {}
  const long code;
  const std::string description;
};

struct CompileOptions : Object {
  CompileOptions() : Object(class_of("MTLCompileOptions")) {}
  bool exact = false;  // fast math is what Metal takes for granted
};

struct Buffer : Object {
  Buffer(std::size_t size, bool is_private)
      : Object(class_of("MTLBuffer")), bytes(size), on_device(is_private) {}
  std::vector<std::byte> bytes;
  const bool on_device;
};

struct LibraryObject : Object {
  explicit LibraryObject(std::shared_ptr<const Library> compiled)
      : Object(class_of("MTLLibrary")), library(std::move(compiled)) {}
  const std::shared_ptr<const Library> library;
};

struct Function : Object {
  Function(std::shared_ptr<const Library> in, const Kernel& found)
      : Object(class_of("MTLFunction")), owner(std::move(in)), kernel(found) {}
  const std::shared_ptr<const Library> owner;  // keeps the kernel
  const Kernel& kernel;
};

struct Pipeline : Object {
  explicit Pipeline(const Function& function)
      : Object(class_of("MTLComputePipelineState")),
        owner(function.owner),
        kernel(function.kernel) {}
  const std::shared_ptr<const Library> owner;  // keeps the kernel
  const Kernel& kernel;
};

struct Event : Object {
  Event() : Object(class_of("MTLEvent")) {}
  std::uint64_t value = 0;
};

struct Encoder;

/// What a command buffer does, one after the other.
struct Command {
  std::function<bool()> is_ready;      // null: always
  std::function<ErrorObject*()> work;  // an error that is new, or null
};

enum Status : unsigned long { kNotEnqueued = 0, kCommitted = 2, kCompleted = 4, kFailed = 5 };

struct Queue;

struct CommandBuffer : Object {
  explicit CommandBuffer(Queue* from);
  const Reference<Queue> queue;
  std::deque<Command> commands;
  Status status = kNotEnqueued;
  Encoder* encoder = nullptr;  // the open one
  Reference<ErrorObject> error;
  double start = 0;
  double end = 0;
};

struct Queue : Object {
  Queue();
  ~Queue() override;
  std::deque<Reference<CommandBuffer>> committed;
};

struct Encoder : Object {
  Encoder(const Class& of, CommandBuffer& into) : Object(of), commands(&into) {
    into.encoder = this;
  }
  ~Encoder() override {
    if (!ended) note_misuse("an encoder went without its end");
  }
  const Reference<CommandBuffer> commands;
  bool ended = false;
};

/// A buffer argument: a buffer from an offset on, or bytes.
struct Bound {
  Reference<Buffer> buffer;
  std::size_t offset = 0;
  std::shared_ptr<std::vector<std::uint64_t>> bytes;  // aligned for any scalar
};

inline constexpr unsigned long kArguments = 31;
inline constexpr unsigned long kMaxThreads = 1024;
inline constexpr unsigned long kThreadgroupBytes = 32 << 10;

struct ComputeEncoder : Encoder {
  explicit ComputeEncoder(CommandBuffer& into)
      : Encoder(class_of("MTLComputeCommandEncoder"), into), bound(kArguments) {}
  Reference<Pipeline> pipeline;
  std::vector<Bound> bound;
  std::size_t shared_bytes = 0;
};

struct BlitEncoder : Encoder {
  explicit BlitEncoder(CommandBuffer& into) : Encoder(class_of("MTLBlitCommandEncoder"), into) {}
};

}  // namespace salvo::test::metal
