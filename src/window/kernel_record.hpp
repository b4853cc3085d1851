// A traced kernel with what is known of it, once for all and per device.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ir/hash.hpp"
#include "ir/kernel.hpp"
#include "passes/access.hpp"
#include "runtime/device_state.hpp"
#include "salvo/window.hpp"

namespace salvo::window {

/// A scalar parameter read from the program at each launch.
struct LiveValue {
  std::uint32_t parameter = 0;
  const void* host = nullptr;
  ir::Scalar type = ir::Scalar::I32;
};

/// A kernel as one device knows it. Found by identity on a repeat launch (W71).
struct Prepared {
  std::uint32_t device_serial = 0;
  std::atomic<std::uint32_t> block{0};  // for over(n); 0 until asked
  runtime::ParameterCost cost;
  /// Source without and with aliasing spans (W80), made at the first launch call (W57).
  std::array<runtime::Program, 2> programs;
  /// Compiled forms, without and with aliasing spans (W80); set at first issue, guarded by the
  /// device's issue lock. Stale once the device's generation moved on.
  std::array<runtime::Executable*, 2> executables{};
  std::uint32_t generation = 0;
  std::unique_ptr<Prepared> next;
};

/// How a kernel is translated: with or without spans that overlap a written one.
inline runtime::TranslateOptions translate_options(bool may_alias) {
  return {false, may_alias ? ~std::uint64_t{0} : std::uint64_t{0}};
}

}  // namespace salvo::window

namespace salvo::detail {

/// Immutable but for the per-device list. Shared by kernel handles and held launches (W15).
struct KernelRecord {
  KernelRecord(ir::Kernel traced, std::vector<window::LiveValue> live_values);
  ~KernelRecord();

  /// What `device` knows of this kernel. The first call checks that the device can run it at all,
  /// throwing Errc::unsupported and naming what is missing, and generates its source; later calls
  /// are a list walk.
  window::Prepared& on(runtime::DeviceState& device);

  const ir::Kernel kernel;
  const std::vector<window::LiveValue> live;
  const passes::Summary summary;
  const ir::Digest digest;
  const Reason horizontal_refusal;  // Reason::none: may be a member of a group

 private:
  std::atomic<window::Prepared*> prepared_{nullptr};
  std::mutex lock_;
};

}  // namespace salvo::detail

namespace salvo::window {
using detail::KernelRecord;
}
