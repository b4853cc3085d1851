// The stand-in's Objective-C runtime: classes, messages, references, autorelease pools.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <map>
#include <string>
#include <utility>

namespace salvo::test::metal {

struct Class;
using Selector = const char*;  // one address for each name
using Method = void (*)();     // called as a function of its own signature

/// Root of all objects. Begins with one reference, which is the maker's.
struct Object {
  explicit Object(const Class& of) : isa(&of) { alive(true); }
  virtual ~Object() { alive(false); }
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  const Class* isa;
  std::atomic<int> references{1};

 private:
  void alive(bool is);
};

/// A class, which answers messages of its own.
struct Class : Object {
  explicit Class(std::string class_name);

  std::string name;
  std::map<std::string, Method> methods;        // of its objects
  std::map<std::string, Method> class_methods;  // its own

  template <typename Function>
  Class& method(const char* selector, Function function) {
    methods[selector] = reinterpret_cast<Method>(+function);
    return *this;
  }
  template <typename Function>
  Class& class_method(const char* selector, Function function) {
    class_methods[selector] = reinterpret_cast<Method>(+function);
    return *this;
  }
};

/// The class of that name, made on first use.
Class& class_of(const std::string& name);

void retain(Object* object);
void release(Object* object);
/// Releases it when the innermost pool of this thread goes.
Object* autorelease(Object* object);

void note_misuse(std::string what);
void note_call(const std::string& what);

/// A counted reference.
template <typename T>
class Reference {
 public:
  Reference() = default;
  explicit Reference(T* object) : object_(object) { retain(object_); }
  Reference(const Reference& other) : Reference(other.object_) {}
  Reference(Reference&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Reference& operator=(Reference other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Reference() { release(object_); }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace salvo::test::metal
