// The launch window as a program sees and steers it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "salvo/error.hpp"

namespace salvo {

namespace runtime {
class Core;
}

/// Which legal fusions are made (W82).
enum class Planner : std::uint8_t {
  profit,  // those that pay; a declined one is explained
  always,  // all
};

/// Why a launch was not held, or two were not fused. `describe` has the words.
enum class Reason : std::uint8_t {
  none,                 // it was
  window_off,           // set_enabled(false)
  backend_off,          // the backend's window is off, or it is outside the default set (W5)
  cpu_device,           // a CPU device without set_cpu_devices(true) (W3)
  direct_backend,       // Native and Interpreter run at once (W4)
  paused,               // a window::Pause is in scope
  escaped,              // touches memory whose raw address was handed out (W24)
  exiting,              // the program's exit flush has begun (W61)
  on_stream,            // launched on a stream (W7)
  user_intrinsic,       // a user-registered intrinsic (W28)
  live_value,           // a free variable (W28)
  shared_size,          // dynamic shared memory (W26, W29)
  reads_grid_dim,       // grid_dim_x would change (W30)
  no_fuse,              // marked by the author (W30)
  native_code,          // inline native code (W30)
  warp_operation,       // no pinned subgroup size (W32)
  block_differs,        // other block size than the group (W26)
  grid_differs,         // other grid y or z (W26)
  dependency,           // conflicts with the group or a later one (W11, W27)
  group_full,           // member limit (W10)
  grid_limit,           // summed grid x (W31)
  shared_limit,         // shared memory (W31)
  parameter_limit,      // parameter bytes (W31)
  slot_limit,           // argument slots (W36)
  push_constant_limit,  // push-constant block (W37)
  not_profitable,       // the planner expects a loss (W82)
  failed_before,        // this combination failed and is not tried again (W62)
  build_failed,         // it failed now; members were issued one by one (W62)
  contraction_differs,  // another contraction mode (W26)
  needs_grant,          // the device compiler may contract across the two (W52)
  not_element_wise,     // the consumer does more than its own element (W39)
  hazard,               // the two touch more of each other's bytes than an epilogue may (W46)
  unproved,             // each element once, and all that is written: not proved (W41, W42)
  structure_of_arrays,  // launched on a SoaVector (W7)
  compiling,            // the fused kernel is being built on another thread
  inexact_compiler,     // the device's compiler cannot be kept from relaxing floating point (W55)
  cooperative_matrix,   // matrix statements (K12)
};
std::string_view describe(Reason reason) noexcept;
std::string_view name(Reason reason) noexcept;

/// What the window did with a launch or a pair of launches (W69).
struct Decision {
  enum class Kind : std::uint8_t { window, horizontal, epilogue };
  Kind kind = Kind::window;
  bool applied = false;
  Reason reason = Reason::none;
  std::string kernels;       // "twice", or "twice+negate"
  std::string device;        // "OpenCL:0"
  std::string detail;        // further words, may be empty
  SourceLocation launch{};   // where the launch was made; of a pair, the later one
  SourceLocation earlier{};  // of a pair, the other
};

/// Counts since `reset_stats`, over all devices and threads of a runtime (W65-W67).
struct WindowStats {
  std::uint64_t submitted = 0;     // launches made, empty ones excepted
  std::uint64_t issued = 0;        // launches handed to a driver
  std::uint64_t held = 0;          // held right now
  std::uint64_t failed = 0;        // launches that were not carried out
  std::uint64_t fused_groups = 0;  // groups issued as one launch
  std::uint64_t epilogue_merges = 0;
  std::uint64_t fallbacks = 0;  // fused launches that failed and were issued singly
  std::uint64_t replays = 0;    // sequences of launches that came before, started as one
  /// Launches held as those of an earlier window were, without analysis (W79): counted when they
  /// are issued.
  std::uint64_t repeated = 0;
  std::uint64_t fused_cache_hits = 0;
  std::uint64_t fused_cache_misses = 0;
  // What a kernel's first launch on a device costs and a repeat skips (W71):
  std::uint64_t capability_checks = 0;
  std::uint64_t sources_generated = 0;
  std::uint64_t compile_cache_keys = 0;  // compiled kernels looked up by content
  std::map<Reason, std::uint64_t> refusals;
};

/// Steers the window of one runtime. Every setter issues what is held first (W23); if that throws,
/// the change is made and the error passes on. Any thread may call any of these. SALVO_WINDOW=0 and
/// SALVO_EPILOGUE=0 in the environment start with the window or epilogue fusion off.
class Window {
 public:
  /// @cond internal
  explicit Window(std::shared_ptr<runtime::Core> core) : core_(std::move(core)) {}
  /// @endcond

  void set_enabled(bool on);
  /// Throws Errc::invalid_argument for an unknown backend name, listing the known ones (W68).
  void set_backend_enabled(std::string_view backend, bool on);
  /// Holds launches on CPU devices too (W3).
  void set_cpu_devices(bool on);
  void set_epilogue_enabled(bool on);
  void set_epilogue_backend(std::string_view backend, bool on);
  void set_planner(Planner planner);
  /// Most groups held per device (default 8) and most launches in one (default 8); 1 to 4096.
  void set_limits(std::uint32_t groups, std::uint32_t members);
  /// Whether launches on this backend are held, all switches taken together (W68).
  bool defers(std::string_view backend) const;
  bool epilogue_on(std::string_view backend) const;

  /// Fused kernels that are not built yet are built on a thread of their own, and their launches
  /// issued one by one until then; the results are the same bits. Off by default, unless
  /// SALVO_BACKGROUND_COMPILE=1.
  void set_background_compile(bool on);

  /// Issues what is held and makes the devices start; never waits (W22).
  void flush();
  /// Forgets fused kernels, good and failed, and plans; not the disk cache (W68).
  void clear_fused_cache();

  WindowStats stats() const;
  void reset_stats();
  /// The latest decisions, oldest first, kept while `keep_decisions(n)` is above zero.
  std::vector<Decision> decisions() const;
  void keep_decisions(std::size_t most);

 private:
  std::shared_ptr<runtime::Core> core_;
};

namespace window {

/// While one is in scope, launches of this thread run at once, on every runtime; what is held is
/// issued before the first of them (W7, W83). May be nested.
class Pause {
 public:
  Pause() noexcept;
  ~Pause();
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;
};

/// While one is in scope, launches of this thread open as many groups as they need: nothing is
/// issued because the window is full, only by what observes the device (W83). May be nested. The
/// first launch after the scope brings the window back under its limit.
class Batch {
 public:
  Batch() noexcept;
  ~Batch();
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
};

// The window of the default runtime.
Window& current();
inline void set_enabled(bool on) {
  current().set_enabled(on);
}
inline void set_backend_enabled(std::string_view backend, bool on) {
  current().set_backend_enabled(backend, on);
}
inline void set_cpu_devices(bool on) {
  current().set_cpu_devices(on);
}
inline void set_epilogue_enabled(bool on) {
  current().set_epilogue_enabled(on);
}
inline void set_epilogue_backend(std::string_view backend, bool on) {
  current().set_epilogue_backend(backend, on);
}
inline void set_planner(Planner planner) {
  current().set_planner(planner);
}
inline void set_limits(std::uint32_t groups, std::uint32_t members) {
  current().set_limits(groups, members);
}
inline void set_background_compile(bool on) {
  current().set_background_compile(on);
}
inline bool defers(std::string_view backend) {
  return current().defers(backend);
}
inline bool epilogue_on(std::string_view backend) {
  return current().epilogue_on(backend);
}
inline void flush() {
  current().flush();
}
inline void clear_fused_cache() {
  current().clear_fused_cache();
}
inline WindowStats stats() {
  return current().stats();
}
inline void reset_stats() {
  current().reset_stats();
}
inline std::vector<Decision> decisions() {
  return current().decisions();
}
inline void keep_decisions(std::size_t most) {
  current().keep_decisions(most);
}
}  // namespace window

}  // namespace salvo
