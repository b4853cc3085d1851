// Computes on the host which elements the threads of a launch store, by running what decides it.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "fusion/store_sites.hpp"
#include "passes/affine.hpp"

namespace salvo::fusion {

/// Runs the path and index of one site for each thread of a launch.
class SiteRunner {
 public:
  /// `site` must have a known index. Steps that were left out of its path count as taken.
  SiteRunner(const ir::Kernel& kernel, const StoreSite& site, const passes::LaunchFacts& facts);

  /// Calls `stored` with each index, thread after thread, until it returns false or `most` turns of
  /// loops were made. Whether all threads were run to their end.
  bool run(std::uint64_t most, const std::function<bool(std::int64_t)>& stored);

 private:
  struct Instruction {
    ir::Op op;
    ir::Scalar type;   // of the result
    ir::Scalar input;  // of the first operand
    std::uint8_t axis;
    std::uint32_t to;
    std::array<std::uint32_t, 3> from;
  };
  struct Step {
    PathStep what;
    std::vector<Instruction> before;  // what the step reads and no earlier one has computed
    std::array<std::uint32_t, 3> operands{};
    ir::Scalar type = ir::Scalar::I32;
    bool down = false;
    std::uint32_t counter = 0;
  };

  std::uint32_t require(ir::ValueId id, std::vector<Instruction>& code);
  std::uint32_t constant(std::uint64_t bits);
  void execute(const std::vector<Instruction>& code);
  void execute(const Instruction& one);
  bool walk(std::size_t step);
  bool turns(const Step& step, std::size_t next);
  std::int64_t number(std::uint32_t place, ir::Scalar type) const;

  const ir::Kernel& kernel_;
  const passes::LaunchFacts facts_;
  std::vector<std::uint32_t> place_;  // by node, where its value is; kNone: nowhere yet
  std::vector<std::uint64_t> values_;
  std::vector<Instruction> uniform_;  // the same for all threads
  std::vector<bool> varies_;          // by place
  std::vector<Step> steps_;
  std::vector<Instruction> last_;     // computes the index
  std::uint32_t index_ = 0;
  ir::Scalar index_type_ = ir::Scalar::I32;
  std::array<std::uint32_t, 3> thread_{}, block_{};
  const std::function<bool(std::int64_t)>* stored_ = nullptr;
  std::uint64_t left_ = 0;
  bool failed_ = false;
};

}  // namespace salvo::fusion
