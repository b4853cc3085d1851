// What a kernel reads, writes and needs: access sets, features, and the traits fusion asks about.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::passes {

/// How a span parameter is touched. An atomic is a read and a write (W8).
struct ParameterAccess {
  bool reads = false;
  bool writes = false;
  bool atomics = false;
};

/// Facts about a kernel that hold for every launch of it; computed once, when it is traced.
struct Summary {
  std::vector<ParameterAccess> parameters;  // by position in Kernel::parameters; scalars: none
  bool has_barrier = false;
  bool has_warp_operation = false;  // or a matrix statement, which is one
  bool uses_lanes = false;          // the same, or the lane's number or the warp's size
  bool has_cooperative_matrix = false;
  bool has_atomic = false;
  bool has_fence = false;
  bool has_shared = false;
  bool has_dynamic_shared = false;
  bool has_local_array = false;
  bool reads_grid_dim_x = false;  // W30
  bool has_loop = false;
  bool has_return = false;
  bool has_user_intrinsic = false;    // W28
  bool has_impure_intrinsic = false;  // W39
  bool has_native_code = false;       // W30; every span then counts as read and written (W8)
  // Features a device must have (K1, K8).
  bool needs_fp64 = false;
  bool needs_fp16 = false;
  bool needs_int64 = false;
  bool needs_atomics_i64 = false;
  bool needs_atomics_f32 = false;
  bool needs_atomics_f64 = false;
};

Summary summarize(const ir::Kernel& kernel);

}  // namespace salvo::passes
