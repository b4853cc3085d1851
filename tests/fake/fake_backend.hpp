// A recording backend for tests: runs kernels for real on the interpreter, notes every driver call,
// and fails the calls it is told to.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
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
  bool all_faults_struck() const;

  void note(DriverCall call);  // called by the fake driver; throws the fault that is due

 private:
  struct Fault {
    Driver what;
    std::uint32_t left;
    std::string kernel;
    Errc code;
  };
  mutable std::mutex lock_;
  std::vector<DriverCall> calls_;
  std::vector<Fault> faults_;
};

struct FakeOptions {
  std::string backend = "HIP";
  std::uint32_t devices = 1;
  bool jit = true;
  /// Changes what the devices report.
  std::function<void(DeviceProperties&)> adjust{};
  /// Replaces the cost of parameters: by default 16 bytes and 2 slots a span, 8 and 1 a scalar.
  std::function<runtime::ParameterCost(const ir::Kernel&)> cost{};
  /// Largest block of a kernel once it is built; 0 for the device's.
  std::function<std::uint32_t(const ir::Kernel&)> max_threads{};
  /// The device's compiler contracts whatever it is told, within what it compiles as one kernel.
  bool contracts = false;
  /// Changes generated source, as registering an intrinsic anew would.
  std::function<void(runtime::Program&)> rewrite{};
  /// Which device compiler it is, for the disk cache; and whether it hands out binaries.
  std::string build_identity = "fake compiler 1";
  bool has_binary = true;
  /// The device's compiler for user source: what it makes of a source, or nothing if it refuses.
  std::function<std::optional<ir::Kernel>(const runtime::UserSource&)> compiler{};
  /// Whether compiled user source tells its parameters.
  bool tells_parameters = true;
  /// Why the backend is missing; set, it opens without devices.
  std::optional<std::string> missing{};
};

/// Work of queues that were made is done only when something waits for it, as late as the API
/// allows: what is read too early is wrong every time. Its clock counts launches, a millisecond
/// each.
std::unique_ptr<runtime::Backend> make_fake_backend(std::shared_ptr<FakeControl> control,
                                                    FakeOptions options = {});

/// Lets `see` have every kernel that any fake device is asked to build, from now on. For tests that
/// compile what other tests launch; nothing to see is null.
void watch_builds(std::function<void(const ir::Kernel&)> see);

}  // namespace salvo::tests
