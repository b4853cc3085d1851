// How a value differs between the threads of a vector: not at all, by a fixed step, or freely.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/llvm/plan.hpp"
#include "ir/kernel.hpp"

namespace salvo::codegen::llvm {

struct Shape {
  enum class Kind : std::uint8_t {
    Uniform,  // the same for all threads that are active: one number
    Strided,  // that of the first thread plus a multiple of `stride`: one number, too
    Lanes,    // a number for each
  };
  Kind kind = Kind::Uniform;
  std::int64_t stride = 0;
  /// A strided value that does not wrap on the way, so that widening it keeps the stride.
  bool exact = false;

  bool uniform() const noexcept { return kind == Kind::Uniform; }
  bool lanes() const noexcept { return kind == Kind::Lanes; }
};

/// Shapes of all values of a kernel, and what follows for variables and control. Threads of a
/// vector run in lockstep, so that a loop which some leave early still counts alike for those in
/// it; this makes more values uniform than agreement of a whole block does.
class Shapes {
 public:
  Shapes(const ir::Kernel& kernel, const Plan& plan);

  const Shape& operator[](ir::ValueId id) const { return shapes_[id]; }
  /// Whether a variable of a region is kept as one number.
  bool uniform_variable(std::uint32_t variable) const { return !lanes_variable_[variable]; }
  /// Whether all threads in a loop turn, break and continue alike: it is a plain loop.
  bool uniform_loop(ir::ValueId loop) const { return uniform_loop_[loop]; }
  /// Whether threads may jump out of a control node, or return in it, without all others.
  bool loses_threads(ir::ValueId control) const;
  /// The block in which a variable is set before all else is done with it: threads that are not
  /// active there never see what is assigned. kNone if there is none.
  ir::BlockId scope(std::uint32_t variable) const { return scope_[variable]; }

 private:
  void find_scopes();
  void walk(ir::BlockId block);
  Shape compute(ir::ValueId id) const;
  Shape arithmetic(const ir::Node& node) const;
  Shape cast(const ir::Node& node) const;
  bool jumps_alike(ir::ValueId loop) const;
  bool alike(ir::ValueId control) const;
  bool demote_variables();

  const ir::Kernel& kernel_;
  const Plan& plan_;
  std::vector<Shape> shapes_;
  std::vector<bool> lanes_variable_;
  std::vector<bool> uniform_loop_;
  std::vector<ir::BlockId> scope_;
};

}  // namespace salvo::codegen::llvm
