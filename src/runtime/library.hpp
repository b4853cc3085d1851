// Loads a driver's shared library at run time and resolves its functions into a table.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/call_counts.hpp"

namespace salvo::runtime {

/// A shared library, or the reasons why none could be had. Closed with the last copy.
class Library {
 public:
  Library() = default;

  /// The first of `names` that loads. Symbols stay private to the handle, and unresolved ones fail
  /// here rather than in the middle of a launch.
  static Library open(std::initializer_list<std::string_view> names);

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// The name that loaded; empty if none did.
  const std::string& name() const noexcept { return name_; }
  /// One line for each name that did not load, in the loader's words.
  const std::vector<std::string>& failures() const noexcept { return failures_; }
  /// `failures` in one line, for messages.
  std::string reason() const;

  /// Address of `symbol`, or null.
  void* find(const char* symbol) const noexcept;

 private:
  std::shared_ptr<void> handle_;
  std::string name_;
  std::vector<std::string> failures_;
};

/// A driver function that may be missing. Counts its calls, so that tests can show what a launch
/// asks of the driver and what it does not ask twice.
template <typename Signature>
class Function;

template <typename Result, typename... Arguments>
class Function<Result (*)(Arguments...)> {
 public:
  using Pointer = Result (*)(Arguments...);

  bool resolve(const Library& library, const char* symbol) noexcept {
    pointer_ = reinterpret_cast<Pointer>(library.find(symbol));
    return pointer_ != nullptr;
  }
  /// For functions that are found by other means than a symbol, and for stand-ins in tests.
  void assign(Pointer pointer) noexcept { pointer_ = pointer; }
  Pointer get() const noexcept { return pointer_; }
  explicit operator bool() const noexcept { return pointer_ != nullptr; }
  Result operator()(Arguments... arguments) const {
    calls_.fetch_add(1, std::memory_order_relaxed);
    return pointer_(arguments...);
  }
  std::uint64_t calls() const noexcept { return calls_.load(std::memory_order_relaxed); }

 private:
  Pointer pointer_ = nullptr;
  mutable std::atomic<std::uint64_t> calls_{0};
};

}  // namespace salvo::runtime
