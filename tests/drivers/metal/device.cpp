// The stand-in's device: properties, buffers, libraries and pipelines.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <mutex>

#include <fmt/format.h>

#include "drivers/metal/objects.hpp"

namespace salvo::test::metal {
namespace {

constexpr std::size_t kMaxBufferBytes = std::size_t{1} << 30;
constexpr unsigned long kPrivate = 2 << 4;

std::mutex source_mutex;
std::string& kept_source() {
  static std::string& text = *new std::string;
  return text;
}

Object* make_buffer(std::size_t bytes, unsigned long options) {
  if (bytes == 0) note_misuse("a buffer of no bytes was asked for");
  if (driver_knobs().out_of_memory || bytes > kMaxBufferBytes) return nullptr;
  return new Buffer(bytes, options == kPrivate);
}

bool responds(const CompileOptions*, const std::string& selector) {
  const MathOptions math = driver_knobs().math;
  if (selector == "setFastMathEnabled:") return math != MathOptions::none;
  return math == MathOptions::mode &&
         (selector == "setMathMode:" || selector == "setMathFloatingPointFunctions:");
}

void set_option(CompileOptions* self, const std::string& selector, bool exact) {
  if (!responds(self, selector)) note_misuse("MTLCompileOptions does not understand " + selector);
  self->exact = exact;
}

Object* new_library(Object*, Selector, String* source, CompileOptions* options, Object** error) {
  if (!source) {
    note_misuse("a library was asked for of nil, which ends a program");
    return nullptr;
  }
  {
    const std::lock_guard lock(source_mutex);
    kept_source() = source->text;
  }
  std::string log;
  const auto compiled = compile(source->text,
                                {.exact = options && options->exact,
                                 .contracts = driver_knobs().contracts,
                                 .language_version = driver_knobs().language_version},
                                log);
  if (compiled) return new LibraryObject(compiled);
  *error = autorelease(new ErrorObject(3, log));
  return nullptr;
}

}  // namespace

std::string last_source() {
  const std::lock_guard lock(source_mutex);
  return kept_source();
}

void define_device() {
  class_of("MTLDevice")
      .method("name",
              [](Object*, Selector) -> Object* {
                return autorelease(new String("Stand-in for Metal"));
              })
      .method("hasUnifiedMemory",
              [](Object*, Selector) -> signed char { return driver_knobs().unified_memory; })
      .method("recommendedMaxWorkingSetSize",
              [](Object*, Selector) -> std::uint64_t { return std::uint64_t{2} << 30; })
      .method("maxBufferLength", [](Object*, Selector) -> unsigned long { return kMaxBufferBytes; })
      .method("maxThreadgroupMemoryLength",
              [](Object*, Selector) -> unsigned long { return kThreadgroupBytes; })
      .method("supportsFamily:",
              [](Object*, Selector, long family) -> signed char {
                return driver_knobs().warp_operations && family >= 1001 && family <= 1007;
              })
      .method("newCommandQueue", [](Object*, Selector) -> Object* { return new Queue; })
      .method("newBufferWithLength:options:",
              [](Object*, Selector, unsigned long bytes, unsigned long options) {
                return make_buffer(bytes, options);
              })
      .method(
          "newBufferWithBytes:length:options:",
          [](Object*, Selector, const void* source, unsigned long bytes, unsigned long options) {
            Object* const made = make_buffer(bytes, options);
            if (made) std::memcpy(static_cast<Buffer*>(made)->bytes.data(), source, bytes);
            return made;
          })
      .method("newEvent", [](Object*, Selector) -> Object* { return new Event; })
      .method("newLibraryWithSource:options:error:", new_library)
      .method("newComputePipelineStateWithFunction:error:",
              [](Object*, Selector, Function* function, Object**) -> Object* {
                return new Pipeline(*function);
              });

  class_of("MTLCompileOptions")
      .class_method("new", [](Class*, Selector) -> Object* { return new CompileOptions; })
      .method("respondsToSelector:",
              [](CompileOptions* self, Selector, Selector asked) -> signed char {
                return responds(self, asked);
              })
      .method("setFastMathEnabled:", [](CompileOptions* self, Selector selector,
                                        signed char on) { set_option(self, selector, on == 0); })
      .method("setMathMode:", [](CompileOptions* self, Selector selector,
                                 long mode) { set_option(self, selector, mode == 0); })
      .method("setMathFloatingPointFunctions:",
              [](CompileOptions* self, Selector selector, long functions) {
                if (functions != 1) note_misuse("the fast functions were asked for");
                set_option(self, selector, self->exact);
              })
      .method("languageVersion", [](CompileOptions*, Selector) -> unsigned long {
        return driver_knobs().language_version;
      });

  class_of("MTLLibrary")
      .method("newFunctionWithName:", [](LibraryObject* self, Selector, String* name) -> Object* {
        const auto found = self->library->kernels.find(name->text);
        return found == self->library->kernels.end() ? nullptr
                                                     : new Function(self->library, found->second);
      });
  class_of("MTLComputePipelineState")
      .method("maxTotalThreadsPerThreadgroup",
              [](Pipeline*, Selector) -> unsigned long { return kMaxThreads; })
      .method("threadExecutionWidth",
              [](Pipeline*, Selector) -> unsigned long { return kWarpSize; });
  class_of("MTLBuffer").method("contents", [](Buffer* self, Selector) -> void* {
    if (!self->on_device) return self->bytes.data();
    note_misuse("the contents of a private buffer were asked for");
    return nullptr;
  });
}

}  // namespace salvo::test::metal

// What a program finds in Metal.framework.
extern "C" __attribute__((visibility("default"))) salvo::test::metal::Object* MTLCopyAllDevices() {
  using namespace salvo::test::metal;
  define_classes();
  static Object& device = *new Object(class_of("MTLDevice"));
  auto* const all = new Array;
  all->items.emplace_back(&device);
  return all;
}
