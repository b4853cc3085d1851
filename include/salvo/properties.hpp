// What a device is and can do, read once when it is found.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "salvo/ir.hpp"

namespace salvo {

/// A multiply-add of cooperative matrices: a is m x k, b is k x n, the accumulator m x n (K12).
struct CooperativeMatrixShape {
  std::uint32_t m = 0;
  std::uint32_t n = 0;
  std::uint32_t k = 0;
  ir::Scalar inputs = ir::Scalar::F16;  // of a and b: F16 or BF16
  ir::Scalar accumulator = ir::Scalar::F32;
  friend bool operator==(const CooperativeMatrixShape&, const CooperativeMatrixShape&) = default;
};

/// Properties of one device of one backend. Sizes are bytes.
struct DeviceProperties {
  std::string name;  // "NVIDIA H200"
  std::string vendor;
  std::string driver_version;  // part of every disk-cache key (W73)
  std::string platform;        // OpenCL platform, Vulkan driver name; may be empty
  bool is_cpu = false;         // runs on the host's cores (W3)
  bool is_integrated = false;  // shares the host's memory

  std::uint64_t memory_bytes = 0;
  std::uint64_t max_allocation_bytes = 0;
  std::uint64_t shared_bytes_per_block = 0;
  std::uint64_t parameter_bytes = 0;      // W31; 0: no limit known
  std::uint32_t argument_slots = 0;       // Metal: 31; 0: no limit
  std::uint32_t push_constant_bytes = 0;  // Vulkan; 0: not applicable
  std::uint32_t max_threads_per_block = 0;
  std::array<std::uint64_t, 3> max_block{1, 1, 1};
  std::array<std::uint64_t, 3> max_grid{1, 1, 1};  // blocks
  std::uint32_t compute_units = 0;
  std::uint32_t warp_size = 1;
  std::uint32_t store_unit_bytes = 1;  // smallest store that leaves its neighbours alone (W13)

  bool fp64 = false;
  bool fp16_storage = false;
  bool int64 = true;
  bool atomics_i64 = false;
  bool atomics_f32 = false;  // natively or by compare-exchange
  bool atomics_f64 = false;
  bool warp_operations = false;
  bool dynamic_shared = true;
  /// A single fma() that rounds once and is not emulated; without it no FMA is formed (W50).
  bool fast_fma = false;
  /// Division and square root are correctly rounded for f32.
  bool exact_divide_sqrt = true;
  /// Denormal f32 values are kept.
  bool denormals_f32 = true;
  /// Each operation is carried out as the IR has it, with no compiler in between: the device need
  /// not be probed (W53).
  bool exact_arithmetic = false;
  /// The device's compiler takes the options that keep it from relaxing floating point. Without
  /// them no kernel is merged into another (W55).
  bool exact_compiler_options = true;
  /// The multiply-adds of cooperative matrices that kernels may use; empty: none.
  std::vector<CooperativeMatrixShape> cooperative_matrices;
};

/// What small kernels measured of a device's arithmetic (W53). Counts are of cases in which one
/// rounding and two give different results.
struct FloatProbe {
  bool measured = false;
  std::uint32_t cases = 0;
  std::uint32_t contracted = 0;  // a * b + c in a kernel that forbids it, yet not rounded twice
  std::uint32_t fma_rounded_once = 0;  // fma(a, b, c) as it should be; 0 where fast_fma is false
  bool narrowing_survives = false;  // a stored f16 or bf16 is rounded when the kernel reads it back
};

}  // namespace salvo
