// Shared memory of a fused kernel: a block runs one member, so arrays of different members share.
// SPDX-License-Identifier: MIT
#include "fusion/shared_overlay.hpp"

#include <algorithm>
#include <compare>
#include <tuple>
#include <utility>

namespace salvo::fusion {
namespace {

/// Gives each array of the overlay of `one` and `other` to `take`, in order.
template <class Take>
void overlay(std::span<const SharedArray> one, std::span<const SharedArray> other, Take&& take) {
  while (!one.empty() && !other.empty()) {
    const SharedArray &a = one.front(), &b = other.front();
    const auto order = a.type <=> b.type;
    take(std::is_eq(order) ? (a.count < b.count ? b : a) : std::is_lt(order) ? a : b);
    if (std::is_lteq(order)) one = one.subspan(1);
    if (std::is_gteq(order)) other = other.subspan(1);
  }
  std::ranges::for_each(one, take);
  std::ranges::for_each(other, take);
}

/// Of a kernel that is nothing but one such array.
ir::Digest hash(const ir::Element& element) {
  ir::Kernel kernel;
  kernel.memories.push_back({"", ir::Space::Shared, element, 1, false, ir::kNone});
  return ir::hash(kernel);
}

}  // namespace

std::vector<SharedArray> shared_arrays(const ir::Kernel& kernel) {
  std::vector<SharedArray> all;
  for (ir::MemoryId id = 0; id < kernel.memories.size(); ++id) {
    const ir::Memory& memory = kernel.memories[id];
    if (memory.space != ir::Space::Shared || memory.count == 0) continue;
    const bool atomic = std::ranges::any_of(kernel.nodes, [&](const ir::Node& node) {
      return ir::is_atomic(node.op) && node.memory == id;
    });
    all.push_back({{hash(memory.element), atomic}, memory.count, memory.element.size, id});
  }
  std::ranges::stable_sort(all, [](const SharedArray& a, const SharedArray& b) {
    return std::tie(a.type, b.count) < std::tie(b.type, a.count);
  });
  return all;
}

void SharedOverlay::add(std::span<const SharedArray> member) {
  if (member.empty()) return;
  std::vector<SharedArray> sum;
  sum.reserve(arrays_.size() + member.size());
  overlay(arrays_, member, [&](const SharedArray& array) { sum.push_back(array); });
  arrays_ = std::move(sum);
}

std::vector<std::size_t> SharedOverlay::places(std::span<const SharedArray> member) const {
  std::vector<std::size_t> all;
  std::size_t place = 0;
  for (const SharedArray& array : member) {
    while (arrays_[place].type != array.type) ++place;
    all.push_back(place++);
  }
  return all;
}

std::uint64_t SharedOverlay::bytes_with(std::span<const SharedArray> member) const noexcept {
  std::uint64_t total = 0;
  overlay(arrays_, member, [&](const SharedArray& array) {
    total = (total + 15) / 16 * 16 + std::uint64_t{array.count} * array.element_bytes;
  });
  return total;
}

}  // namespace salvo::fusion
