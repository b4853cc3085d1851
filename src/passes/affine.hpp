// Indexes and guards as affine forms of a thread's position, with the numbers of one launch filled
// in.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/kernel.hpp"

namespace salvo::passes {

/// What a launch fixes for its kernel.
struct LaunchFacts {
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> block{1, 1, 1};
  /// By parameter: elements of a span; bits of a scalar in the parameter's own type.
  std::span<const std::uint64_t> values;
};

/// Bits of a scalar parameter as Param computes them: widened to the compute type.
std::uint64_t widened(ir::Scalar stored, std::uint64_t bits) noexcept;

/// constant + the sum of factor[v] * v over the variables: 0..2 thread position x y z, 3..5 block
/// position, 6 on the turns of enclosing loops, outermost first.
struct Affine {
  static constexpr std::size_t kLoops = 3;
  static constexpr std::size_t kVariables = 6 + kLoops;
  std::int64_t constant = 0;
  std::array<std::int64_t, kVariables> factor{};

  bool is_constant() const noexcept;
};

/// Inclusive; empty if high < low.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = -1;
  bool empty() const noexcept { return high < low; }
};

/// Finds the forms of a kernel's integer values for one launch. A form is exact: where a value
/// might wrap in its type, there is none.
class AffineForms {
 public:
  AffineForms(const ir::Kernel& kernel, const LaunchFacts& facts);

  std::optional<Affine> form(ir::ValueId id);
  /// Adds what holds where `condition` is `taken`: each form is then at least zero. False if that
  /// cannot be said so, and nothing may have been added or a part.
  bool constrain(ir::ValueId condition, bool taken, std::vector<Affine>& constraints);
  /// Enters a For: its counter gets a form, its turns a variable and a constraint. False if its
  /// bounds have no forms or it counts down.
  bool enter(ir::ValueId loop, std::vector<Affine>& constraints);

  /// Values each variable can take; a loop that never runs makes its range empty.
  const std::array<Range, Affine::kVariables>& ranges() const noexcept { return ranges_; }

 private:
  struct Loop {
    ir::ValueId node;
    Affine counter;
  };

  std::optional<Affine> compute(ir::ValueId id);
  std::optional<Affine> combine(const ir::Node& node);
  std::optional<Affine> folded(const ir::Node& node, std::span<const Affine> inputs) const;
  Range bounds(const Affine& form) const noexcept;
  bool fits(const Affine& form, ir::Scalar type) const noexcept;

  const ir::Kernel& kernel_;
  const LaunchFacts& facts_;
  std::array<Range, Affine::kVariables> ranges_;
  std::vector<Loop> loops_;
  int budget_ = 512;  // nodes looked at: a form is worth its while or not had at all
};

}  // namespace salvo::passes
