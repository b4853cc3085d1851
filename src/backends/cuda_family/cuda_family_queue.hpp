// Queues and events of a device of the family: streams and events of its driver.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "backends/cuda_family/cuda_family_error.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::cuda_family {

class FamilyQueue final : public runtime::Queue {
 public:
  FamilyQueue(const Reporter& reporter, Context context, int priority);
  /// A stream of somebody else's, which outlives the queue; null is the legacy default stream.
  FamilyQueue(const Reporter& reporter, Context context, Stream stream);
  ~FamilyQueue() override;
  FamilyQueue(const FamilyQueue&) = delete;
  FamilyQueue& operator=(const FamilyQueue&) = delete;
  std::uintptr_t native() const noexcept override {
    return reinterpret_cast<std::uintptr_t>(stream_);
  }
  Stream get() const noexcept { return stream_; }

 private:
  const Reporter& reporter_;
  Context context_;
  Stream stream_ = nullptr;
  bool owned_ = true;
};

class FamilyEvent final : public runtime::Event {
 public:
  FamilyEvent(const Reporter& reporter, Context context);
  ~FamilyEvent() override;
  FamilyEvent(const FamilyEvent&) = delete;
  FamilyEvent& operator=(const FamilyEvent&) = delete;
  EventHandle get() const noexcept { return event_; }

 private:
  const Reporter& reporter_;
  Context context_;
  EventHandle event_ = nullptr;
};

}  // namespace salvo::backends::cuda_family
