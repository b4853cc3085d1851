// What a kernel needs of its device, checked by every backend before it translates (K1, K8, W57).
// SPDX-License-Identifier: MIT
#include "codegen/features.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "passes/cooperative.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen {

Requirements::Requirements(const ir::Kernel& kernel, const DeviceProperties& device,
                           std::string_view backend, const FeatureNames& names)
    : needs_(passes::summarize(kernel)),
      kernel_(kernel.name),
      device_(device.name),
      backend_(backend) {
  need(needs_.needs_fp64, device.fp64, names.fp64);
  need(needs_.needs_fp16, device.fp16_storage, names.fp16);
  need(needs_.needs_int64, device.int64, names.int64);
  need(needs_.needs_atomics_i64, device.atomics_i64, names.atomics_i64);
  need(needs_.needs_atomics_f32, device.atomics_f32, names.atomics_f32);
  need(needs_.needs_atomics_f64, device.atomics_f64, names.atomics_f64);
  need(needs_.uses_lanes, device.warp_operations, names.warp_operations);
  for (const std::string& matrices :
       passes::missing_matrices(kernel, device.cooperative_matrices)) {
    need(true, false, matrices);
  }
  need(needs_.has_dynamic_shared, device.dynamic_shared, names.dynamic_shared);
  const std::uint64_t shared = kernel.shared_bytes();
  need(true, shared <= device.shared_bytes_per_block,
       fmt::format("{} bytes of shared memory (it has {})", shared, device.shared_bytes_per_block));
  for (const ir::UserCall& call : kernel.user_calls) {
    need(true, call.code->runs_on(backend), fmt::format("code for '{}'", call.code->name()));
  }
}

void Requirements::need(bool needed, bool present, std::string_view what) {
  if (!needed || present) return;
  if (std::ranges::find(lacks_, what) == lacks_.end()) lacks_.emplace_back(what);
}

void Requirements::check() const {
  if (lacks_.empty()) return;
  throw Error(
      Error::Details{.code = Errc::unsupported,
                     .message = fmt::format("{} lacks {}", device_, fmt::join(lacks_, ", ")),
                     .backend = backend_,
                     .operation = "translate",
                     .kernel = kernel_});
}

void require(const ir::Kernel& kernel, const DeviceProperties& device, std::string_view backend,
             const FeatureNames& names) {
  Requirements(kernel, device, backend, names).check();
}

}  // namespace salvo::codegen
