// What a SPIR-V module may use of the device it is made for.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace salvo::codegen::spirv {

/// Floating-point behaviour of one width that a device lets a module ask for.
struct FloatControls {
  bool denormals = false;            // keeps denormal values
  bool signed_zero_inf_nan = false;  // respects -0, infinities and NaN
  bool round_to_even = false;
};

inline constexpr const char* kEntry = "main";                // of a shader
inline constexpr const char* kKernelEntry = "salvo_kernel";  // of a kernel

/// A shader's descriptor sets: the argument table, and without addresses the parameters' storage
/// buffers, each bound at its parameter's number.
inline constexpr int kTableSet = 0;
inline constexpr int kBufferSet = 1;

/// Which of SPIR-V's two worlds a module belongs to.
enum class Flavour : std::uint8_t {
  shader,  // a compute shader for Vulkan 1.2
  kernel,  // an OpenCL kernel, as Level Zero takes it
};

struct Options {
  std::uint32_t push_constant_bytes = 128;  // of the block of lengths and scalars (W37)
  std::uint32_t push_constant_room = 128;   // with the addresses after it
  FloatControls f32{};
  FloatControls f64{};
  bool f64_arithmetic = true;
  /// The device's own Fma rounds once. Where it does not, others are put together from f64.
  bool fma_rounds_once = false;
  /// Division and square root of f32 are correctly rounded. Where not, they are computed in f64.
  bool exact_divide_sqrt = false;
  std::uint32_t warp_size = 32;
  bool small_global = true;    // 8- and 16-bit elements in spans
  bool small_shared = true;    // and in shared memory
  bool float_atomics = false;  // add on f32 in global memory is one instruction
  bool contraction = false;    // mode `device` of W50
  Flavour flavour = Flavour::shader;
  /// Shaders: spans are reached by their addresses. Where not, each is a storage buffer, and what
  /// is passed for an address is the span's first byte in it.
  bool buffer_addresses = true;
  /// Shaders: threads see each other's stores as Vulkan's own memory model says. Where not,
  /// accesses that threads share are volatile.
  bool vulkan_memory_model = true;
  /// Kernel flavour: spans whose bit is clear overlap nothing that the launch writes (W80).
  std::uint64_t may_alias = ~std::uint64_t{0};
};

}  // namespace salvo::codegen::spirv
