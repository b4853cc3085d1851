// Runs blocks of a launch: all threads of a block in lock step, one operation after the other.
// SPDX-License-Identifier: MIT
//
// Each node is evaluated for all active threads before the next one. Control flow narrows the list
// of active threads and restores it; threads that break, continue or return drop out of it until
// their loop, or the block, takes them up again. So a barrier is only a check that nobody is
// missing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/interpreter/checks.hpp"
#include "backends/interpreter/code.hpp"
#include "backends/interpreter/faults.hpp"
#include "backends/interpreter/options.hpp"
#include "backends/interpreter/stripes.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::interpreter {

/// One argument, with its memory found.
struct BoundArgument {
  Allocation* allocation = nullptr;  // span; null: empty
  std::uint64_t offset = 0;          // span: first byte of the view
  std::uint64_t length = 0;          // span: elements
  std::uint64_t bits = 0;            // scalar
};

/// What all machines of one launch share.
struct LaunchState {
  const Code& code;
  const runtime::LaunchShape& shape;
  std::span<const BoundArgument> arguments;
  const Options& options;
  std::uint64_t launch_from = 1;  // moments of this launch start here
  Stripes* stripes = nullptr;     // null: one machine runs all blocks
};

/// Runs blocks one at a time. Its storage is allocated once and reused by every block.
class Machine {
 public:
  Machine(const LaunchState& launch, std::uint32_t worker);

  /// Runs the block of that linear number. Throws salvo::Error where the kernel is at fault.
  void run_block(std::uint64_t linear);
  /// The first moment that no access of this machine has used.
  std::uint64_t next_moment() const noexcept { return who_.moment + 1; }

 private:
  /// Active threads, ascending; the list belongs to `lists_` and is always filled in.
  struct Active {
    std::uint32_t* index = nullptr;
    std::uint32_t count = 0;
  };
  enum class State : std::uint8_t { Running, Continued, Broken, Returned };

  /// Memory that an access goes to.
  struct Target {
    std::byte* data = nullptr;
    std::uint8_t* written = nullptr;
    RaceShadow* races = nullptr;
    const Allocation* allocation = nullptr;  // global only
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
  };

  // Control (machine.cpp).
  void run(ir::BlockId block, Active& active, std::uint32_t level);
  void execute(const Instruction& instruction, Active& active, std::uint32_t level);
  void run_if(const Instruction& instruction, Active& active, std::uint32_t level);
  void run_for(const Instruction& instruction, const Active& active, std::uint32_t level);
  void run_while(const Instruction& instruction, const Active& active, std::uint32_t level);
  void run_switch(const Instruction& instruction, const Active& active, std::uint32_t level);
  void leave(Active& active, State state);
  void take_up(Active& active);
  void keep_running(Active& active) const;
  void barrier(const Instruction& instruction, const Active& active);
  void get_variable(const Instruction& instruction, Lanes lanes);
  void set_variable(const Instruction& instruction, Lanes lanes);
  void count_step(const Instruction& instruction) {
    if (++steps_ > max_steps_) fault_steps(instruction);
  }

  // Leaves (machine_leaves.cpp).
  void fill_leaf(const Instruction& instruction);
  void fill_argument(const Instruction& instruction, Lanes lanes);
  std::uint32_t argument_of(const Instruction& instruction, std::uint32_t lane) const;

  // Memory (machine_memory.cpp).
  void prepare_arrays();
  Target target_of(const Instruction& instruction, std::uint32_t lane);
  void access_memory(const Instruction& instruction, Lanes lanes);
  template <class Word>
  void access_words(const Instruction& instruction, Lanes lanes);
  /// Elements of a matrix at the indexes in the spare row, one for each lane (machine_memory.cpp).
  void access_elements(const Instruction& instruction, Lanes lanes, std::span<float> elements);
  template <class Word, AccessKind kKind, class Body>
  void each_access(const Instruction& instruction, Lanes lanes, Body&& body);
  std::uint64_t update(const Instruction& instruction, std::uint64_t old, std::uint32_t lane) const;

  // Code that the program brings (machine_user.cpp).
  void call_user_code(const Instruction& instruction, Lanes lanes);

  // Warps (machine_warp.cpp).
  void warp_operation(const Instruction& instruction, const Active& active);
  void run_warp(const Instruction& instruction, std::uint32_t first, std::uint32_t size);
  void shuffle(const Instruction& instruction, std::uint32_t first, std::uint32_t size);
  void reduce(const Instruction& instruction, std::uint32_t first, std::uint32_t size);

  // Cooperative matrices (machine_matrix.cpp).
  void prepare_matrices();
  std::span<float> matrix(std::uint32_t id, std::uint32_t warp);
  /// Faults if nothing has set it.
  std::span<const float> set_matrix(const Instruction& instruction, std::uint32_t id,
                                    std::uint32_t warp);
  void matrix_statement(const Instruction& instruction, const Active& active);
  void run_matrix(const Instruction& instruction, std::uint32_t first);
  void multiply_add(const Instruction& instruction, std::uint32_t warp);
  void access_matrix(const Instruction& instruction, std::uint32_t first);
  void check_alignment(const Instruction& instruction, std::uint32_t first, std::uint64_t offset,
                       std::uint64_t stride);

  // Faults (machine_faults.cpp).
  [[noreturn]] void fault(const Instruction& instruction, std::string message) const;
  [[noreturn]] void fault_bounds(const Instruction& instruction, std::uint32_t lane,
                                 std::uint64_t length) const;
  [[noreturn]] void fault_unwritten(const Instruction& instruction, std::uint32_t lane,
                                    std::uint64_t length) const;
  [[noreturn]] void fault_race(const Instruction& instruction, std::uint32_t lane,
                               std::uint64_t length, const Conflict& other) const;
  [[noreturn]] void fault_divergence(const Instruction& instruction, const Active& active,
                                     std::uint32_t first, std::uint32_t size,
                                     std::string_view group) const;
  [[noreturn]] void fault_steps(const Instruction& instruction) const;
  std::string element_text(const Instruction& instruction, std::uint32_t lane) const;
  std::string other_party(const Conflict& other) const;
  ThreadPlace place_of(std::uint32_t lane) const;
  std::array<std::uint32_t, 3> thread_at(std::uint32_t lane) const;
  std::array<std::uint32_t, 3> block_at(std::uint64_t linear) const;

  const ir::Node& node_of(const Instruction& instruction) const {
    return launch_.code.kernel().node(instruction.id);
  }
  std::uint64_t* row(Row row) noexcept { return values_.get() + std::size_t{row} * threads_; }
  const std::uint64_t* row(Row row) const noexcept {
    return values_.get() + std::size_t{row} * threads_;
  }
  /// Two lists of active threads for each level of nesting.
  std::uint32_t* list(std::uint32_t level, std::uint32_t which) noexcept {
    return lists_.data() + (std::size_t{level} * 2 + which) * threads_;
  }
  Lanes lanes_of(const Active& active) const noexcept {
    return {active.count == threads_ ? nullptr : active.index, active.count};
  }

  const LaunchState& launch_;
  const std::uint32_t threads_;
  const std::uint64_t max_steps_;
  std::uint64_t steps_ = 0;

  std::unique_ptr<std::uint64_t[]> values_;  // rows of the nodes, then one to spare
  std::uint64_t* spare_ = nullptr;
  std::vector<std::uint32_t> lists_;
  std::vector<State> states_;
  bool anyone_left_ = false;  // a thread broke, continued or returned since this was last cleared

  std::vector<std::uint64_t> variables_;
  std::vector<std::uint8_t> variable_set_;

  std::vector<float> matrices_;  // by warp
  std::vector<std::uint8_t> matrix_set_;

  std::vector<std::byte> shared_;
  std::vector<std::uint8_t> shared_written_;
  RaceShadow shared_races_;
  std::vector<std::byte> local_;
  std::vector<std::uint8_t> local_written_;

  Accessor who_;
  std::uint64_t block_ = 0;
  std::vector<std::uint64_t> block_starts_;  // first moment of each block so far; one machine only
};

}  // namespace salvo::backends::interpreter
