// The backend interface: all that the runtime and the window ask of a driver.
// SPDX-License-Identifier: MIT
//
// A backend is one folder under src/backends/ and one line in the registry. It knows IR, codegen
// and this header; it knows nothing of vectors, windows or fusion: a fused kernel reaches it as an
// ordinary ir::Kernel. Every call may throw salvo::Error unless it is noexcept. An error thrown
// here carries backend and operation; the caller adds kernel and launch site.
//
// Threads: the runtime makes the calls that take a queue, of one device, from one thread at a time
// (it holds the device's issue lock), but that thread changes: a driver whose API has a current
// context binds it inside. `allocate`, `release`, `translate` and `build` may be called from
// several threads at once, `release` also from destructors. A driver never calls back into the
// runtime.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ir/hash.hpp"
#include "ir/kernel.hpp"
#include "runtime/call_counts.hpp"
#include "salvo/error.hpp"
#include "salvo/properties.hpp"

namespace salvo::runtime {

/// Device memory, as the backend names it. Never reused while the runtime holds it.
struct Buffer {
  std::uintptr_t handle = 0;  // cl_mem, CUdeviceptr, index ...; 0 is no buffer
  std::size_t bytes = 0;      // as asked for
  std::uint64_t address = 0;  // what a kernel would see; 0 where the API has no addresses
  explicit operator bool() const noexcept { return handle != 0; }
};

/// How a launch touches a span: what a backend orders its commands by. Unknown is read_write.
enum class AccessMode : std::uint8_t { none, read, write, read_write };

/// One argument of a launch: the parameters' in order, `slots` consecutive ones for a table.
struct Argument {
  Buffer buffer{};                // span; an empty span may have none
  std::uint64_t byte_offset = 0;  // span: first byte of the view within the buffer
  std::uint64_t length = 0;       // span: elements
  std::uint64_t bits = 0;         // scalar: its bytes, zero-extended, in the parameter's own type
  AccessMode access = AccessMode::read_write;  // span; unused slots of a table are `none`
  /// So many consecutive slots of a table, all with this value; those of a parameter whose touch is
  /// `none` need no value. More than 1 only for a driver that takes them.
  std::uint32_t repeats = 1;
};

using Dim3 = std::array<std::uint32_t, 3>;

struct LaunchShape {
  Dim3 grid{1, 1, 1};   // blocks
  Dim3 block{1, 1, 1};  // threads of a block
  std::uint32_t dynamic_shared_bytes = 0;
  /// Names this launch in failures that the API reports later (W77, W81).
  std::uint64_t ticket = 0;
};

class Executable;

/// A launch that is one of a sequence.
struct LaunchCommand {
  Executable* executable = nullptr;
  const LaunchShape* shape = nullptr;
  std::span<const Argument> arguments;
};

/// What the device compiler is handed: text or binary made from IR, without any device present.
struct Program {
  std::string entry;                 // function name in the code
  std::string code;                  // source text, or SPIR-V/PTX bytes
  std::vector<std::string> options;  // for the device compiler, in order
  std::string name;                  // the kernel's, for messages
  /// By parameter: what `entry` takes a span's address for a multiple of; 1 or none: nothing. Where
  /// a launch passes another address, it starts `unaligned_entry` instead, which such code has too.
  std::vector<std::uint32_t> alignments{};
  std::string unaligned_entry{};
};

/// How IR becomes a Program. Part of every cache key.
struct TranslateOptions {
  bool device_contraction = false;  // mode `device` of W50: the compiler may contract
  /// Spans whose launch ranges overlap a written one get no restrict or read-only mark (W80): a
  /// bit per parameter. All ones is always right.
  std::uint64_t may_alias = ~std::uint64_t{0};
  friend bool operator==(const TranslateOptions&, const TranslateOptions&) = default;
};

/// Room that a kernel's parameters take in a launch.
struct ParameterCost {
  std::uint64_t bytes = 0;                // of parameter_bytes
  std::uint32_t slots = 0;                // of argument_slots
  std::uint32_t push_constant_bytes = 0;  // of push_constant_bytes
  friend ParameterCost operator+(const ParameterCost& a, const ParameterCost& b) noexcept {
    return {a.bytes + b.bytes, a.slots + b.slots, a.push_constant_bytes + b.push_constant_bytes};
  }
};

/// An argument of a kernel that a user brought, as far as the driver's compiler tells.
struct SourceParameter {
  bool is_span = false;
  std::size_t bytes = 0;  // of a scalar
};

/// A kernel compiled for one device. Destroyed while the device lives.
class Executable {
 public:
  virtual ~Executable() = default;
  /// Largest block this kernel can be launched with on its device.
  virtual std::uint32_t max_threads_per_block() const noexcept = 0;
  /// Bytes of spill memory a thread needs; 0 where the driver does not say (P6).
  virtual std::uint32_t spill_bytes_per_thread() const noexcept { return 0; }
  /// The device compiler's output, for the disk cache; empty where it cannot be had.
  virtual std::vector<std::byte> binary() const { return {}; }
  /// What a kernel made by `build_source` takes; nothing where the driver does not say.
  virtual std::optional<std::vector<SourceParameter>> source_parameters() const {
    return std::nullopt;
  }
  /// The kernel's name, for messages and measurements; set by who had it built.
  const std::string& name() const noexcept { return name_; }
  void set_name(std::string name) { name_ = std::move(name); }

 private:
  std::string name_;
};

/// An ordered stream of work of a device. Destroyed when its work is done.
class Queue {
 public:
  virtual ~Queue() = default;
  /// The API's own: a CUstream, for one; 0 where there is none to hand out.
  virtual std::uintptr_t native() const noexcept { return 0; }
};

/// A point in a queue's work, to wait for or to time. May be recorded again, or destroyed, while a
/// queue still waits for the point it was.
class Event {
 public:
  virtual ~Event() = default;
};

/// Host memory the device reaches directly.
struct HostBlock {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::uintptr_t handle = 0;  // the backend's own
};

/// Source that a user brings, for run_source and raw kernels (R9, R10).
struct UserSource {
  std::string language;  // "OpenCL C", "CUDA C", "PTX", "SPIR-V" ...
  std::string code;
  std::string entry;
  std::vector<std::string> options;
};

/// One device of a backend.
class DeviceDriver {
 public:
  virtual ~DeviceDriver() = default;
  virtual const DeviceProperties& properties() const noexcept = 0;

  // Memory. `release` is called once all work that uses the buffer has finished.
  virtual Buffer allocate(std::size_t bytes) = 0;  // Errc::out_of_memory
  virtual void release(Buffer buffer) noexcept = 0;

  /// Whether buffers are plain memory of the host, and `handle` is its address. The memory of a
  /// vector then serves as its buffer as it is: such a buffer is not released, and writes and reads
  /// that find their bytes in place copy nothing.
  virtual bool works_on_host_memory() const noexcept { return false; }

  // Code. `translate` is pure; what the device lacks it refuses by codegen/features.hpp. `build`
  // compiles, or loads `cached` (a `binary()` of the Program); compile_failed if it is not usable.
  virtual Program translate(const ir::Kernel& kernel, const TranslateOptions& options) const = 0;
  virtual std::unique_ptr<Executable> build(const ir::Kernel& kernel, const Program& program,
                                            std::span<const std::byte> cached) = 0;

  /// Block size for `over(n)` (P5); quantised, so that unlike kernels agree. Asked with null first:
  /// 0 then means that it depends on the kernel's own limits, and it is asked again with the
  /// compiled kernel. A pure function of its argument.
  virtual std::uint32_t preferred_block(const Executable* executable) const = 0;

  /// What the parameters of `kernel` take of the limits in DeviceProperties (W31, W36, W37).
  virtual ParameterCost parameter_cost(const ir::Kernel& kernel) const = 0;

  // Work. All of it is ordered within a queue. `queue()` is the default queue.
  virtual Queue& queue() noexcept = 0;
  virtual void launch(Queue& queue, Executable& executable, const LaunchShape& shape,
                      std::span<const Argument> arguments) = 0;
  /// Whether `launch` takes arguments that stand for several slots: a large table is mostly unused
  /// ones.
  virtual bool takes_repeats() const noexcept { return false; }
  /// As many `launch` calls in order, in fewer driver calls if the sequence came before: starts all
  /// of them, or none and returns false.
  virtual bool replay(Queue& queue, std::span<const LaunchCommand> commands);
  /// Sequences shorter than this are not worth `replay`; 0 if none is.
  virtual std::size_t shortest_replay() const noexcept { return 0; }
  /// `source` may be reused when the call returns (W14).
  virtual void write(Queue& queue, Buffer to, std::size_t offset, const void* source,
                     std::size_t bytes) = 0;
  /// Waits until the bytes are in `target`.
  virtual void read(Queue& queue, void* target, Buffer from, std::size_t offset,
                    std::size_t bytes) = 0;
  virtual void copy(Queue& queue, Buffer to, std::size_t to_offset, Buffer from,
                    std::size_t from_offset, std::size_t bytes) = 0;
  /// Makes the device start on what was queued; never waits (W22).
  virtual void submit(Queue& queue) = 0;
  /// Waits for everything queued.
  virtual void finish(Queue& queue) = 0;

  /// What, besides DeviceProperties::driver_version, decides the bytes that `build` makes: compiler
  /// version, architecture. Part of every disk-cache key (W73).
  virtual std::string build_identity() const { return {}; }

  // What follows is optional: the defaults (backend.cpp) throw Errc::unsupported, naming the call.
  // A backend that lacks one is listed with its reason in the conformance suite.

  // Streams and events (R7). A queue is ordered in itself; queues are ordered by events only. The
  // calls that take events alone are made while other threads make calls with a queue.
  virtual std::unique_ptr<Queue> make_queue(int priority);  // a higher one runs first
  virtual std::unique_ptr<Event> make_event();
  virtual void record(Queue& queue, Event& event);
  virtual void wait(Queue& queue, Event& event);  // later work of the queue waits
  virtual void wait(Event& event);                // the caller waits
  virtual bool reached(Event& event);
  /// Milliseconds on the device's clock between two recorded events (R8); waits for the later.
  virtual double elapsed_ms(Event& first, Event& second);

  // Pinned and registered host memory (R6).
  virtual HostBlock allocate_host(std::size_t bytes);
  virtual void release_host(HostBlock block) noexcept;
  virtual HostBlock register_host(void* data, std::size_t bytes);
  virtual void unregister_host(HostBlock block) noexcept;
  /// Copies that return at once; the block stays untouched until an event says so.
  virtual void write_async(Queue& queue, Buffer to, std::size_t offset, const HostBlock& from,
                           std::size_t from_offset, std::size_t bytes);
  virtual void read_async(Queue& queue, const HostBlock& to, std::size_t to_offset, Buffer from,
                          std::size_t offset, std::size_t bytes);

  /// Copies bytes of a buffer of `source`, another device, without the host: after what
  /// `source_queue` holds and before what it gets later; `queue` is this device's. False if the two
  /// have no such way, which the default says. The issue locks of both are held.
  virtual bool copy_from(Queue& queue, Buffer to, std::size_t to_offset, DeviceDriver& source,
                         Queue& source_queue, Buffer from, std::size_t from_offset,
                         std::size_t bytes);

  // Other libraries in the process. What is adopted stays theirs, is never released here, and
  // outlives its use. Throws Errc::invalid_argument for an address of no memory of this device.
  virtual Buffer adopt(std::uint64_t address, std::size_t bytes);
  virtual std::unique_ptr<Queue> adopt_queue(std::uintptr_t native);

  /// Compiles what the user wrote. Arguments of its launches are passed as they are: spans as the
  /// language's pointer, scalars by value.
  virtual std::unique_ptr<Executable> build_source(const UserSource& source);

  /// How often each function of the driver was called by the process; empty where there is no
  /// driver. Tests show by it what a launch does not ask twice (P3).
  virtual CallCounts driver_calls() const { return {}; }
};

/// Why a backend cannot be used: the paths tried and the driver's words.
struct Unavailable {
  std::string reason;
};

/// One road to devices.
class Backend {
 public:
  virtual ~Backend() = default;
  /// "OpenCL": one of backend_names.hpp, where holding and contraction are said of each by name.
  virtual std::string_view name() const noexcept = 0;
  /// Whether launches are compiled for a device, and so may be held (W1, W4).
  virtual bool is_jit() const noexcept = 0;
  /// Loads the driver and finds its devices, once. Never throws for a missing driver: the reason
  /// is kept and told by `unavailable`.
  virtual std::vector<std::unique_ptr<DeviceDriver>> open() = 0;
  /// Set after `open` found nothing usable.
  virtual const std::optional<Unavailable>& unavailable() const noexcept = 0;
};

}  // namespace salvo::runtime
