// A window as it was recorded, so that one that repeats it is held without analysis (W79).
// SPDX-License-Identifier: MIT
#include "window/repetition.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "window/launch_window.hpp"

namespace salvo::window {
namespace {

bool same_place(const std::source_location& a, const std::source_location& b) noexcept {
  return a.line() == b.line() && a.column() == b.column() && a.file_name() == b.file_name() &&
         a.function_name() == b.function_name();
}

std::uint64_t bits_of(const LiveValue& live) noexcept {
  std::uint64_t bits = 0;
  std::memcpy(&bits, live.host, ir::size_of(live.type));
  return bits;
}

}  // namespace

std::unique_ptr<Repetition> Repetition::of(std::vector<Step> steps,
                                           std::vector<std::unique_ptr<Group>> first,
                                           std::span<const std::unique_ptr<Group>> rest) {
  auto made = std::make_unique<Repetition>();
  std::size_t linked = 0;
  const auto link = [&](HeldLaunch& launch, HeldLaunch* merged, std::size_t base,
                        std::uint32_t group) {
    if (launch.step >= steps.size()) return;
    Step& step = steps[launch.step];
    linked += step.launch == nullptr;
    step.launch = &launch;
    step.merged = merged;
    step.base = static_cast<std::uint32_t>(base);
    step.group = group;
  };
  const auto link_group = [&](Group& group, std::uint32_t index) {
    group.index = index;
    for (const auto& member : group.members) {
      if (member->parts.empty()) link(*member, nullptr, 0, index);
      // As merged_launch lays them out: behind each consumer stands its range.
      std::size_t base = 0;
      for (const auto& part : member->parts) {
        link(*part, member.get(), base, index);
        base += part->arguments.size() + (part == member->parts.front() ? 0 : 1);
      }
    }
  };
  std::uint32_t index = 0;
  for (const auto& group : first) link_group(*group, index++);
  for (const auto& group : rest) link_group(*group, index++);
  if (linked != steps.size()) return nullptr;

  std::uint32_t opened = 0;
  for (Step& step : steps) {
    step.opens_group = step.group == opened;
    opened += step.opens_group ? 1 : 0;
    const HeldLaunch& launch = *step.launch;
    step.kernel = launch.kernel;
    step.prepared = launch.prepared;
    step.merged_prepared = step.merged ? step.merged->prepared : nullptr;
    step.fixed_values = launch.fixed_values;
    step.first_binding = static_cast<std::uint32_t>(made->bindings_.size());
    step.bindings =
        static_cast<std::uint32_t>(launch.arguments.size() - launch.kernel->live.size());
    for (std::size_t p = 0; p < step.bindings; ++p) {
      Binding& binding = made->bindings_.emplace_back();
      binding.is_span = launch.kernel->parameters[p].is_span;
      binding.byte_offset = launch.arguments[p].byte_offset;
      binding.length_or_bits =
          binding.is_span ? launch.arguments[p].length : launch.arguments[p].bits;
    }
    for (const Access& access : launch.accesses) {
      Binding& binding = made->bindings_[step.first_binding + access.parameter];
      binding.storage = access.storage;
      binding.copy = access.copy;
      binding.copy_serial = access.copy->serial;
      binding.writes = access.writes;
      binding.overwritten = access.overwritten;
    }
  }
  if (opened != index) return nullptr;
  made->groups_ = std::move(first);
  made->groups_.resize(index);
  made->out_ = static_cast<std::uint32_t>(rest.size());
  for (auto& group : made->groups_) {
    if (group) group->repetition = made.get();
  }
  for (const auto& group : rest) group->repetition = made.get();
  made->steps_ = std::move(steps);
  return made;
}

bool Repetition::matches(const KernelRecord& kernel, const Dims& dims,
                         std::span<const detail::CallArgument> arguments,
                         const runtime::DeviceState& device, bool batched) const noexcept {
  const Step& step = steps_[is_complete() ? 0 : next_];
  // The kernel of the launch may be gone, and another one in its place.
  if (step.kernel != &kernel || step.kernel_serial != kernel.serial || step.batched != batched ||
      step.bindings != arguments.size() || !same_dims(step.dims, dims)) {
    return false;
  }
  const auto is_fixed = [&](std::size_t p) { return (step.fixed_values & value_bit(p)) != 0; };
  const Binding* bound = &bindings_[step.first_binding];
  for (std::size_t p = 0; p < arguments.size(); ++p, ++bound) {
    const detail::CallArgument& given = arguments[p];
    if (!bound->is_span) {
      if (is_fixed(p) && bound->length_or_bits != given.bits) return false;
      continue;
    }
    if (given.storage != bound->storage || given.byte_offset != bound->byte_offset ||
        given.length != bound->length_or_bits || given.overwritten != bound->overwritten) {
      return false;
    }
    if (!given.storage) continue;
    // What was bound may be gone too: only what the call gives is looked into.
    if (given.storage->copy_on(device) != bound->copy || !bound->copy ||
        bound->copy->serial != bound->copy_serial || given.storage->escaped() ||
        !is_ready(given, device)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < kernel.live.size(); ++i) {
    const std::size_t p = arguments.size() + i;
    if (is_fixed(p) && step.launch->arguments[p].bits != bits_of(kernel.live[i])) return false;
  }
  return true;
}

void Repetition::take(const Dims& dims, std::span<const detail::CallArgument> arguments) noexcept {
  Step& step = steps_[next_++];
  if (step.opens_group) ++opened_;
  if (!same_place(step.dims.where(), dims.where())) {
    step.dims = dims;
    step.launch->where = dims.where();
    if (step.merged && step.base == 0) step.merged->where = dims.where();
  }
  const std::uint64_t sequence = groups_[step.group]->sequence;
  const auto set = [&](std::size_t p, std::uint64_t bits) {
    step.launch->arguments[p].bits = bits;
    if (step.merged) step.merged->arguments[step.base + p].bits = bits;
  };
  Binding* bound = &bindings_[step.first_binding];
  for (std::size_t p = 0; p < arguments.size(); ++p, ++bound) {
    if (!bound->is_span) {
      if (bound->length_or_bits == arguments[p].bits) continue;
      bound->length_or_bits = arguments[p].bits;
      set(p, arguments[p].bits);
      continue;
    }
    if (!bound->copy) continue;
    bound->copy->last_bound = std::max(bound->copy->last_bound, sequence);
    if (bound->writes) arguments[p].storage->mark_device_newer();
  }
  const auto& live = step.kernel->live;
  for (std::size_t i = 0; i < live.size(); ++i) set(arguments.size() + i, bits_of(live[i]));
}

std::uint64_t Repetition::held_launches() const noexcept {
  return static_cast<std::uint64_t>(
      std::count_if(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(next_),
                    [&](const Step& step) { return step.group >= issued_; }));
}

void Repetition::detach_oldest(std::vector<std::unique_ptr<Group>>& to) {
  to.push_back(std::move(groups_[issued_]));
  ++issued_;
  ++out_;
}

void Repetition::detach_all(std::vector<std::unique_ptr<Group>>& to) {
  to.reserve(to.size() + groups_.size());
  while (issued_ < groups_.size()) detach_oldest(to);
  next_ = 0;
  opened_ = issued_ = 0;
}

void Repetition::put_back(std::unique_ptr<Group> group) noexcept {
  --out_;
  const std::uint32_t index = group->index;
  groups_[index] = std::move(group);
}

std::vector<std::unique_ptr<HeldLaunch>> Repetition::take_apart() {
  std::vector<std::unique_ptr<HeldLaunch>> held;
  held.resize(next_);
  const auto take = [&](std::unique_ptr<HeldLaunch>& launch) {
    if (launch->step < next_) held[launch->step] = std::move(launch);
  };
  for (std::uint32_t g = issued_; g < opened_; ++g) {
    for (auto& member : groups_[g]->members) {
      if (member->parts.empty()) {
        take(member);
        continue;
      }
      for (auto& part : member->parts) take(part);
    }
    groups_[g].reset();
  }
  next_ = 0;
  opened_ = issued_ = 0;
  std::erase(held, nullptr);  // issued already
  return held;
}

}  // namespace salvo::window
