// A recording backend for tests: runs kernels for real, on the interpreter unless told otherwise,
// notes every driver call, and fails the calls it is told to.
// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"

namespace salvo::tests {

enum class Driver : std::uint8_t {
  allocate,
  release,
  build,
  launch,
  write,
  read,
  copy,
  submit,
  finish,
  load,  // a build from a cached binary
  make_queue,
  record,
  wait_in_queue,  // a queue's later work waits for an event
  wait,           // the caller does
  write_async,
  read_async,
  allocate_host,
  release_host,
  register_host,
  unregister_host,
  build_source,
  replay,  // of a whole sequence; its launches are noted too
  copy_from_peer,
  adopt_queue,
};

struct DriverCall {
  Driver what;
  std::string kernel;  // build, load, launch
  runtime::LaunchShape shape;
  std::size_t bytes = 0;
  std::uint32_t device = 0;
  std::string code{};       // build, load
  std::uint32_t queue = 0;  // 0: the default queue, or none
};

/// What a test sees and steers of a fake backend; shared with its devices. Thread-safe.
class FakeControl {
 public:
  std::vector<DriverCall> calls() const;
  std::size_t count(Driver what) const;
  /// Names of the kernels launched so far, in order.
  std::vector<std::string> launched() const;
  void clear();

  /// Lets the `nth` call of this kind from now on fail (1 is the next), once. With a kernel's name
  /// only calls for kernels whose name contains it count.
  void fail(Driver what, std::uint32_t nth = 1, std::string kernel = "",
            Errc code = Errc::launch_failed);
  /// Lets the next launch of a kernel whose name contains `kernel` fail when it may have run
  /// already.
  void fail_after_start(std::string kernel);
  bool all_faults_struck() const;
  /// The next launch of a kernel whose name contains `kernel` is taken, and fails on the device:
  /// the next wait for its queue throws, once, and what was to be written is not.
  void fail_on_device(std::string kernel, Errc code = Errc::launch_failed);
  /// Builds of kernels whose names contain `kernel` do not end until `release_builds`.
  void hold_builds(std::string kernel);
  void release_builds();

  // Called by the fake driver.
  void note(DriverCall call);  // throws the fault that is due
  std::optional<Errc> takes_down(const std::string& kernel);
  void wait_for_build(const std::string& kernel);

 private:
  struct Fault {
    Driver what;
    std::uint32_t left;
    std::string kernel;
    Errc code;
    bool may_have_started = false;
  };
  mutable std::mutex lock_;
  std::vector<DriverCall> calls_;
  std::vector<Fault> faults_;
  std::vector<std::pair<std::string, Errc>> device_faults_;
  std::string held_builds_;  // empty: none
  std::condition_variable released_;
};

struct FakeOptions {
  std::string backend = "HIP";
  std::uint32_t devices = 1;
  bool jit = true;
  bool in_place = false;  // says that it works on host memory; for devices nothing is launched on
  /// Changes what the devices report.
  std::function<void(DeviceProperties&)> adjust{};
  /// Replaces the cost of parameters: by default 16 bytes and 2 slots a span, 8 and 1 a scalar.
  std::function<runtime::ParameterCost(const ir::Kernel&)> cost{};
  /// Largest block of a kernel once it is built; 0 for the device's.
  std::function<std::uint32_t(const ir::Kernel&)> max_threads{};
  /// Spill memory of a kernel's threads, in bytes.
  std::function<std::uint32_t(const ir::Kernel&)> spill{};
  /// The device's compiler contracts whatever it is told, within what it compiles as one kernel.
  bool contracts = false;
  /// Whether its devices copy to each other without the host.
  bool peers = false;
  /// Changes generated source, as registering an intrinsic anew would.
  std::function<void(runtime::Program&)> rewrite{};
  /// Which device compiler it is, for the disk cache; and whether it hands out binaries.
  std::string build_identity = "fake compiler 1";
  bool has_binary = true;
  /// The device's compiler for user source: what it makes of a source, or nothing if it refuses.
  std::function<std::optional<ir::Kernel>(const runtime::UserSource&)> compiler{};
  /// Whether compiled user source tells its parameters.
  bool tells_parameters = true;
  /// Whether sequences of so many launches are replayed when they come again; 0: never. A sequence
  /// is known by its kernels' names and its grids.
  std::size_t shortest_replay = 0;
  /// Code ends in "aliasing" or "apart", as spans may overlap or not (W80).
  bool marks_aliases = false;
  /// Why the backend is missing; set, it opens without devices.
  std::optional<std::string> missing{};
};

/// The backend whose first device runs the kernels and keeps the memory of fake devices: the
/// Interpreter, or the one that SALVO_TEST_RECORDED names, so that the tests of rules run on a real
/// driver too. What the devices report stays the same, but for the width of warps.
std::string_view recorded_backend();

/// What that backend's first device says of itself, for what no rule promises of every device.
DeviceProperties recorded_properties();

/// Work of queues that were made is done only when something waits for it, as late as the API
/// allows: what is read too early is wrong every time. Its clock counts launches, a millisecond
/// each.
std::unique_ptr<runtime::Backend> make_fake_backend(std::shared_ptr<FakeControl> control,
                                                    FakeOptions options = {});

/// Lets `see` have every kernel that any fake device is asked to build, from now on. For tests that
/// compile what other tests launch; nothing to see is null.
void watch_builds(std::function<void(const ir::Kernel&)> see);

/// A launch with the memory its spans lie in; by argument, empty for scalars and empty spans.
struct WatchedLaunch {
  const ir::Kernel& kernel;
  const runtime::LaunchShape& shape;
  std::span<const runtime::Argument> arguments;
  const std::vector<std::vector<std::byte>>& before;
  const std::vector<std::vector<std::byte>>& after;
};
/// Likewise for every launch that any fake device carries out of a kernel it builds from now on.
void watch_launches(std::function<void(const WatchedLaunch&)> see);

}  // namespace salvo::tests
