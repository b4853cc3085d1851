// What the runtime knows of held launches: that they exist and must be issued before it looks.
// SPDX-License-Identifier: MIT
#pragma once

#include <exception>

namespace salvo::runtime {

class DeviceState;
class Storage;

/// Implemented by the window. The runtime calls it before every observation, without locks held.
class HeldWork {
 public:
  virtual ~HeldWork() = default;
  /// Issues everything held on all devices; throws the first failure with the others attached.
  virtual void issue_all() = 0;
  /// The same for one device.
  virtual void issue(DeviceState& device) = 0;
  /// Issues everything; a failure is kept for the next call that may throw (W21).
  virtual void issue_from_destructor() noexcept = 0;
  /// Keeps what a destructor met for the next call that may throw.
  virtual void keep_failure(std::exception_ptr failure) noexcept = 0;
  /// Drops the storage's copy on `device` unless a held launch uses it or it is the newer one;
  /// false if it stayed.
  virtual bool retire(DeviceState& device, Storage& storage) = 0;
  /// The same of a copy that `heir` has got without the host; what the heir got is dropped if the
  /// copy stayed.
  virtual bool hand_over(DeviceState& device, DeviceState& heir, Storage& storage) = 0;
  /// Takes over a storage that nobody refers to any more if a held launch binds it, to destroy it
  /// once that is issued (W15); false if none does. Throws nothing.
  virtual bool adopt(const DeviceState& device, Storage& storage) noexcept = 0;
};

}  // namespace salvo::runtime
