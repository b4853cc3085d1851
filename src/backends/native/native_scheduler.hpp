// Spreads the blocks of a launch over the cores.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "runtime/library.hpp"

namespace salvo::backends::native {

/// GNU's OpenMP runtime, loaded like a driver: its interface is C, documented and stable, and it is
/// on every system with programs that GCC built for OpenMP. Threads are its own; a program that
/// uses OpenMP shares them with Salvo, and a launch made inside a parallel region runs on the
/// thread that makes it.
class Scheduler {
 public:
  explicit Scheduler(std::string_view library = "libgomp.so.1");

  /// How many threads a launch may run on: 1 without the runtime.
  unsigned threads() const noexcept { return threads_; }
  /// Why it is one thread only; empty otherwise.
  const std::string& reason() const noexcept { return reason_; }
  /// How often work was shared so far.
  std::uint64_t calls() const noexcept { return parallel_.calls(); }

  /// `work(worker, first, last)` runs items of [0, count); the calls cover all of them, on several
  /// threads at once, and have returned when this does. `worker` is below `threads` and differs
  /// between calls that run at once. It must not throw.
  template <typename Work>
  void run(std::uint64_t count, const Work& work) const {
    Call call{count,
              0,
              0,
              0,
              &work,
              [](const void* what, unsigned worker, std::uint64_t first, std::uint64_t last) {
                (*static_cast<const Work*>(what))(worker, first, last);
              }};
    run(call);
  }

 private:
  struct Call {
    std::uint64_t count;
    std::uint64_t step;
    std::uint64_t next;  // the first item that nobody has taken
    unsigned workers;    // that have begun
    const void* work;
    void (*invoke)(const void* work, unsigned worker, std::uint64_t first, std::uint64_t last);
  };
  void run(Call& call) const;
  static void take(void* call);

  runtime::Library shared_object_;
  runtime::Function<void (*)(void (*)(void*), void*, unsigned, unsigned)> parallel_;
  unsigned threads_ = 1;
  std::string reason_;
};

}  // namespace salvo::backends::native
