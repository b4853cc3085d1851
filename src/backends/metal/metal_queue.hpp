// A command queue: the command buffer that is being filled, and those on their way.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "backends/metal/metal_api.hpp"
#include "runtime/backend.hpp"
#include "runtime/launched_names.hpp"
#include "salvo/error.hpp"

namespace salvo::backends::metal {

/// A command buffer with the launches in it.
struct Batch {
  Owned commands;
  runtime::LaunchedNames names;
  std::size_t size = 0;  // commands
};

/// A point in a queue's work. Each recording signals a higher value, so that a wait for an earlier
/// one stays what it was.
class MetalEvent final : public runtime::Event {
 public:
  explicit MetalEvent(Owned handle) : event(std::move(handle)) {}

  const Owned event;
  std::uint64_t value = 0;             // 0: never recorded
  std::shared_ptr<const Batch> batch;  // that signals it
};

class MetalQueue final : public runtime::Queue {
 public:
  MetalQueue(const Api& api, Owned handle) : api_(api), handle_(std::move(handle)) {}
  ~MetalQueue() override;

  std::uintptr_t native() const noexcept override {
    return reinterpret_cast<std::uintptr_t>(handle_.get());
  }

  /// An encoder of the open command buffer, begun if need be.
  Id compute();
  Id blit();
  /// Makes `pipeline` that of the compute encoder.
  void use(Id pipeline);
  /// Notes a command that was encoded. A long command buffer is committed.
  void encoded();
  void encoded(const runtime::KernelName& name);

  void signal(MetalEvent& event);
  void wait_for(const MetalEvent& event);

  /// Hands the open command buffer to the device.
  void commit();
  /// Commits, waits for everything, and throws what failed.
  void finish();
  /// Whether the device has done all of it.
  bool is_idle() const;

 private:
  enum class Encoder : std::uint8_t { none, compute, blit };

  void open();
  void end_encoder();
  void begin(Encoder kind);
  /// Looks at the oldest command buffer, which is done, and lets it go.
  void settle_first();

  const Api& api_;
  const Owned handle_;
  std::shared_ptr<Batch> open_;
  Encoder kind_ = Encoder::none;
  Owned encoder_;
  Id pipeline_ = nullptr;  // of the compute encoder
  std::deque<std::shared_ptr<Batch>> running_;
  std::vector<std::shared_ptr<Batch>> spare_;
  std::optional<Error> failure_;
};

/// Of a batch that was committed.
bool is_done(const Api& api, const Batch& batch);
/// Waits for a batch that was committed. Throws if it failed.
void wait_for(const Api& api, const Batch& batch);

}  // namespace salvo::backends::metal
