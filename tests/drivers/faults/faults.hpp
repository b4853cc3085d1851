// Lets any call of a driver fail: what stands in a function table counts, and fails when told to.
// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "runtime/library.hpp"

namespace salvo::tests {

/// Which calls fail. One for the process, as drivers are.
struct Faults {
  std::atomic<long> calls{0};                // since `arm`
  std::atomic<long> first{0};                // the first that fails, counted from 1; 0: none
  std::atomic<bool> lasting{false};          // and all after it
  std::atomic<long> code{0};                 // what they return
  std::atomic<const char*> struck{nullptr};  // the first function that failed

  std::atomic<long> alive{0};  // objects made and not given back

  void arm(long first_call, long status, bool all_after) {
    calls = 0;
    struck = nullptr;
    code = status;
    lasting = all_after;
    first = first_call;
  }
  void heal() { first = 0; }

  /// Counts the call; whether it is to fail.
  bool strike(const char* function) {
    const long number = ++calls;
    const long from = first;
    if (from == 0 || number < from || (number > from && !lasting)) return false;
    const char* none = nullptr;
    struck.compare_exchange_strong(none, function);
    return true;
  }
};
inline Faults& faults() {
  static Faults all;
  return all;
}

/// Such a call does its work all the same, as a driver's would that reports what was lost before.
constexpr bool gives_back(std::string_view function) {
  for (const std::string_view word :
       {"Release", "Destroy", "Free", "Unload", "Unregister", "PopCurrent"}) {
    if (function.find(word) != std::string_view::npos) return true;
  }
  return false;
}
/// One of the objects that `gives_back` ends. Vulkan's pools give back what is allocated from them,
/// OpenCL's events and Level Zero's logs come as by-products: neither is counted.
constexpr bool makes(std::string_view function) {
  for (const std::string_view word :
       {"Create", "Alloc", "ModuleLoad", "HostRegister", "PrimaryCtxRetain", "PushCurrent"}) {
    if (function.find(word) != std::string_view::npos) {
      return function != "vkAllocateCommandBuffers" && function != "vkAllocateDescriptorSets";
    }
  }
  return false;
}
constexpr bool is_by_product(std::string_view function) {
  return function == "clReleaseEvent" || function.find("BuildLog") != std::string_view::npos;
}

/// What waits fails after the wait, if the device is lost or is about to be closed: no work goes on
/// there.
constexpr bool waits(std::string_view function) {
  for (const std::string_view word : {"Wait", "Synchronize", "Finish"}) {
    if (function.find(word) != std::string_view::npos) return true;
  }
  return false;
}

/// What takes a driver's function's place in a table. `Tag::text()` is its name.
template <class Tag, class Pointer>
struct Failing;

template <class Tag, class Result, class... Arguments>
struct Failing<Tag, Result (*)(Arguments...)> {
  static inline Result (*real)(Arguments...) = nullptr;

  static Result call(Arguments... arguments) {
    if constexpr (!can_fail()) {
      count_given_back(arguments...);
      return real(arguments...);
    } else if (!faults().strike(Tag::text())) {
      count_given_back(arguments...);
      const Result result = real(arguments...);
      if constexpr (makes(Tag::text()))
        faults().alive += std::is_pointer_v<Result> != (result == Result{});
      return result;
    } else if constexpr (std::is_pointer_v<Result>) {
      // OpenCL's that make an object: the last argument takes the status.
      int* const status = std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...));
      if (status) *status = static_cast<int>(faults().code.load());
      return nullptr;
    } else {
      if constexpr (gives_back(Tag::text())) {
        count_given_back(arguments...);
        static_cast<void>(real(arguments...));
      }
      if constexpr (waits(Tag::text())) {
        if (faults().lasting || std::string_view(Tag::text()) == "vkDeviceWaitIdle") {
          static_cast<void>(real(arguments...));
        }
      }
      return static_cast<Result>(faults().code.load());
    }
  }

 private:
  /// Functions that return nothing, or an address as Vulkan's of buffers, have no way to.
  static constexpr bool can_fail() {
    if constexpr (std::is_void_v<Result>) {
      return false;
    } else {
      return std::is_pointer_v<Result> || sizeof(Result) == sizeof(int);
    }
  }
  static void count_given_back(Arguments... arguments) {
    if constexpr (gives_back(Tag::text()) && !is_by_product(Tag::text())) {
      // Vulkan's take a null handle, after the device's.
      const auto all = std::tuple(arguments...);
      if constexpr (std::string_view(Tag::text()).starts_with("vk") && sizeof...(Arguments) == 3) {
        faults().alive -=
            std::get<1>(all) != std::tuple_element_t<1, decltype(std::tuple(arguments...))>{};
      } else {
        --faults().alive;
      }
    }
  }
};

/// Puts it in the table, in place of the function found there, if there is one.
template <class Tag, class Pointer>
void let_fail(runtime::Function<Pointer>& function) {
  using Stand = Failing<Tag, Pointer>;
  if (!function || function.get() == &Stand::call) return;
  Stand::real = function.get();
  function.assign(&Stand::call);
}

}  // namespace salvo::tests
