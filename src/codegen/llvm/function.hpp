// The inside of the emitter: one kernel on its way to the text of an LLVM function.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <map>
#include <span>
#include <vector>

#include "codegen/llvm/arithmetic.hpp"
#include "codegen/llvm/debug_info.hpp"
#include "codegen/llvm/emitter.hpp"
#include "codegen/llvm/plan.hpp"
#include "codegen/llvm/shapes.hpp"
#include "codegen/llvm/writer.hpp"

namespace salvo::codegen::llvm {

/// Which threads of a vector are active: a vector of i1, or all of them if the text is empty. At
/// least one is, wherever code is emitted under a mask.
struct Mask {
  Text text;
  bool full() const noexcept { return text.empty(); }
};

/// Where an access goes.
struct Place {
  enum class Kind : std::uint8_t {
    One,      // one address for all threads
    Row,      // neighbours in memory, from `address` on
    Reverse,  // neighbours, the last thread's first
    Spread,   // a vector of addresses
  };
  Kind kind = Kind::One;
  Text address;
  ir::Scalar type = ir::Scalar::I32;
  unsigned align = 1;
  Mask mask;  // of the threads whose element exists
  bool shared = false;
};

class Function {
 public:
  Function(const ir::Kernel& kernel, const EmitOptions& options);
  Emitted run();

 private:
  struct Loop {
    ir::ValueId node = ir::kNoValue;
    bool uniform = true;
    Text next, end;   // labels, for a uniform loop
    Text live, skip;  // variables: threads still in the loop, and those done with this turn
  };
  struct Variable {
    Text slot;
    unsigned lanes = 1;
  };

  // function.cpp: the frame, blocks of the grid, and what is executed once for each.
  void lay_out_scratch();
  void frame();
  void read_arguments();
  void make_arrays();
  void make_variables();
  void grid_blocks();
  void open_block(ir::BlockId block);
  void open_control(ir::ValueId id);
  void open_loop(ir::ValueId id);
  void once_node(ir::ValueId id);
  Text block_value(ir::ValueId id);
  void region(std::uint32_t id);
  void region_once(const Region& region);
  void row_loops(const std::function<void()>& body);
  void vector_of_threads(const Region& region);
  void region_body(const Region& region, const Mask& mask);
  bool guarded(const Region& region) const;
  std::uint64_t work() const;

  // lanes.cpp: control as vectors of threads go through it.
  void lane_nodes(std::span<const ir::ValueId> nodes, Mask mask);
  void lane_block(ir::BlockId block, const Mask& mask);
  void lane_node(ir::ValueId id, const Mask& mask);
  void lane_if(const ir::Node& node, const Mask& mask);
  void lane_switch(const ir::Node& node, const Mask& mask);
  void lane_loop(ir::ValueId id, const Mask& mask);
  void uniform_loop(ir::ValueId id, const Mask& mask);
  void parting_loop(ir::ValueId id, const Mask& mask);
  void lane_jump(const ir::Node& node, const Mask& mask);
  void branch_if_any(const Mask& mask, const std::function<void()>& body);
  bool branch_free(ir::BlockId block) const;
  void set_variable(const ir::Node& node, const Mask& mask);
  Mask both(const Mask& mask, const Text& condition);
  Mask without(const Mask& mask, const Text& condition);
  Text mask_text(const Mask& mask) const { return mask.full() ? w_.all_lanes() : mask.text; }
  Text bits(const Text& mask);
  Text any(const Text& mask);
  Text all(const Text& mask);
  void leave(const Text& variable, const Mask& mask);
  void join(const Text& variable, const Mask& mask);
  Text back_edge(const ir::Node& loop);

  // values.cpp: what a value is called here, alone and as a vector.
  void pure(ir::ValueId id);
  Text leaf(const ir::Node& node);
  Text number(ir::ValueId id);  // uniform: the value; strided: the first thread's
  Text vector(ir::ValueId id);  // of all threads
  Shape loop_shape(const ir::Node& loop) const;
  Text spread(ir::Scalar type, const Text& first, std::int64_t stride);
  ir::Scalar type_of(ir::ValueId id) const { return kernel_.node(id).type; }
  Text iota(std::string_view element, std::int64_t stride) const;
  Text argument(std::uint32_t parameter, ir::ValueId slot);
  Text length(std::uint32_t parameter, ir::ValueId slot);
  Text argument_address(std::uint32_t parameter, ir::ValueId slot);
  void store_spilled(ir::ValueId id);
  void load_spilled(ir::ValueId id);
  Text spill_address(std::uint64_t offset);
  void locate(const ir::Node& node);

  // memory.cpp: loads and stores.
  Place place(const ir::Node& node, const Mask& mask);
  Place local_place(const ir::Node& node, const Mask& mask);
  Text base_of(const ir::Node& node);
  Text wide_index(ir::ValueId index);
  Text wide_indices(ir::ValueId index);
  Text byte_offsets(const Text& indices, std::uint64_t size, std::uint64_t offset);
  bool rows(const ir::Node& node, std::int64_t direction) const;
  void load(ir::ValueId id, const Mask& mask);
  void store(const ir::Node& node, const Mask& mask);
  Text masked_load(const Place& place, std::string_view element);
  Text reversed(std::string_view element, const Text& value);
  Text last_active(std::string_view element, const Text& value, const Mask& mask);
  void check_bounds(const ir::Node& node, Place& place);
  void report_fault(const ir::Node& node, const Text& bad, const Text& index, const Text& length);
  Text element_count(const ir::Node& node);

  // atomics.cpp
  void atomic(ir::ValueId id, const Mask& mask);
  Text atomic_one(const ir::Node& node, const Place& place, const Text& address,
                  std::span<const Text> operands);
  bool reduce_first(const ir::Node& node, ir::ValueId id, const Place& place) const;
  Text reduction(const ir::Node& node, const Mask& mask);
  void each_active(const Mask& mask, const std::function<void(const Text& lane)>& body);
  Text fence(const ir::Node& node);

  // warp.cpp
  void warp(ir::ValueId id, const Mask& mask);
  Text shuffle(const ir::Node& node);
  Text warp_reduction(const ir::Node& node, const Mask& mask);

  const ir::Kernel& kernel_;
  const EmitOptions options_;
  const unsigned lanes_;
  Plan plan_;
  Shapes shapes_;
  Writer w_;
  Arithmetic arithmetic_;
  DebugInfo debug_;

  std::vector<Text> values_;  // by shape: a number, the first thread's number, or a vector
  std::vector<Text> parameters_;
  std::vector<Text> lengths_;
  std::vector<std::uint32_t> first_argument_;
  std::vector<Text> arrays_;  // base addresses of shared and local arrays
  std::vector<Variable> variables_;
  std::vector<std::uint64_t> value_offsets_;  // in a vector's scratch record
  std::vector<std::uint64_t> variable_offsets_;
  std::vector<std::uint64_t> array_offsets_;
  std::uint64_t scratch_bytes_ = 0;

  Text grid_[3], block_dim_[3], block_idx_[3];
  Text dynamic_bytes_;
  Text thread_[3];  // x: of the first thread of the vector
  Text global_[3];
  Text block_start_[3];  // block_idx * block_dim
  Text record_;          // address of the vector's scratch record
  bool in_region_ = false;

  std::vector<Loop> loops_;
  std::vector<std::pair<Text, Text>> open_loops_;  // labels: next, end
  std::vector<ir::ValueId> open_loop_nodes_;
  Text returned_;  // variable; empty if the kernel has no Return
  Mask region_mask_;
  std::vector<Text> scope_masks_;  // by block; what its mask was when it was entered
  bool split_ = false;             // within one of two copies of a branch
  std::vector<std::string> metadata_;
};

}  // namespace salvo::codegen::llvm
