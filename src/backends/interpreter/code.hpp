// A kernel made ready to run: functions, rows and layouts looked up once.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "backends/interpreter/checks.hpp"
#include "backends/interpreter/lanes.hpp"
#include "ir/kernel.hpp"

namespace salvo::backends::interpreter {

/// Values of one node for all threads of a block are a row of slots.
using Row = std::uint32_t;

/// One node, with all that does not change between launches.
struct Instruction {
  ir::Op op = ir::Op::Constant;
  ir::Scalar type = ir::Scalar::I32;          // of the result
  ir::Scalar operand_type = ir::Scalar::I32;  // of the first operand
  ir::ValueId id = ir::kNoValue;
  Row out = 0;
  std::array<Row, 4> operands{};
  bool has_slot = false;
  Row slot = 0;
  LaneFunction function = nullptr;  // pure operations; For: counter and step to the next counter
  LaneFunction compare = nullptr;   // For: whether the loop goes on
  LaneFunction convert = nullptr;   // between value and element; null: none needed
  LaneFunction combine = nullptr;   // atomics and reductions: two values to one
  bool index_is_i32 = false;        // of an element, or a shuffle's lane
  // Accesses:
  std::uint32_t bytes = 0;   // of the leaf
  std::uint32_t stride = 0;  // of the element
  std::uint32_t offset = 0;  // of the leaf in the element
};

/// Where a shared or local array lies in the storage of its block or thread.
struct ArrayLayout {
  std::uint64_t offset = 0;
  bool dynamic = false;
};

/// A kernel that `Machine` can run. Immutable; any number of launches share it.
class Code {
 public:
  /// Throws Errc::invalid_kernel for an operation on types it is not defined for.
  explicit Code(ir::Kernel kernel);

  const ir::Kernel& kernel() const noexcept { return kernel_; }
  const std::vector<Instruction>& block(ir::BlockId id) const { return blocks_[id]; }
  /// Leaves whose rows are filled once for a launch, and those that change with the block.
  const std::vector<Instruction>& launch_leaves() const noexcept { return launch_leaves_; }
  const std::vector<Instruction>& block_leaves() const noexcept { return block_leaves_; }
  Row rows() const noexcept { return rows_; }
  /// Control nodes inside one another.
  std::uint32_t depth() const noexcept { return depth_; }

  /// Position of a parameter's first argument, and how many a launch passes.
  std::uint32_t first_argument(std::uint32_t parameter) const {
    return first_arguments_[parameter];
  }
  std::uint32_t argument_count() const noexcept { return argument_count_; }

  const ArrayLayout& layout(ir::MemoryId memory) const { return layouts_[memory]; }
  /// Of constant shared arrays, rounded up to 16; dynamic ones follow.
  std::uint64_t shared_bytes() const noexcept { return shared_bytes_; }
  std::uint64_t local_bytes_per_thread() const noexcept { return local_bytes_; }
  const MemoryUse& use(ir::MemoryId memory) const { return uses_[memory]; }
  /// Where a matrix begins among those of a warp, and how many elements these have together.
  std::uint32_t first_element(std::uint32_t matrix) const { return first_elements_[matrix]; }
  std::uint32_t matrix_elements() const noexcept { return matrix_elements_; }
  /// What runs for user code: as it was defined when this was made.
  const ir::HostBody& host_body(std::uint32_t user_call) const { return host_bodies_[user_call]; }
  /// A fence of device scope lets blocks order their accesses by a protocol of their own, which
  /// no check here follows: accesses of different blocks then never count as races.
  bool has_device_fence() const noexcept { return has_device_fence_; }

 private:
  void lay_out();
  void assign_rows();
  void compile_block(ir::BlockId id, std::uint32_t depth);
  Instruction compile(ir::ValueId id) const;
  void compile_access(const ir::Node& node, Instruction& instruction) const;
  void note_use(const ir::Node& node);

  ir::Kernel kernel_;
  std::vector<std::vector<Instruction>> blocks_;
  std::vector<Instruction> launch_leaves_;
  std::vector<Instruction> block_leaves_;
  std::vector<Row> row_of_;
  Row rows_ = 0;
  std::uint32_t depth_ = 0;
  std::vector<std::uint32_t> first_arguments_;
  std::uint32_t argument_count_ = 0;
  std::vector<ArrayLayout> layouts_;
  std::uint64_t shared_bytes_ = 0;
  std::uint64_t local_bytes_ = 0;
  std::vector<MemoryUse> uses_;
  std::vector<std::uint32_t> first_elements_;
  std::uint32_t matrix_elements_ = 0;
  std::vector<ir::HostBody> host_bodies_;
  bool has_device_fence_ = false;
};

}  // namespace salvo::backends::interpreter
