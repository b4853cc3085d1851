// What a backend that lacks an optional operation says.
// SPDX-License-Identifier: MIT
#include "runtime/backend.hpp"

#include <string>

namespace salvo::runtime {
namespace {

[[noreturn]] void lacking(const DeviceDriver& driver, const char* operation) {
  Error::Details details;
  details.code = Errc::unsupported;
  details.operation = operation;
  details.message = driver.properties().name + " does not support this operation";
  throw Error(std::move(details));
}

}  // namespace

bool DeviceDriver::replay(Queue&, std::span<const LaunchCommand>) {
  return false;
}

std::unique_ptr<Queue> DeviceDriver::make_queue(int) {
  lacking(*this, "create a stream");
}
std::unique_ptr<Event> DeviceDriver::make_event() {
  lacking(*this, "create an event");
}
void DeviceDriver::record(Queue&, Event&) {
  lacking(*this, "record an event");
}
void DeviceDriver::wait(Queue&, Event&) {
  lacking(*this, "wait for an event");
}
void DeviceDriver::wait(Event&) {
  lacking(*this, "wait for an event");
}
bool DeviceDriver::reached(Event&) {
  lacking(*this, "query an event");
}
double DeviceDriver::elapsed_ms(Event&, Event&) {
  lacking(*this, "time events");
}
HostBlock DeviceDriver::allocate_host(std::size_t) {
  lacking(*this, "allocate pinned memory");
}
void DeviceDriver::release_host(HostBlock) noexcept {}
HostBlock DeviceDriver::register_host(void*, std::size_t) {
  lacking(*this, "register memory");
}
void DeviceDriver::unregister_host(HostBlock) noexcept {}
void DeviceDriver::write_async(Queue&, Buffer, std::size_t, const HostBlock&, std::size_t,
                               std::size_t) {
  lacking(*this, "copy asynchronously");
}
void DeviceDriver::read_async(Queue&, const HostBlock&, std::size_t, Buffer, std::size_t,
                              std::size_t) {
  lacking(*this, "copy asynchronously");
}
bool DeviceDriver::copy_from(Queue&, Buffer, std::size_t, DeviceDriver&, Queue&, Buffer,
                             std::size_t, std::size_t) {
  return false;
}
Buffer DeviceDriver::adopt(std::uint64_t, std::size_t) {
  lacking(*this, "use another library's memory");
}
std::unique_ptr<Queue> DeviceDriver::adopt_queue(std::uintptr_t) {
  lacking(*this, "use another library's stream");
}
std::unique_ptr<Executable> DeviceDriver::build_source(const UserSource&) {
  lacking(*this, "compile user source");
}

}  // namespace salvo::runtime
