// Stream and event handles: each call issues what is held, then does its work (W19).
// SPDX-License-Identifier: MIT
#include "salvo/stream.hpp"

#include <mutex>

#include "api/access.hpp"
#include "runtime/stream.hpp"

namespace salvo {

Event::Event(const Device& device) {
  api::flushed(*device.state());
  state_ = std::make_shared<runtime::EventState>(device.state());
}

void Event::wait() const {
  api::flushed(*state_->device());
  state_->wait();
}

bool Event::query() const {
  api::flushed(*state_->device());
  return state_->reached();
}

double Event::elapsed_ms(const Event& first, const Event& last) {
  api::flushed(*first.state_->device());
  return runtime::EventState::elapsed_ms(*first.state_, *last.state_);
}

Stream::Stream(const Device& device, int priority) {
  api::flushed(*device.state());
  state_ = std::make_shared<runtime::StreamState>(device.state(), priority);
}

Stream Stream::default_of(const Device& device) {
  api::flushed(*device.state());
  return Stream(std::make_shared<runtime::StreamState>(device.state()));
}

Stream Stream::wrap(const Device& device, std::uintptr_t native) {
  api::flushed(*device.state());
  return Stream(runtime::StreamState::wrap(device.state(), native));
}

std::uintptr_t Stream::native() const {
  api::flushed(*device().state());
  return state_->queue().native();
}

Device Stream::device() const {
  return Device(state_->device());
}

void Stream::synchronize() const {
  runtime::DeviceState& device = *state_->device();
  api::flushed(device);
  const std::lock_guard issue(device.issue_lock());
  device.streams().submit_all();  // the others run while this one is waited for
  device.finish(state_->queue());
}

void Stream::record(const Event& event) const {
  runtime::DeviceState& device = *state_->device();
  api::flushed(device);
  const std::lock_guard issue(device.issue_lock());
  event.state()->record(*state_);
}

Event Stream::record() const {
  Event event(device());
  record(event);
  return event;
}

void Stream::wait(const Event& event) const {
  runtime::DeviceState& device = *state_->device();
  api::flushed(device);
  if (event.state()->device().get() != &device) {
    event.state()->wait();
    return;
  }
  const std::lock_guard issue(device.issue_lock());
  event.state()->make_wait(*state_);
}

}  // namespace salvo
