// What a test tells the stand-in Metal driver, and learns from it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace salvo::test::metal {

/// How the stand-in's MTLCompileOptions can be told to leave floating point alone.
enum class MathOptions : std::uint8_t {
  mode,  // setMathMode:, of macOS 15
  fast,  // setFastMathEnabled: alone, as before it
  none,  // neither
};

/// What a test chooses of the driver. Those in the first part are read when the driver is loaded,
/// so they are set by the environment: SALVO_TEST_METAL="unified=0,math=fast".
struct Knobs {
  bool unified_memory = true;                 // unified=0: a GPU with memory of its own
  MathOptions math = MathOptions::mode;       // math=fast, math=none
  std::uint32_t language_version = 0x3'0002;  // language=3.1: as major << 16 | minor
  bool warp_operations = true;                // warp=0: of no family that has them
  bool contracts = false;                     // contracts=1: whatever the source says
  bool flushes = false;                       // flushes=1: denormal f32 become zero

  // These may change at any time.
  std::string failing_kernel;  // the command buffer that runs it fails
  long failure_code = 1;       // of MTLCommandBufferError
  bool out_of_memory = false;  // no buffer can be made
  bool out_of_command_buffers = false;
};

/// Found in the driver's library as `salvo_test_metal`. Its functions are thread-safe.
class Control {
 public:
  virtual ~Control() = default;
  virtual Knobs& knobs() = 0;
  /// Messages and functions since `start_log`, in order: "MTLDevice newCommandQueue".
  virtual void start_log() = 0;
  virtual std::vector<std::string> stop_log() = 0;
  /// Things that Metal forbids, in words: a message to a dead object, an encoder without its end.
  virtual std::vector<std::string> misuse() const = 0;
  /// Objects that are alive, of one class ("MTLBuffer") and of all.
  virtual std::int64_t objects(const std::string& of_class) const = 0;
  virtual std::int64_t objects() const = 0;
  /// What the compiler was handed last.
  virtual std::string source() const = 0;
};

using FindControl = Control*();
inline constexpr const char* kFindControl = "salvo_test_metal";

}  // namespace salvo::test::metal
