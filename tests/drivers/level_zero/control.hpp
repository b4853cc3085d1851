// What a test tells the stand-in Level Zero driver, and learns from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace salvo::test::level_zero {

/// What a test chooses of the driver. Those in the first part are read when the driver is found, so
/// they are set by the environment: SALVO_TEST_LEVEL_ZERO="api=1.6,extensions=60".
struct Knobs {
  std::uint32_t api_version = 0x10003;     // api=1.3: as major << 16 | minor
  std::uint32_t extensions = 3;            // extensions=60: how many are listed
  bool lists_max_group_size = true;        // max_group_extension=0
  bool has_function_addresses = true;      // addresses=0: as an old driver has none
  bool has_host_synchronize = true;        // host_synchronize=0: its address is not told
  bool has_launch_with_arguments = false;  // launch_with_arguments=1
  bool init_fails = false;                 // init=0; a call after it ends the process
  bool integrated = false;                 // integrated=1
  std::uint32_t max_group_size = 1024;     // device_group=512: of the device
  bool has_subgroups = false;              // subgroups=1; all threads of a block come to each use

  // These may change at any time.
  std::uint32_t spill_bytes = 0;              // spill=4096: of kernels created from now on
  std::uint32_t kernel_group_size = 1024;     // kernel_group=256: of the same
  bool out_of_memory = false;                 // memory=0: no allocation succeeds
  bool busy = false;                          // busy=1: waits with a limit end at the limit
  bool host_synchronize_unsupported = false;  // the call is there and answers that it is not
  bool launch_with_arguments_unsupported = false;
};

/// Found in the driver's library as `salvo_test_level_zero`. Its functions are thread-safe.
class Control {
 public:
  virtual ~Control() = default;
  virtual Knobs& knobs() = 0;
  /// Calls since the library was loaded, of one function and of all.
  virtual std::uint64_t calls(std::string_view function) const = 0;
  virtual std::uint64_t calls() const = 0;
  /// Names of the calls since `start_log`, in order.
  virtual void start_log() = 0;
  virtual std::vector<std::string> stop_log() = 0;
  /// Things a driver forbids, in words: a list destroyed while busy, memory freed twice.
  virtual std::vector<std::string> misuse() const = 0;
  /// What is alive: contexts, lists, events, pools, modules, kernels and memory together.
  virtual std::int64_t objects() const = 0;
};

using FindControl = Control*();
inline constexpr const char* kFindControl = "salvo_test_level_zero";

}  // namespace salvo::test::level_zero
