// The one exception family: what failed, where it was asked for, and what failed beside it.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace salvo {

/// What kind of failure an Error is.
enum class Errc {
  invalid_argument,     // a call's arguments: count, type, size, range, dims, unknown name
  invalid_kernel,       // found while tracing or verifying a kernel
  unsupported,          // the device or backend lacks what the kernel or call needs
  no_device,            // no such device, or none at all
  backend_unavailable,  // driver library missing or failed to start
  compile_failed,       // the device compiler refused; `log` holds its words
  launch_failed,        // the driver refused or lost a launch
  out_of_memory,        // device or pinned host memory, after trimming and retrying
  transfer_failed,      // a copy between host and device
  device_lost,          // the context is gone; nothing more runs on it
  check_failed,         // the interpreter found a fault in the kernel (bounds, race, ...)
  bad_environment,      // an environment variable's value
  io,                   // a file of the disk cache, trace or input
};
std::string_view name(Errc code) noexcept;

/// A place in the user's program.
struct SourceLocation {
  std::string file;
  unsigned line = 0;
  static SourceLocation from(const std::source_location& where) {
    return {where.file_name(), where.line()};
  }
  bool known() const noexcept { return line != 0; }
};

/// Base and only class of what Salvo throws. Copying shares the content; nothing throws on copy.
/// `what()` has it all: "backend: operation: kernel 'name': message at file:line (launched at
/// file:line)", and on lines of their own what the device's compiler logged.
class Error : public std::runtime_error {
 public:
  struct Details {
    Errc code = Errc::launch_failed;
    std::string message{};    // one sentence, without the context below
    std::string backend{};    // "OpenCL", or empty
    std::string operation{};  // "clBuildProgram", "launch", or empty
    std::string kernel{};     // or empty
    SourceLocation launch{};  // where the launch was made; of a deferred launch too (W59)
    SourceLocation source{};  // line in the kernel, where known
    /// The device may have run some of it: nothing is tried again (W62).
    bool may_have_started = false;
    std::string log{};  // the device compiler's, unabridged
  };
  explicit Error(Details details);
  Error(Errc code, std::string message);
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;
  /// Out of line, so that there is one table of the class whatever its users are compiled with.
  ~Error() override;

  Errc code() const noexcept;
  const std::string& message() const noexcept;
  const std::string& backend() const noexcept;
  const std::string& operation() const noexcept;
  const std::string& kernel() const noexcept;
  const SourceLocation& launch_location() const noexcept;
  const SourceLocation& kernel_location() const noexcept;
  const std::string& log() const noexcept;
  const Details& details() const noexcept;

  /// Further failures of the same flush, in issue order (W58). This error is not among them.
  const std::vector<Error>& others() const noexcept;
  /// The same error with `others` attached.
  Error with_others(std::vector<Error> others) const;

 private:
  struct State;
  explicit Error(std::shared_ptr<const State> state);
  std::shared_ptr<const State> state_;
};

}  // namespace salvo
