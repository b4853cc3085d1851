// The Objective-C runtime and the messages of Metal that this backend sends, loaded at run time.
// SPDX-License-Identifier: MIT
//
// Nothing here needs an Apple header: Metal's objects are opaque pointers, and a method is
// objc_msgSend called as a function of that method's own signature. Methods whose result is a
// structure go by another function on x86-64, and are not used.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/library.hpp"

namespace salvo::backends::metal {

struct Object;
using Id = Object*;  // any Objective-C object or class; nil is null
struct SelectorName;
using Selector = SelectorName*;
using UInt = unsigned long;  // NSUInteger
using Int = long;            // NSInteger
using Bool = signed char;    // BOOL, which is bool on some targets: both fill the same byte

/// MTLSize.
struct Size {
  UInt width, height, depth;
};

/// One method, whatever the class of the object. Counts its calls.
template <typename Signature>
class Message;

template <typename Result, typename... Arguments>
class Message<Result(Arguments...)> {
 public:
  void resolve(void* send, Selector selector) noexcept {
    send_ = reinterpret_cast<Send>(send);
    selector_ = selector;
  }
  Selector selector() const noexcept { return selector_; }
  std::uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }
  /// To nil it does nothing, and the result is zero.
  Result operator()(Id object, Arguments... arguments) const {
    calls_.fetch_add(1, std::memory_order_relaxed);
    return send_(object, selector_, arguments...);
  }

 private:
  using Send = Result (*)(Id, Selector, Arguments...);
  Send send_ = nullptr;
  Selector selector_ = nullptr;
  mutable std::atomic<std::uint64_t> calls_{0};
};

// Functions of the runtime, and of Metal itself: a name, a signature.
// clang-format off
#define SALVO_METAL_RUNTIME_FUNCTIONS(apply)                                                      \
  apply(objc_getClass, Id (*)(const char* name))                                                  \
  apply(sel_registerName, Selector (*)(const char* name))                                         \
  apply(objc_autoreleasePoolPush, void* (*)())                                                    \
  apply(objc_autoreleasePoolPop, void (*)(void* pool))                                            \
  apply(objc_retain, Id (*)(Id))                                                                  \
  apply(objc_release, void (*)(Id))
#define SALVO_METAL_FUNCTIONS(apply)                                                              \
  apply(MTLCopyAllDevices, Id (*)())

// Messages: a name here, the selector, a signature without receiver and selector.
#define SALVO_METAL_MESSAGES(apply)                                                               \
  /* Foundation */                                                                                \
  apply(make_new, "new", Id())                                                                    \
  apply(responds_to, "respondsToSelector:", Bool(Selector))                                       \
  apply(string_with, "stringWithUTF8String:", Id(const char*))                                    \
  apply(utf8, "UTF8String", const char*())                                                        \
  apply(count, "count", UInt())                                                                   \
  apply(object_at, "objectAtIndex:", Id(UInt))                                                    \
  apply(code, "code", Int())                                                                      \
  apply(localized_description, "localizedDescription", Id())                                      \
  apply(process_info, "processInfo", Id())                                                        \
  apply(system_version, "operatingSystemVersionString", Id())                                     \
  /* MTLDevice */                                                                                 \
  apply(device_name, "name", Id())                                                                \
  apply(has_unified_memory, "hasUnifiedMemory", Bool())                                           \
  apply(working_set_bytes, "recommendedMaxWorkingSetSize", std::uint64_t())                       \
  apply(max_buffer_bytes, "maxBufferLength", UInt())                                              \
  apply(max_threadgroup_bytes, "maxThreadgroupMemoryLength", UInt())                              \
  apply(supports_family, "supportsFamily:", Bool(Int))                                            \
  apply(new_queue, "newCommandQueue", Id())                                                       \
  apply(new_buffer, "newBufferWithLength:options:", Id(UInt bytes, UInt options))                 \
  apply(new_buffer_with, "newBufferWithBytes:length:options:",                                    \
        Id(const void*, UInt bytes, UInt options))                                                \
  apply(new_event, "newEvent", Id())                                                              \
  apply(new_library, "newLibraryWithSource:options:error:", Id(Id source, Id options, Id* error)) \
  apply(new_pipeline, "newComputePipelineStateWithFunction:error:", Id(Id function, Id* error))   \
  /* MTLCompileOptions */                                                                         \
  apply(set_fast_math, "setFastMathEnabled:", void(Bool))                                         \
  apply(set_math_mode, "setMathMode:", void(Int))                                                 \
  apply(set_math_functions, "setMathFloatingPointFunctions:", void(Int))                          \
  apply(language_version, "languageVersion", UInt())                                              \
  /* MTLLibrary, MTLComputePipelineState, MTLBuffer */                                            \
  apply(new_function, "newFunctionWithName:", Id(Id name))                                        \
  apply(max_threads, "maxTotalThreadsPerThreadgroup", UInt())                                     \
  apply(execution_width, "threadExecutionWidth", UInt())                                          \
  apply(contents, "contents", void*())                                                            \
  /* MTLCommandQueue, MTLCommandBuffer */                                                         \
  apply(command_buffer, "commandBuffer", Id())                                                    \
  apply(compute_encoder, "computeCommandEncoder", Id())                                           \
  apply(blit_encoder, "blitCommandEncoder", Id())                                                 \
  apply(signal_event, "encodeSignalEvent:value:", void(Id event, std::uint64_t))                  \
  apply(wait_for_event, "encodeWaitForEvent:value:", void(Id event, std::uint64_t))               \
  apply(commit, "commit", void())                                                                 \
  apply(wait_until_completed, "waitUntilCompleted", void())                                       \
  apply(status, "status", UInt())                                                                 \
  apply(command_error, "error", Id())                                                            \
  apply(gpu_end_time, "GPUEndTime", double())                                                     \
  /* MTLComputeCommandEncoder, MTLBlitCommandEncoder */                                           \
  apply(set_pipeline, "setComputePipelineState:", void(Id))                                       \
  apply(set_buffer, "setBuffer:offset:atIndex:", void(Id, UInt offset, UInt index))               \
  apply(set_bytes, "setBytes:length:atIndex:", void(const void*, UInt bytes, UInt index))         \
  apply(set_threadgroup_bytes, "setThreadgroupMemoryLength:atIndex:",                             \
        void(UInt bytes, UInt index))                                                             \
  apply(dispatch, "dispatchThreadgroups:threadsPerThreadgroup:", void(Size blocks, Size threads)) \
  apply(copy, "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",                     \
        void(Id from, UInt from_offset, Id to, UInt to_offset, UInt bytes))                       \
  apply(end_encoding, "endEncoding", void())
// clang-format on

/// The function and method tables. Filled once, then constant (P1).
struct Api {
  runtime::Library runtime;
  runtime::Library framework;
#define SALVO_METAL_DECLARE(name, signature) runtime::Function<signature> name;
  SALVO_METAL_RUNTIME_FUNCTIONS(SALVO_METAL_DECLARE)
  SALVO_METAL_FUNCTIONS(SALVO_METAL_DECLARE)
#undef SALVO_METAL_DECLARE
#define SALVO_METAL_DECLARE(name, selector, signature) Message<signature> name;
  SALVO_METAL_MESSAGES(SALVO_METAL_DECLARE)
#undef SALVO_METAL_DECLARE

  /// Fills the tables. Returns why they cannot be used, or an empty string.
  std::string load();
  runtime::CallCounts calls() const;

  // Inside a Pool:
  Id string(const char* text) const;
  std::string text(Id string) const;
  /// The words of an NSError; those for nil say that there are none.
  std::string words(Id error) const;
};

struct Releaser {
  const Api* api = nullptr;
  void operator()(Id object) const noexcept { api->objc_release(object); }
};
/// A reference that is counted. What a method of a name that begins with "new" or "copy" returns is
/// owned already; anything else belongs to a pool and is retained first.
using Owned = std::unique_ptr<Object, Releaser>;

inline Owned own(const Api& api, Id object) {
  return {object, {&api}};
}
inline Owned retain(const Api& api, Id object) {
  return own(api, api.objc_retain(object));
}

/// What Metal returns without handing it over lives until the end of the scope.
class Pool {
 public:
  explicit Pool(const Api& api) : api_(api), pool_(api.objc_autoreleasePoolPush()) {}
  ~Pool() { api_.objc_autoreleasePoolPop(pool_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

 private:
  const Api& api_;
  void* pool_;
};

}  // namespace salvo::backends::metal
