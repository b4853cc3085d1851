// Streams, events and host memory of a device, as the public handles share them (R6, R7).
// SPDX-License-Identifier: MIT
#include "runtime/stream.hpp"

#include <utility>

#include "runtime/storage.hpp"
#include "salvo/error.hpp"

namespace salvo::runtime {

StreamState::StreamState(std::shared_ptr<DeviceState> device, int priority)
    : device_(std::move(device)) {
  const std::lock_guard issue(device_->issue_lock());
  own_ = device_->driver().make_queue(priority);
  name_ = device_->streams().add(*own_);
}

StreamState::StreamState(std::shared_ptr<DeviceState> device) : device_(std::move(device)) {}

std::shared_ptr<StreamState> StreamState::wrap(std::shared_ptr<DeviceState> device,
                                               std::uintptr_t native) {
  auto made = std::make_shared<StreamState>(device);
  const std::lock_guard issue(device->issue_lock());
  made->own_ = device->driver().adopt_queue(native);
  made->name_ = device->streams().add(*made->own_);
  return made;
}

StreamState::~StreamState() {
  if (device_->is_inherited()) {
    static_cast<void>(own_.release());
    return;
  }
  HeldWork* held = device_->held_work();
  if (held) held->issue_from_destructor();
  if (!own_) return;
  const std::lock_guard issue(device_->issue_lock());
  try {
    device_->finish(*own_);
  } catch (...) {
    // With the runtime gone nobody is left to hear of it.
    if (held) held->keep_failure(std::current_exception());
  }
  device_->streams().remove(name_);
  own_.reset();
}

void StreamState::use(DeviceCopy& copy, bool writes) {
  if (own_) device_->streams().use(name_, copy.uses, writes, copy.upload);
}

void StreamState::use(HostMemory& memory) {
  memory.used_ = true;
  if (own_) device_->streams().use(name_, memory.uses_, true, 0);
}

EventState::EventState(std::shared_ptr<DeviceState> device) : device_(std::move(device)) {
  const std::lock_guard issue(device_->issue_lock());
  event_ = device_->driver().make_event();
}

EventState::~EventState() {
  if (device_->is_inherited()) {
    static_cast<void>(event_.release());
    return;
  }
  const std::lock_guard issue(device_->issue_lock());
  event_.reset();
}

void EventState::record(StreamState& stream) {
  if (stream.device() != device_) {
    throw Error(Errc::invalid_argument, "an event of " + device_->id() +
                                            " cannot be recorded in a stream of " +
                                            stream.device()->id());
  }
  const std::lock_guard lock(lock_);
  device_->driver().record(stream.queue(), *event_);
  recorded_ = true;
}

void EventState::make_wait(StreamState& stream) {
  const std::lock_guard lock(lock_);
  if (recorded_) device_->driver().wait(stream.queue(), *event_);
}

void EventState::wait() {
  try {
    const std::lock_guard lock(lock_);
    if (recorded_) device_->driver().wait(*event_);
  } catch (const Error& failure) {
    const std::lock_guard issue(device_->issue_lock());
    throw device_->launches().blame(failure, nullptr);
  }
}

bool EventState::reached() {
  const std::lock_guard lock(lock_);
  return !recorded_ || device_->driver().reached(*event_);
}

double EventState::elapsed_ms(EventState& first, EventState& second) {
  if (&first == &second) return 0;
  if (first.device_ != second.device_) {
    throw Error(Errc::invalid_argument, "elapsed time between events of two devices");
  }
  const std::scoped_lock lock(first.lock_, second.lock_);
  if (!first.recorded_ || !second.recorded_) {
    throw Error(Errc::invalid_argument, "elapsed time needs two events that were recorded");
  }
  return first.device_->driver().elapsed_ms(*first.event_, *second.event_);
}

HostMemory::HostMemory(std::shared_ptr<DeviceState> device, HostBlock block, bool registered)
    : device_(std::move(device)), block_(block), registered_(registered) {}

std::shared_ptr<HostMemory> HostMemory::allocate(std::shared_ptr<DeviceState> device,
                                                 std::size_t bytes) {
  const std::lock_guard issue(device->issue_lock());
  const HostBlock block = device->driver().allocate_host(bytes);
  return std::shared_ptr<HostMemory>(new HostMemory(device, block, false));
}

std::shared_ptr<HostMemory> HostMemory::enroll(std::shared_ptr<DeviceState> device, void* data,
                                               std::size_t bytes) {
  const std::lock_guard issue(device->issue_lock());
  const HostBlock block = device->driver().register_host(data, bytes);
  return std::shared_ptr<HostMemory>(new HostMemory(device, block, true));
}

HostMemory::~HostMemory() {
  if (device_->is_inherited()) return;
  HeldWork* held = device_->held_work();
  if (held) held->issue_from_destructor();
  try {
    finish();
  } catch (...) {
    // With the runtime gone nobody is left to hear of it.
    if (held) held->keep_failure(std::current_exception());
  }
  const std::lock_guard issue(device_->issue_lock());
  if (registered_) {
    device_->driver().unregister_host(block_);
  } else {
    device_->driver().release_host(block_);
  }
}

void HostMemory::finish() {
  const std::lock_guard issue(device_->issue_lock());
  if (!used_) return;
  device_->streams().order_default_after(uses_, false);
  device_->finish(device_->driver().queue());
  used_ = false;
}

}  // namespace salvo::runtime
