// Horizontal fusion: whether a kernel may be a member, and the one kernel that runs many members.
// SPDX-License-Identifier: MIT
#include "fusion/horizontal.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>
#include <utility>

#include "fusion/shared_overlay.hpp"
#include "ir/builder.hpp"
#include "passes/clone.hpp"
#include "passes/lower_returns.hpp"

namespace salvo::fusion {
namespace {

using ir::Op;
using ir::Scalar;
using ir::ValueId;

/// Beyond this many members a slot is found by bisection rather than by counting.
constexpr std::uint32_t kCountedSlots = 8;

struct Member {
  ir::Kernel kernel;  // without early returns
  std::uint32_t slots = 1;
  std::uint32_t first_block = 0;  // parameters of the fused kernel
  std::uint32_t block_count = 0;
  std::vector<std::uint32_t> parameters;
  std::vector<ir::MemoryId> memories;
  std::vector<SharedArray> shared;
};

class Fuser {
 public:
  explicit Fuser(std::span<const Body> bodies) : builder_(fused_name(bodies)) {
    for (const Body& body : bodies) {
      members_.push_back({passes::lower_returns(*body.kernel), body.slots, 0, 0, {}, {}, {}});
    }
  }

  ir::Kernel build() {
    for (Member& member : members_) declare(member);
    declare_shared();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::string suffix = std::to_string(i);
      members_[i].first_block =
          builder_.scalar_parameter("first_block" + suffix, Scalar::I32, members_[i].slots);
      members_[i].block_count =
          builder_.scalar_parameter("block_count" + suffix, Scalar::I32, members_[i].slots);
    }
    block_ = builder_.position(Op::BlockIdx, 0);
    select(0);
    return builder_.finish();
  }

 private:
  static std::string fused_name(std::span<const Body> bodies) {
    std::string name = "fused";
    for (const Body& body : bodies) name += "_" + body.kernel->name;
    constexpr std::size_t kLongest = 120;
    return name.substr(0, kLongest);
  }

  void declare(Member& member) {
    const ir::Kernel& kernel = member.kernel;
    member.memories.assign(kernel.memories.size(), ir::kNone);
    member.parameters.assign(kernel.parameters.size(), ir::kNone);
    const std::string suffix = fmt::format("_m{}", &member - members_.data());
    for (std::size_t p = 0; p < kernel.parameters.size(); ++p) {
      const ir::Parameter& parameter = kernel.parameters[p];
      member.parameters[p] = static_cast<std::uint32_t>(builder_.kernel().parameters.size());
      if (parameter.is_span) {
        const ir::Memory& memory = kernel.memories[parameter.memory];
        member.memories[parameter.memory] = builder_.span_parameter(
            parameter.name + suffix, memory.element, memory.read_only, member.slots);
      } else {
        builder_.scalar_parameter(parameter.name + suffix, parameter.type, member.slots);
      }
    }
    for (std::size_t m = 0; m < kernel.memories.size(); ++m) {
      const ir::Memory& memory = kernel.memories[m];
      if (memory.space == ir::Space::Local) {
        member.memories[m] =
            builder_.local_array(memory.name + suffix, memory.element, memory.count);
      }
    }
  }

  /// The members' shared arrays, which overlay each other (W31).
  void declare_shared() {
    SharedOverlay overlay;
    for (Member& member : members_) {
      member.shared = shared_arrays(member.kernel);
      overlay.add(member.shared);
    }
    std::vector<std::vector<std::size_t>> places;
    std::vector<const ir::Element*> elements(overlay.arrays().size());
    for (const Member& member : members_) {
      places.push_back(overlay.places(member.shared));
      for (std::size_t a = 0; a < member.shared.size(); ++a) {
        elements[places.back()[a]] = &member.kernel.memories[member.shared[a].memory].element;
      }
    }
    std::vector<ir::MemoryId> arrays;
    for (const SharedArray& array : overlay.arrays()) {
      arrays.push_back(builder_.shared_array(fmt::format("shared{}", arrays.size()),
                                             *elements[arrays.size()], array.count));
    }
    for (std::size_t i = 0; i < members_.size(); ++i) {
      for (std::size_t a = 0; a < members_[i].shared.size(); ++a) {
        members_[i].memories[members_[i].shared[a].memory] = arrays[places[i][a]];
      }
    }
  }

  /// Body `i` or one after it. The choice is uniform in a block and comes before everything else
  /// (W34), so barriers inside a member stay legal.
  void select(std::size_t i) {
    const Member& member = members_[i];
    if (i + 1 == members_.size()) {
      place(member);
      return;
    }
    const Member& next = members_[i + 1];
    const ValueId slot = next.slots > 1 ? builder_.constant_i32(0) : ir::kNoValue;
    const ValueId end = builder_.param(next.first_block, slot);
    const ValueId mine = builder_.op(Op::Lt, {block_, end});
    const ir::BlockId then_block = builder_.open();
    place(member);
    builder_.close();
    const ir::BlockId else_block = builder_.open();
    select(i + 1);
    builder_.close();
    builder_.if_(mine, then_block, else_block);
  }

  /// The member whose blocks hold this one: the last that begins at or before it.
  ValueId find_slot(const Member& member) {
    if (member.slots == 1) return ir::kNoValue;
    if (member.slots <= kCountedSlots) {
      ValueId slot = builder_.constant_i32(0);
      for (std::uint32_t s = 1; s < member.slots; ++s) {
        const ValueId index = builder_.constant_i32(static_cast<std::int32_t>(s));
        const ValueId begun =
            builder_.op(Op::Ge, {block_, builder_.param(member.first_block, index)});
        slot = builder_.op(Op::Add, {slot, builder_.cast(Scalar::I32, begun)});
      }
      return slot;
    }
    // Members are mostly of one size: then a division finds the slot, and two reads of the table
    // confirm it. Otherwise bisection, each step of which waits for a read.
    const std::uint32_t low = builder_.variable("slot", Scalar::I32);
    const ValueId last = builder_.constant_i32(static_cast<std::int32_t>(member.slots - 1));
    const ValueId size = builder_.param(member.block_count, builder_.constant_i32(0));
    const ValueId quotient = builder_.op(
        Op::Div, {builder_.cast(Scalar::U32, block_), builder_.cast(Scalar::U32, size)});
    const ValueId guess = builder_.op(Op::Min, {builder_.cast(Scalar::I32, quotient), last});
    const ValueId start = builder_.param(member.first_block, guess);
    const ValueId inside =
        builder_.op(Op::And, {builder_.op(Op::Ge, {block_, start}),
                              builder_.op(Op::Lt, {builder_.op(Op::Sub, {block_, start}),
                                                   builder_.param(member.block_count, guess)})});
    builder_.var_set(low, guess);
    const ir::BlockId found = builder_.open();
    builder_.close();
    const ir::BlockId search = builder_.open();
    bisect(member, low, last);
    builder_.close();
    builder_.if_(inside, found, search);
    return builder_.var_get(low);
  }

  /// A fixed number of steps. Invariant: first_block[low] <= block.
  void bisect(const Member& member, std::uint32_t low, ValueId last) {
    builder_.var_set(low, builder_.constant_i32(0));
    for (std::uint32_t step = std::bit_ceil(member.slots) / 2; step > 0; step /= 2) {
      const ValueId from = builder_.var_get(low);
      const ValueId wanted =
          builder_.op(Op::Add, {from, builder_.constant_i32(static_cast<std::int32_t>(step))});
      const ValueId probe = builder_.op(Op::Min, {wanted, last});
      const ValueId begun =
          builder_.op(Op::Ge, {block_, builder_.param(member.first_block, probe)});
      builder_.var_set(low, builder_.op(Op::Select, {begun, probe, from}));
    }
  }

  void place(const Member& member) {
    const ValueId slot = find_slot(member);
    const ValueId local = builder_.op(Op::Sub, {block_, builder_.param(member.first_block, slot)});

    passes::Cloner cloner(member.kernel, builder_);
    cloner.parameters = member.parameters;
    cloner.memories = member.memories;
    cloner.replace = [&](passes::Cloner&, ValueId, const ir::Node& node) -> ValueId {
      if (node.axis == 0 && node.op == Op::BlockIdx) return local;
      if (node.axis == 0 && node.op == Op::GlobalIdx) {
        const ValueId start = builder_.op(Op::Mul, {local, builder_.position(Op::BlockDim, 0)});
        return builder_.op(Op::Add, {start, builder_.position(Op::ThreadIdx, 0)});
      }
      if (node.op == Op::Param) return builder_.param(member.parameters[node.index], slot);
      return ir::kNoValue;
    };
    cloner.slot = slot;
    cloner.block(member.kernel.body);
  }

  ir::Builder builder_;
  std::vector<Member> members_;
  ValueId block_ = ir::kNoValue;
};

}  // namespace

Reason horizontal_refusal(const ir::Kernel& kernel, const passes::Summary& summary) {
  if (kernel.no_fuse) return Reason::no_fuse;
  if (summary.has_native_code) return Reason::native_code;
  if (summary.has_user_intrinsic) return Reason::user_intrinsic;
  if (summary.has_dynamic_shared) return Reason::shared_size;
  if (summary.reads_grid_dim_x) return Reason::reads_grid_dim;
  if (summary.has_cooperative_matrix) return Reason::cooperative_matrix;
  // Until a backend pins its subgroup size, a warp operation's partners may differ (W32).
  if (summary.has_warp_operation) return Reason::warp_operation;
  return Reason::none;
}

ir::Kernel fuse_horizontally(std::span<const Body> bodies) {
  return Fuser(bodies).build();
}

}  // namespace salvo::fusion
