// Proves on the host that a producer stores each element once and whatever its consumer writes
// (W41).
// SPDX-License-Identifier: MIT
#include "fusion/epilogue_proof.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "fusion/site_runner.hpp"

namespace salvo::fusion {
namespace {

using passes::Affine;
using passes::AffineForms;
using passes::LaunchFacts;
using passes::Range;

/// What one site stores, as far as closed forms tell.
struct SiteSet {
  Range hull;             // holds every element; empty if none is stored
  bool interval = false;  // it is exactly the hull
  bool once = false;      // each element by one thread, in one turn
};

/// Narrows a range by factor * v + constant >= 0.
void narrow(Range& range, std::int64_t factor, std::int64_t constant) {
  // Rounding toward zero is up for a negative quotient and down for a positive one.
  if (factor > 0) {
    const std::int64_t low = constant >= 0 ? -(constant / factor) : (-constant - 1) / factor + 1;
    range.low = std::max(range.low, low);
  } else {
    const std::int64_t size = -factor;
    const std::int64_t high = constant >= 0 ? constant / size : -((-constant - 1) / size + 1);
    range.high = std::min(range.high, high);
  }
}

class SiteForms {
 public:
  SiteForms(const LaunchedSites& launch, const StoreSite& site)
      : forms_(launch.kernel, launch.facts), facts_(launch.facts), complete_(site.exact) {
    for (const PathStep& step : site.path) {
      const bool said = step.kind == PathStep::Kind::condition
                            ? forms_.constrain(step.value, step.taken, constraints_)
                            : forms_.enter(step.value, constraints_);
      complete_ = complete_ && said;
    }
    index_ = forms_.form(launch.kernel.node(site.store).operands[0]);
    ranges_ = forms_.ranges();
  }

  std::optional<SiteSet> solve() {
    if (!index_) return std::nullopt;
    for (std::size_t axis = 0; axis < 3; ++axis) join_axis(axis);
    Range clip{-kFar, kFar};
    for (const Affine& constraint : constraints_) apply(constraint, clip);
    SiteSet set;
    if (std::ranges::any_of(ranges_, &Range::empty)) return empty();
    radix(set);
    set.hull.low = std::max(set.hull.low, clip.low);
    set.hull.high = std::min(set.hull.high, clip.high);
    if (set.hull.empty()) return empty();
    set.interval = set.interval && complete_;
    return set;
  }

 private:
  static constexpr std::int64_t kFar = std::int64_t{1} << 60;

  static SiteSet empty() { return {{0, -1}, true, true}; }

  /// Thread and block position along an axis become the global position, where nothing tells them
  /// apart: then a guard on the global position is one on a single variable.
  void join_axis(std::size_t axis) {
    const std::size_t thread = axis, block = 3 + axis;
    const std::int64_t size = facts_.block[axis];
    // A position that is always 0 adds nothing.
    if (size == 1) drop(thread);
    if (facts_.grid[axis] == 1) drop(block);
    if (size == 1 || facts_.grid[axis] == 1) return;
    const auto joined = [&](const Affine& form) {
      return form.factor[block] == size * form.factor[thread];
    };
    if (!joined(*index_) || !std::ranges::all_of(constraints_, joined)) return;
    drop(block);
    ranges_[thread] = {0, size * facts_.grid[axis] - 1};
  }

  void drop(std::size_t variable) {
    for (Affine& constraint : constraints_) constraint.factor[variable] = 0;
    index_->factor[variable] = 0;
    ranges_[variable] = {0, 0};
  }

  void apply(const Affine& constraint, Range& clip) {
    std::size_t used = 0, last = 0;
    for (std::size_t v = 0; v < Affine::kVariables; ++v) {
      if (constraint.factor[v] == 0) continue;
      ++used;
      last = v;
    }
    if (used == 0) {
      if (constraint.constant < 0) ranges_[0] = {0, -1};
    } else if (used == 1) {
      narrow(ranges_[last], constraint.factor[last], constraint.constant);
    } else {
      // A multiple of the index bounds the index itself.
      const auto times = ratio(constraint);
      std::int64_t offset = 0;
      if (times && !__builtin_mul_overflow(*times, index_->constant, &offset) &&
          !__builtin_sub_overflow(constraint.constant, offset, &offset)) {
        narrow(clip, *times, offset);
      } else {
        complete_ = false;
      }
    }
  }

  /// The whole number that times the index's factors gives the constraint's.
  std::optional<std::int64_t> ratio(const Affine& constraint) const {
    std::optional<std::int64_t> times;
    for (std::size_t v = 0; v < Affine::kVariables; ++v) {
      const std::int64_t mine = constraint.factor[v], its = index_->factor[v];
      if (mine == 0 && its == 0) continue;
      if (its == 0 || mine % its != 0 || (times && *times != mine / its)) return std::nullopt;
      times = mine / its;
    }
    return times;
  }

  /// Reads the index as a number of mixed radix: its variables are digits if each factor passes
  /// what the smaller ones add up to.
  void radix(SiteSet& set) const {
    struct Digit {
      std::int64_t factor;
      std::int64_t count;
    };
    std::vector<Digit> digits;
    set.hull = {index_->constant, index_->constant};
    set.interval = set.once = true;
    for (std::size_t v = 0; v < Affine::kVariables; ++v) {
      const std::int64_t factor = index_->factor[v];
      const Range range = ranges_[v];
      set.hull.low += factor * (factor >= 0 ? range.low : range.high);
      set.hull.high += factor * (factor >= 0 ? range.high : range.low);
      if (range.high > range.low) digits.push_back({std::abs(factor), range.high - range.low + 1});
    }
    std::ranges::sort(digits, {}, &Digit::factor);
    std::int64_t reach = 0;
    for (const Digit& digit : digits) {
      set.once = set.once && digit.factor > reach;
      set.interval = set.interval && digit.factor <= reach + 1;
      reach += digit.factor * (digit.count - 1);
    }
  }

  AffineForms forms_;
  const LaunchFacts& facts_;
  std::array<Range, Affine::kVariables> ranges_;
  std::vector<Affine> constraints_;
  std::optional<Affine> index_;
  bool complete_;
};

bool inside(const Range& inner, const Range& outer) {
  return inner.empty() || (outer.low <= inner.low && inner.high <= outer.high);
}

/// Which elements are stored, a bit each.
class Bits {
 public:
  explicit Bits(std::uint64_t count) : words_((count + 63) / 64), count_(count) {}
  /// Whether the bit is one of these and was clear.
  bool set(std::int64_t index) {
    if (!in_range(index)) return false;
    std::uint64_t& word = words_[static_cast<std::uint64_t>(index) / 64];
    const std::uint64_t bit = std::uint64_t{1} << (static_cast<std::uint64_t>(index) % 64);
    if (word & bit) return false;
    word |= bit;
    return true;
  }
  bool test(std::int64_t index) const {
    return in_range(index) && (words_[static_cast<std::uint64_t>(index) / 64] >>
                                   (static_cast<std::uint64_t>(index) % 64) &
                               1) != 0;
  }

 private:
  bool in_range(std::int64_t index) const {
    return index >= 0 && static_cast<std::uint64_t>(index) < count_;
  }
  std::vector<std::uint64_t> words_;
  std::uint64_t count_;
};

}  // namespace

std::uint64_t thread_count(const LaunchFacts& facts) noexcept {
  std::uint64_t count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    // Past the limit the exact number does not matter, and it must not wrap.
    count *= std::uint64_t{facts.grid[axis]} * facts.block[axis];
    if (count > kMostEnumerated) return kMostEnumerated + 1;
  }
  return count;
}

Proof prove_closed(const LaunchedSites& producer, const LaunchedSites& consumer,
                   std::uint64_t length) {
  std::vector<Range> stored;
  Range hull{0, -1};
  bool exact = true;
  for (const StoreSite& site : producer.sites) {
    const auto set = SiteForms(producer, site).solve();
    if (!set) return Proof::unknown;
    if (set->hull.empty()) continue;
    hull = hull.empty()
               ? set->hull
               : Range{std::min(hull.low, set->hull.low), std::max(hull.high, set->hull.high)};
    exact = exact && set->interval && set->once;
    stored.push_back(set->hull);
  }
  if (exact && !hull.empty() && (hull.low < 0 || std::cmp_greater_equal(hull.high, length))) {
    return Proof::refuted;
  }
  std::ranges::sort(stored, {}, &Range::low);
  std::vector<Range> joined;
  for (const Range& one : stored) {
    if (!joined.empty() && one.low <= joined.back().high) {
      return exact ? Proof::refuted : Proof::unknown;  // two sites meet in an element
    }
    if (!joined.empty() && one.low == joined.back().high + 1) {
      joined.back().high = one.high;
    } else {
      joined.push_back(one);
    }
  }
  bool covered = exact;
  for (const StoreSite& site : consumer.sites) {
    const auto set = SiteForms(consumer, site).solve();
    if (!set) return Proof::unknown;
    // The hull of what the producer stores is no less than that, also where it is not exact.
    if (set->interval && !inside(set->hull, hull)) return Proof::refuted;
    const bool here =
        std::ranges::any_of(joined, [&](const Range& r) { return inside(set->hull, r); });
    if (!here && !set->hull.empty()) {
      if (exact && set->interval) return Proof::refuted;
      covered = false;
    }
  }
  return covered ? Proof::proved : Proof::unknown;
}

Proof prove_by_enumeration(const LaunchedSites& producer, const LaunchedSites& consumer,
                           std::uint64_t length) {
  constexpr std::uint64_t kMostElements = std::uint64_t{1} << 28;  // 32 MiB of bits
  constexpr std::uint64_t kMostTurns = kMostEnumerated * 4;
  if (thread_count(producer.facts) > kMostEnumerated ||
      thread_count(consumer.facts) > kMostEnumerated || length > kMostElements) {
    return Proof::unknown;
  }
  Bits stored(length);
  for (const StoreSite& site : producer.sites) {
    bool twice = false;
    SiteRunner runner(producer.kernel, site, producer.facts);
    const bool all = runner.run(kMostTurns, [&](std::int64_t index) {
      twice = !stored.set(index);
      return !twice;
    });
    if (twice) return Proof::refuted;
    if (!all) return Proof::unknown;
  }
  for (const StoreSite& site : consumer.sites) {
    bool alone = false;
    SiteRunner runner(consumer.kernel, site, consumer.facts);
    const bool all = runner.run(kMostTurns, [&](std::int64_t index) {
      alone = !stored.test(index);
      return !alone;
    });
    // A consumer whose guard depends on data may write less than this, and is refused all the same.
    if (alone) return site.exact ? Proof::refuted : Proof::unknown;
    if (!all) return Proof::unknown;
  }
  return Proof::proved;
}

}  // namespace salvo::fusion
