// Runs blocks of a launch: control flow, variables and barriers.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace salvo::backends::interpreter {
namespace {

std::uint32_t thread_count(const runtime::Dim3& block) {
  return block[0] * block[1] * block[2];
}

/// Keeps the threads whose condition holds; returns how many.
std::uint32_t keep_if(std::uint32_t* index, std::uint32_t count, const std::uint64_t* condition) {
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t lane = index[i];
    index[kept] = lane;
    kept += condition[lane] != 0 ? 1 : 0;
  }
  return kept;
}

}  // namespace

Machine::Machine(const LaunchState& launch, std::uint32_t worker)
    : launch_(launch),
      threads_(thread_count(launch.shape.block)),
      max_steps_(launch.options.max_steps != 0 ? launch.options.max_steps
                                               : std::numeric_limits<std::uint64_t>::max()),
      values_(std::make_unique_for_overwrite<std::uint64_t[]>(
          (std::size_t{launch.code.rows()} + 1) * threads_)),
      spare_(row(launch.code.rows())),
      lists_((std::size_t{launch.code.depth()} + 2) * 2 * threads_),
      states_(threads_, State::Running) {
  const std::size_t variable_slots = launch.code.kernel().variables.size() * threads_;
  variables_.resize(variable_slots);
  variable_set_.resize(variable_slots);
  prepare_arrays();
  prepare_matrices();
  who_.moment = launch.launch_from - 1;
  who_.launch_from = launch.launch_from;
  who_.worker = worker;
  who_.across_blocks = !launch.code.has_device_fence();
  for (const Instruction& leaf : launch.code.launch_leaves()) fill_leaf(leaf);
}

void Machine::run_block(std::uint64_t linear) {
  block_ = linear;
  steps_ = 0;
  ++who_.moment;
  who_.block_from = who_.moment;
  if (launch_.stripes == nullptr) block_starts_.push_back(who_.moment);

  anyone_left_ = false;
  std::fill(states_.begin(), states_.end(), State::Running);
  std::fill(variable_set_.begin(), variable_set_.end(), std::uint8_t{0});
  std::fill(matrix_set_.begin(), matrix_set_.end(), std::uint8_t{0});
  std::fill(shared_written_.begin(), shared_written_.end(), std::uint8_t{0});
  std::fill(local_written_.begin(), local_written_.end(), std::uint8_t{0});
  for (const Instruction& leaf : launch_.code.block_leaves()) fill_leaf(leaf);

  Active all{list(0, 0), threads_};
  std::iota(all.index, all.index + threads_, 0u);
  run(launch_.code.kernel().body, all, 1);
}

void Machine::run(ir::BlockId block, Active& active, std::uint32_t level) {
  for (const Instruction& instruction : launch_.code.block(block)) {
    if (active.count == 0) return;
    count_step(instruction);
    if (instruction.function != nullptr && instruction.op != ir::Op::For) {
      instruction.function(row(instruction.operands[0]), row(instruction.operands[1]),
                           row(instruction.operands[2]), row(instruction.out), lanes_of(active));
    } else {
      execute(instruction, active, level);
    }
  }
}

void Machine::execute(const Instruction& instruction, Active& active, std::uint32_t level) {
  switch (instruction.op) {
    case ir::Op::If:
      run_if(instruction, active, level);
      break;
    case ir::Op::For:
      run_for(instruction, active, level);
      break;
    case ir::Op::While:
      run_while(instruction, active, level);
      break;
    case ir::Op::Switch:
      run_switch(instruction, active, level);
      break;
    case ir::Op::Break:
      leave(active, State::Broken);
      break;
    case ir::Op::Continue:
      leave(active, State::Continued);
      break;
    case ir::Op::Return:
      leave(active, State::Returned);
      break;
    case ir::Op::Barrier:
      barrier(instruction, active);
      break;
    // Accesses happen in program order here, which is more than a fence promises.
    case ir::Op::Fence:
      break;
    case ir::Op::VarGet:
      get_variable(instruction, lanes_of(active));
      break;
    case ir::Op::VarSet:
      set_variable(instruction, lanes_of(active));
      break;
    case ir::Op::Param:
    case ir::Op::Length:
      fill_argument(instruction, lanes_of(active));
      break;
    case ir::Op::Intrinsic:
    case ir::Op::Native:
      call_user_code(instruction, lanes_of(active));
      break;
    default:
      if (ir::is_warp(instruction.op)) {
        warp_operation(instruction, active);
      } else if (ir::is_matrix(instruction.op)) {
        matrix_statement(instruction, active);
      } else {
        access_memory(instruction, lanes_of(active));
      }
  }
  // Loops take up their own; what is left over here left the list that we run.
  if (anyone_left_ && ir::is_control(instruction.op)) keep_running(active);
}

void Machine::run_if(const Instruction& instruction, Active& active, std::uint32_t level) {
  const std::uint64_t* condition = row(instruction.operands[0]);
  Active yes{list(level, 0), 0};
  Active no{list(level, 1), 0};
  for (std::uint32_t i = 0; i < active.count; ++i) {
    const std::uint32_t lane = active.index[i];
    Active& side = condition[lane] != 0 ? yes : no;
    side.index[side.count++] = lane;
  }
  const ir::Node& node = node_of(instruction);
  run(node.blocks[0], yes, level + 1);
  run(node.blocks[1], no, level + 1);
}

void Machine::run_for(const Instruction& instruction, const Active& active, std::uint32_t level) {
  std::uint64_t* counter = row(instruction.out);
  const std::uint64_t* first = row(instruction.operands[0]);
  const std::uint64_t* limit = row(instruction.operands[1]);
  const std::uint64_t* step = row(instruction.operands[2]);
  lanes_of(active).each([=](std::uint32_t lane) { counter[lane] = first[lane]; });

  Active looping{list(level, 0), active.count};
  std::copy_n(active.index, active.count, looping.index);
  while (true) {
    instruction.compare(counter, limit, nullptr, spare_, lanes_of(looping));
    looping.count = keep_if(looping.index, looping.count, spare_);
    if (looping.count == 0) return;
    count_step(instruction);
    Active body{list(level, 1), looping.count};
    std::copy_n(looping.index, looping.count, body.index);
    run(node_of(instruction).blocks[0], body, level + 1);
    take_up(looping);
    instruction.function(counter, step, nullptr, counter, lanes_of(looping));
  }
}

void Machine::run_while(const Instruction& instruction, const Active& active, std::uint32_t level) {
  const ir::Node& node = node_of(instruction);
  const std::uint64_t* condition = row(instruction.operands[0]);
  Active looping{list(level, 0), active.count};
  std::copy_n(active.index, active.count, looping.index);
  while (true) {
    count_step(instruction);
    run(node.blocks[0], looping, level + 1);  // a condition has no jumps: nobody is lost here
    looping.count = keep_if(looping.index, looping.count, condition);
    if (looping.count == 0) return;
    Active body{list(level, 1), looping.count};
    std::copy_n(looping.index, looping.count, body.index);
    run(node.blocks[1], body, level + 1);
    take_up(looping);
    if (looping.count == 0) return;
  }
}

void Machine::run_switch(const Instruction& instruction, const Active& active,
                         std::uint32_t level) {
  const ir::Node& node = node_of(instruction);
  const std::uint64_t* value = row(instruction.operands[0]);
  const bool is_i32 = instruction.operand_type == ir::Scalar::I32;
  Active rest{list(level, 0), active.count};
  std::copy_n(active.index, active.count, rest.index);
  for (std::size_t k = 0; k < node.cases.size(); ++k) {
    Active taken{list(level, 1), 0};
    std::uint32_t kept = 0;
    for (std::uint32_t i = 0; i < rest.count; ++i) {
      const std::uint32_t lane = rest.index[i];
      if (as_signed(value[lane], is_i32) == node.cases[k]) {
        taken.index[taken.count++] = lane;
      } else {
        rest.index[kept++] = lane;
      }
    }
    rest.count = kept;
    run(node.blocks[k], taken, level + 1);
  }
  run(node.blocks.back(), rest, level + 1);
}

void Machine::leave(Active& active, State state) {
  for (std::uint32_t i = 0; i < active.count; ++i) states_[active.index[i]] = state;
  active.count = 0;
  anyone_left_ = true;
}

// After the body of the innermost loop: who continued goes on, who broke goes on after the loop.
// The flag stays set: an outer list may still hold threads that returned.
void Machine::take_up(Active& active) {
  if (!anyone_left_) return;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < active.count; ++i) {
    const std::uint32_t lane = active.index[i];
    const State state = states_[lane];
    if (state == State::Returned) continue;
    states_[lane] = State::Running;
    if (state != State::Broken) active.index[kept++] = lane;
  }
  active.count = kept;
}

void Machine::keep_running(Active& active) const {
  active.count = static_cast<std::uint32_t>(
      std::remove_if(active.index, active.index + active.count,
                     [this](std::uint32_t lane) { return states_[lane] != State::Running; }) -
      active.index);
}

void Machine::barrier(const Instruction& instruction, const Active& active) {
  if (active.count != threads_) {
    fault_divergence(instruction, active, 0, threads_, "block");
  }
  ++who_.moment;
}

void Machine::get_variable(const Instruction& instruction, Lanes lanes) {
  const ir::Node& node = node_of(instruction);
  const std::size_t base = std::size_t{node.index} * threads_;
  const std::uint64_t* value = variables_.data() + base;
  const std::uint8_t* set = variable_set_.data() + base;
  std::uint64_t* out = row(instruction.out);
  lanes.each([&](std::uint32_t lane) {
    if (set[lane] == 0) {
      fault(instruction, fmt::format("uninitialised read of variable {}, by {}",
                                     launch_.code.kernel().variables[node.index].name,
                                     to_string(place_of(lane))));
    }
    out[lane] = value[lane];
  });
}

void Machine::set_variable(const Instruction& instruction, Lanes lanes) {
  const std::size_t base = std::size_t{node_of(instruction).index} * threads_;
  std::uint64_t* target = variables_.data() + base;
  std::uint8_t* set = variable_set_.data() + base;
  const std::uint64_t* value = row(instruction.operands[0]);
  lanes.each([=](std::uint32_t lane) {
    target[lane] = value[lane];
    set[lane] = 1;
  });
}

}  // namespace salvo::backends::interpreter
