// Launches that ran at once: one like them is neither checked nor bound anew (P17).
// SPDX-License-Identifier: MIT
#include "window/known_launches.hpp"

#include <cstring>

#include "window/issuer.hpp"
#include "window/launch_call.hpp"

namespace salvo::window {

bool BoundLaunch::bind(const LaunchCall& call) {
  const std::uint32_t store_unit = call.device.properties().store_unit_bytes;
  arguments.resize(call.arguments.size() + call.kernel.live.size());
  spans.clear();
  may_alias = false;
  for (std::size_t p = 0; p < call.arguments.size(); ++p) {
    const detail::CallArgument& given = call.arguments[p];
    const ParameterFacts& facts = call.kernel.parameters[p];
    runtime::Argument& argument = arguments[p];
    argument = {};
    argument.bits = given.bits;
    if (!facts.is_span) continue;
    argument.byte_offset = given.byte_offset;
    argument.length = given.length;
    argument.access = facts.access;
    Span span;
    span.storage = given.storage;
    span.byte_offset = given.byte_offset;
    span.length = given.length;
    span.parameter = static_cast<std::uint32_t>(p);
    span.writes = facts.writes;
    span.overwritten = given.overwritten;
    if (given.storage) {
      if (!is_ready(given, call.device)) return false;
      span.copy = given.storage->copy_on(call.device);
      span.copy_serial = span.copy->serial;
      argument.buffer = span.copy->buffer;
      span.bytes = touched_bytes(given.byte_offset, given.length, facts.element_bytes, store_unit);
      for (const Span& other : spans) {
        may_alias =
            may_alias || (other.storage == given.storage && (other.writes || facts.writes) &&
                          other.bytes.overlaps(span.bytes));
      }
    }
    spans.push_back(span);
  }
  take_live(call.kernel);
  executable = &Issuer::executable_of(call.device, call.prepared, may_alias);
  kernel_serial = call.kernel.serial;
  generation = call.device.generation();
  shape = call.shape;
  dims = call.dims;
  return true;
}

bool BoundLaunch::take(const KernelRecord& kernel, const Dims& called,
                       std::span<const detail::CallArgument> given,
                       const runtime::DeviceState& device) noexcept {
  if (kernel_serial != kernel.serial || arguments.size() != given.size() + kernel.live.size() ||
      generation != device.generation() || !same_dims(dims, called)) {
    return false;
  }
  for (const Span& span : spans) {
    const detail::CallArgument& one = given[span.parameter];
    if (one.storage != span.storage || one.byte_offset != span.byte_offset ||
        one.length != span.length || one.overwritten != span.overwritten) {
      return false;
    }
    // What was bound may be gone: only what the call brings is looked into.
    if (!one.storage) continue;
    if (one.storage->copy_on(device) != span.copy || span.copy->serial != span.copy_serial ||
        !(one.overwritten || device_current(one.storage->residence()))) {
      return false;
    }
    // Read while the driver works, rather than waited for by the next atomic operation after it.
    if (span.writes) __builtin_prefetch(&span.copy->written_by, 1);
  }
  for (std::size_t p = 0; p < given.size(); ++p) arguments[p].bits = given[p].bits;
  if (!kernel.live.empty()) take_live(kernel);
  return true;
}

void BoundLaunch::take_live(const KernelRecord& kernel) noexcept {
  runtime::Argument* next = arguments.data() + arguments.size() - kernel.live.size();
  for (const LiveValue& live : kernel.live) {
    *next = {};
    std::memcpy(&next++->bits, live.host, ir::size_of(live.type));
  }
}

}  // namespace salvo::window
