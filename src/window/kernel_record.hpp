// A traced kernel with what is known of it, once for all and per device.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fusion/explicit.hpp"
#include "fusion/shared_overlay.hpp"
#include "ir/hash.hpp"
#include "ir/kernel.hpp"
#include "passes/access.hpp"
#include "runtime/device_state.hpp"
#include "salvo/contraction.hpp"
#include "salvo/window.hpp"

namespace salvo::window {

/// A scalar parameter read from the program at each launch.
struct LiveValue {
  std::uint32_t parameter = 0;
  const void* host = nullptr;
  ir::Scalar type = ir::Scalar::I32;
};

/// A parameter as the launch path needs it, without a walk through the IR.
struct ParameterFacts {
  bool is_span = false;
  bool reads = false;  // an atomic reads and writes (W8)
  bool writes = false;
  std::uint32_t element_bytes = 0;
  runtime::AccessMode access = runtime::AccessMode::none;
};

/// A kernel as one device knows it. Found by identity on a repeat launch (W71).
struct Prepared {
  std::uint32_t device_serial = 0;
  std::uint32_t made_in = 0;            // the device's generation; a later one needs its own (W72)
  std::atomic<std::uint32_t> block{0};  // for over(n); 0 until asked
  runtime::ParameterCost cost;
  /// What the device runs: the kernel, with fused multiply-adds where it has them and the kernel's
  /// mode is `fixed` (W50). Owned by the record.
  const ir::Kernel* kernel = nullptr;
  ir::Digest digest;
  bool device_contraction = false;  // its compiler may contract
  /// Source without and with aliasing spans (W80), made at the first launch call (W57).
  std::array<runtime::Program, 2> programs;
  /// Compiled forms, without and with aliasing spans (W80); set at first issue, guarded by the
  /// device's issue lock. Stale once the device's generation moved on.
  std::array<runtime::Executable*, 2> executables{};
  std::uint32_t generation = 0;
  /// The latest held group with a launch of it, and whether the window owns the kernel because of
  /// that (W15). Guarded by the device's window lock.
  std::uint64_t last_held = 0;
  bool is_kept = false;
  std::unique_ptr<Prepared> next;
};

/// How a kernel is translated: with or without spans that overlap a written one, and whether the
/// device's compiler may contract.
inline runtime::TranslateOptions translate_options(bool may_alias, bool device_contraction) {
  return {device_contraction, may_alias ? ~std::uint64_t{0} : std::uint64_t{0}};
}

}  // namespace salvo::window

namespace salvo::detail {

/// Immutable but for the per-device list. Shared by kernel handles and held launches (W15).
struct KernelRecord : std::enable_shared_from_this<KernelRecord> {
  KernelRecord(ir::Kernel traced, std::vector<window::LiveValue> live_values,
               Contraction mode = Contraction::fixed);
  /// Two kernels made one by `salvo::fuse`: its contracted form is made of theirs, so that nothing
  /// is contracted across (W49, W50).
  KernelRecord(ir::Kernel fused, ir::Kernel contracted, std::vector<window::LiveValue> live_values,
               std::vector<fusion::DisjointSpans> kept_apart, Contraction mode);
  /// A producer with its consumer merged in: its operations are final, as those of the two were.
  KernelRecord(ir::Kernel merged, const KernelRecord& producer, const KernelRecord& consumer);
  ~KernelRecord();
  /// The same kernel in another mode, with a serial of its own.
  std::shared_ptr<KernelRecord> in_mode(Contraction mode) const;

  /// What `device` knows of this kernel. The first call checks the limits of a launch and has the
  /// driver translate the kernel, which throws Errc::unsupported, naming what is missing, where the
  /// device cannot run it; later calls are a list walk, until the launch cache is cleared (W72).
  window::Prepared& on(runtime::DeviceState& device);
  /// The kernel with fused multiply-adds: what a device with a fast fma runs in mode `fixed` (W50).
  const ir::Kernel& contracted() const;
  /// The same if it is known already; null otherwise.
  window::Prepared* known_on(const runtime::DeviceState& device) const noexcept;

  /// The same kernel with the marked spans of records taken apart into columns (K13); made once.
  std::shared_ptr<KernelRecord> split_records(const std::vector<bool>& split);

  /// Unique in the process and never used again, unlike an address (W71).
  const std::uint64_t serial;
  const ir::Kernel kernel;
  const std::string& name;  // outlives the record, but for a merged one, whose parts are named
  const std::vector<window::LiveValue> live;
  const Contraction contraction;
  const passes::Summary summary;
  const ir::Digest digest;
  const Reason horizontal_refusal;  // Reason::none: may be a member of a group
  const std::vector<window::ParameterFacts> parameters;
  const std::uint64_t shared_bytes;
  const std::vector<fusion::SharedArray> shared_arrays;
  const std::vector<fusion::DisjointSpans> apart;  // spans that a launch must not let overlap (W49)
  /// Of a merged kernel: it failed, and is not tried again until the fused cache is cleared (W62).
  std::atomic<bool> failed{false};
  /// Why it is never held, whatever the device and the switches; Reason::none for most.
  Reason never_held = Reason::none;

 private:
  const ir::Kernel& form_for(const DeviceProperties& device) const;

  const bool final_form_;
  mutable std::once_flag contracting_;
  mutable std::shared_ptr<const ir::Kernel> contracted_;  // given, or made at the first need of it
  std::atomic<window::Prepared*> prepared_{nullptr};
  std::mutex lock_;
  std::map<std::vector<bool>, std::shared_ptr<KernelRecord>> split_;  // guarded by lock_
};

}  // namespace salvo::detail

namespace salvo::window {
using detail::KernelRecord;
}
