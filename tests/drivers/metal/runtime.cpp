// The stand-in's Objective-C runtime: classes, messages, references, autorelease pools.
// SPDX-License-Identifier: MIT
#include "drivers/metal/runtime.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

#include "drivers/metal/objects.hpp"

namespace salvo::test::metal {
namespace {

/// Never destroyed: objects may outlive everything else.
struct State {
  std::mutex mutex;
  std::unordered_map<const Object*, const Class*> alive;
  std::map<std::string, std::unique_ptr<Class>> classes;
  std::set<std::string> selectors;
  std::vector<std::string> misuse;
  bool logging = false;
  std::vector<std::string> log;
};

State& state() {
  static State& instance = *new State;
  return instance;
}

/// Pools of this thread, the innermost last.
std::vector<std::vector<Object*>>& pools() {
  thread_local std::vector<std::vector<Object*>> all;
  return all;
}

bool is_alive(const Object* object) {
  const std::lock_guard lock(state().mutex);
  return state().alive.contains(object);
}

}  // namespace

void Object::alive(bool is) {
  const std::lock_guard lock(state().mutex);
  if (is) {
    state().alive[this] = isa;
  } else {
    state().alive.erase(this);
  }
}

Class::Class(std::string class_name) : Object(*this), name(std::move(class_name)) {}

Class& class_of(const std::string& name) {
  {
    const std::lock_guard lock(state().mutex);
    const auto found = state().classes.find(name);
    if (found != state().classes.end()) return *found->second;
  }
  auto made = std::make_unique<Class>(name);
  const std::lock_guard lock(state().mutex);
  return *state().classes.emplace(name, std::move(made)).first->second;
}

void retain(Object* object) {
  if (!object) return;
  if (!is_alive(object)) return note_misuse("a dead object was retained");
  object->references.fetch_add(1);
}

void release(Object* object) {
  if (!object) return;
  if (!is_alive(object)) return note_misuse("a dead object was released");
  if (object->references.fetch_sub(1) == 1) delete object;
}

Object* autorelease(Object* object) {
  if (pools().empty()) {
    note_misuse(fmt::format("a {} was autoreleased without a pool", object->isa->name));
  } else {
    pools().back().push_back(object);
  }
  return object;
}

void note_misuse(std::string what) {
  const std::lock_guard lock(state().mutex);
  // For suites that know nothing of this driver: ctest looks for the words.
  std::fprintf(stderr, "Metal forbids it: %s\n", what.c_str());
  state().misuse.push_back(std::move(what));
}

void note_call(const std::string& what) {
  const std::lock_guard lock(state().mutex);
  if (state().logging) state().log.push_back(what);
}

namespace {

class TheControl final : public Control {
 public:
  Knobs& knobs() override { return driver_knobs(); }
  void start_log() override {
    const std::lock_guard lock(state().mutex);
    state().log.clear();
    state().logging = true;
  }
  std::vector<std::string> stop_log() override {
    const std::lock_guard lock(state().mutex);
    state().logging = false;
    return std::move(state().log);
  }
  std::vector<std::string> misuse() const override {
    const std::lock_guard lock(state().mutex);
    return state().misuse;
  }
  std::int64_t objects(const std::string& of_class) const override {
    const std::lock_guard lock(state().mutex);
    std::int64_t count = 0;
    for (const auto& [object, of] : state().alive) {
      count += object != of && (of_class.empty() || of->name == of_class);
    }
    return count;
  }
  std::int64_t objects() const override { return objects(""); }
  std::string source() const override { return last_source(); }
};

}  // namespace
}  // namespace salvo::test::metal

// What a program finds in libobjc.

#define SALVO_EXPORT extern "C" __attribute__((visibility("default")))

namespace metal = salvo::test::metal;

SALVO_EXPORT metal::Control* salvo_test_metal() {
  static metal::Control& control = *new metal::TheControl;
  return &control;
}

SALVO_EXPORT metal::Object* objc_getClass(const char* name) {
  metal::define_classes();
  const std::lock_guard lock(metal::state().mutex);
  const auto found = metal::state().classes.find(name);
  return found == metal::state().classes.end() ? nullptr : found->second.get();
}

SALVO_EXPORT metal::Selector sel_registerName(const char* name) {
  const std::lock_guard lock(metal::state().mutex);
  return metal::state().selectors.insert(name).first->c_str();
}

SALVO_EXPORT metal::Object* objc_retain(metal::Object* object) {
  metal::note_call("objc_retain");
  metal::retain(object);
  return object;
}

SALVO_EXPORT void objc_release(metal::Object* object) {
  metal::note_call("objc_release");
  metal::release(object);
}

SALVO_EXPORT void* objc_autoreleasePoolPush() {
  metal::note_call("objc_autoreleasePoolPush");
  metal::pools().emplace_back();
  return reinterpret_cast<void*>(metal::pools().size());
}

SALVO_EXPORT void objc_autoreleasePoolPop(void* pool) {
  metal::note_call("objc_autoreleasePoolPop");
  if (reinterpret_cast<std::uintptr_t>(pool) != metal::pools().size()) {
    return metal::note_misuse("pools were popped out of order");
  }
  const std::vector<metal::Object*> objects = std::move(metal::pools().back());
  metal::pools().pop_back();
  for (metal::Object* object : objects) metal::release(object);
}

/// The method that a message names; one that does nothing for nil and for what is unknown.
extern "C" __attribute__((used)) metal::Method salvo_find_method(metal::Object* object,
                                                                 metal::Selector selector) {
  static const metal::Method nothing = reinterpret_cast<metal::Method>(+[]() -> long { return 0; });
  if (!object) return nothing;
  if (!metal::is_alive(object)) {
    metal::note_misuse(fmt::format("{} was sent to a dead object", selector));
    return nothing;
  }
  const auto* as_class = dynamic_cast<const metal::Class*>(object);
  const metal::Class& of = as_class ? *as_class : *object->isa;
  metal::note_call(fmt::format("{} {}", of.name, selector));
  const auto& methods = as_class ? of.class_methods : of.methods;
  const auto found = methods.find(selector);
  if (found != methods.end()) return found->second;
  metal::note_misuse(fmt::format("{} does not understand {}", of.name, selector));
  return nothing;
}

// objc_msgSend hands all arguments on as they came, whatever they are: it may be written in no
// language that has signatures.
#if defined(__x86_64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, @function
objc_msgSend:
  pushq %rbp
  movq %rsp, %rbp
  subq $192, %rsp
  movq %rdi, 0(%rsp)
  movq %rsi, 8(%rsp)
  movq %rdx, 16(%rsp)
  movq %rcx, 24(%rsp)
  movq %r8, 32(%rsp)
  movq %r9, 40(%rsp)
  movups %xmm0, 64(%rsp)
  movups %xmm1, 80(%rsp)
  movups %xmm2, 96(%rsp)
  movups %xmm3, 112(%rsp)
  movups %xmm4, 128(%rsp)
  movups %xmm5, 144(%rsp)
  movups %xmm6, 160(%rsp)
  movups %xmm7, 176(%rsp)
  call salvo_find_method
  movq %rax, %r11
  movq 0(%rsp), %rdi
  movq 8(%rsp), %rsi
  movq 16(%rsp), %rdx
  movq 24(%rsp), %rcx
  movq 32(%rsp), %r8
  movq 40(%rsp), %r9
  movups 64(%rsp), %xmm0
  movups 80(%rsp), %xmm1
  movups 96(%rsp), %xmm2
  movups 112(%rsp), %xmm3
  movups 128(%rsp), %xmm4
  movups 144(%rsp), %xmm5
  movups 160(%rsp), %xmm6
  movups 176(%rsp), %xmm7
  leave
  jmp *%r11
.size objc_msgSend, .-objc_msgSend
)");
#elif defined(__aarch64__)
asm(R"(
.text
.globl objc_msgSend
.type objc_msgSend, %function
objc_msgSend:
  stp x29, x30, [sp, #-16]!
  mov x29, sp
  sub sp, sp, #208
  stp x0, x1, [sp, #0]
  stp x2, x3, [sp, #16]
  stp x4, x5, [sp, #32]
  stp x6, x7, [sp, #48]
  str x8, [sp, #64]
  stp q0, q1, [sp, #80]
  stp q2, q3, [sp, #112]
  stp q4, q5, [sp, #144]
  stp q6, q7, [sp, #176]
  bl salvo_find_method
  mov x16, x0
  ldp x0, x1, [sp, #0]
  ldp x2, x3, [sp, #16]
  ldp x4, x5, [sp, #32]
  ldp x6, x7, [sp, #48]
  ldr x8, [sp, #64]
  ldp q0, q1, [sp, #80]
  ldp q2, q3, [sp, #112]
  ldp q4, q5, [sp, #144]
  ldp q6, q7, [sp, #176]
  mov sp, x29
  ldp x29, x30, [sp], #16
  br x16
.size objc_msgSend, .-objc_msgSend
)");
#else
#  error "the stand-in knows how x86-64 and AArch64 pass arguments"
#endif
