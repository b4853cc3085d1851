// The frame of a kernel's function, the blocks of the grid, and what is executed once for each.
// SPDX-License-Identifier: MIT
#include "codegen/llvm/function.hpp"

#include <algorithm>

#include "codegen/llvm/launch_record.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen::llvm {

using ir::BlockId;
using ir::kNone;
using ir::kNoValue;
using ir::Node;
using ir::Op;
using ir::Scalar;
using ir::Space;
using ir::ValueId;

namespace {

/// Regions and branches of up to this many nodes have a copy for vectors whose threads are all
/// active: half as many again to compile, and no masks where almost all of the work is done.
constexpr std::uint32_t kMostCopied = 400;

std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// A name that no C library function has, whatever the kernel is called.
std::string entry_name(const std::string& name) {
  std::string entry = "salvo_";
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    entry += plain ? c : '_';
  }
  return entry;
}

}  // namespace

Function::Function(const ir::Kernel& kernel, const EmitOptions& options)
    : kernel_(kernel),
      options_(options),
      lanes_(options.lanes),
      plan_(kernel),
      shapes_(kernel, plan_),
      w_(options.lanes, options.typed_pointers),
      arithmetic_(w_, options.half),
      debug_(kernel, options.line_tables),
      values_(kernel.nodes.size()),
      parameters_(kernel.parameters.size()),
      lengths_(kernel.parameters.size()),
      arrays_(kernel.memories.size()),
      variables_(kernel.variables.size()),
      value_offsets_(kernel.nodes.size(), 0),
      variable_offsets_(kernel.variables.size(), 0),
      array_offsets_(kernel.memories.size(), 0),
      scope_masks_(kernel.blocks.size()) {
  std::uint32_t next = 0;
  for (const ir::Parameter& parameter : kernel.parameters) {
    first_argument_.push_back(next);
    next += parameter.slots;
  }
  lay_out_scratch();
}

Emitted Function::run() {
  frame();
  const std::string entry = entry_name(kernel_.name);
  std::string code = fmt::format(
      "@{0}_facts = constant [2 x i64] [i64 {1}, i64 {2}]\n\n"
      "define void @{0}({3} %launch, i64 %first, i64 %last, {3} %scratch) "
      "nounwind \"prefer-vector-width\"=\"512\"{4} {{\nentry:\n",
      entry, scratch_bytes_, work(), w_.address_type(), debug_.function());
  code += w_.variables() + w_.text() + "}\n\n" + w_.declarations() + "\n" + debug_.text();
  return {entry, std::move(code)};
}

/// Rough: a loop whose length is not known counts 16 times.
std::uint64_t Function::work() const {
  const std::function<std::uint64_t(BlockId)> sum = [&](BlockId block) {
    std::uint64_t total = 0;
    for (ValueId id : kernel_.block(block).nodes) {
      const Node& node = kernel_.node(id);
      if (ir::is_leaf(node.op)) continue;
      std::uint64_t inner = 1;
      for (BlockId nested : node.blocks) inner += sum(nested);
      total += node.op == Op::For || node.op == Op::While ? inner * 16 : inner;
    }
    return std::min<std::uint64_t>(total, 1u << 30);
  };
  return sum(kernel_.body);
}

/// What each vector of threads keeps from region to region is one record.
void Function::lay_out_scratch() {
  const auto take = [&](std::uint64_t bytes_a_thread) {
    const std::uint64_t at = scratch_bytes_;
    scratch_bytes_ += round_up(bytes_a_thread * lanes_, 64);
    return at;
  };
  for (ValueId id = 0; id < kernel_.nodes.size(); ++id) {
    if (plan_.spilled(id)) value_offsets_[id] = take(ir::size_of(type_of(id)));
  }
  for (std::uint32_t v = 0; v < kernel_.variables.size(); ++v) {
    if (plan_.storage(v) == Storage::Spilled) {
      variable_offsets_[v] = take(ir::size_of(kernel_.variables[v].type));
    }
  }
  for (ir::MemoryId m = 0; m < kernel_.memories.size(); ++m) {
    const ir::Memory& memory = kernel_.memories[m];
    if (memory.space == Space::Local && plan_.array_storage(m) == Storage::Spilled) {
      array_offsets_[m] = take(std::uint64_t{memory.count} * memory.element.size);
    }
  }
}

void Function::frame() {
  const auto field = [&](std::size_t at) {
    return w_.load("i32", w_.offset("%launch", std::to_string(at)), 4);
  };
  for (std::size_t axis = 0; axis < 3; ++axis) {
    grid_[axis] = field(offsetof(LaunchRecord, grid) + 4 * axis);
    block_dim_[axis] = field(offsetof(LaunchRecord, block) + 4 * axis);
  }
  dynamic_bytes_ = field(offsetof(LaunchRecord, dynamic_shared_bytes));
  read_arguments();
  make_arrays();
  make_variables();
  grid_blocks();
  w_.end("ret void");
}

void Function::read_arguments() {
  for (std::uint32_t p = 0; p < kernel_.parameters.size(); ++p) {
    if (kernel_.parameters[p].slots > 1) continue;
    parameters_[p] = argument(p, kNoValue);
    if (kernel_.parameters[p].is_span) lengths_[p] = length(p, kNoValue);
  }
}

void Function::make_arrays() {
  for (ir::MemoryId m = 0; m < kernel_.memories.size(); ++m) {
    const ir::Memory& memory = kernel_.memories[m];
    if (memory.space == Space::Global) continue;
    std::uint64_t bytes = std::uint64_t{memory.count} * memory.element.size;
    if (memory.space == Space::Local) {
      if (plan_.array_storage(m) == Storage::Spilled) continue;
      bytes *= lanes_;
    } else if (memory.count == 0) {
      arrays_[m] = w_.let("alloca i8, i32 {}, align 64", dynamic_bytes_);
      continue;
    }
    const std::string type = fmt::format("[{} x i8]", bytes);
    const Text array = w_.variable(type, 64);
    arrays_[m] =
        w_.let("getelementptr {}, {} {}, i64 0, i64 0", type, w_.pointer_type(type), array);
  }
}

void Function::make_variables() {
  for (std::uint32_t v = 0; v < kernel_.variables.size(); ++v) {
    const bool alone = plan_.storage(v) == Storage::Once || shapes_.uniform_variable(v);
    variables_[v].lanes = alone ? 1 : lanes_;
    const Text type = w_.type(kernel_.variables[v].type, variables_[v].lanes);
    variables_[v].slot = w_.variable(type);
    w_.set(type, w_.constant(kernel_.variables[v].type, 0, variables_[v].lanes),
           variables_[v].slot);
  }
  const bool returns = std::any_of(kernel_.nodes.begin(), kernel_.nodes.end(),
                                   [](const Node& node) { return node.op == Op::Return; });
  if (returns) returned_ = w_.variable(w_.mask_type());
}

// Blocks of the grid are counted along x first, with a carry: a division each time would cost more
// than a small block does.
void Function::grid_blocks() {
  w_.debug(debug_.start());
  Text counters[3];
  Text rest = "%first";
  for (std::size_t axis = 0; axis < 3; ++axis) {
    counters[axis] = w_.variable("i32");
    const Text blocks = w_.let("zext i32 {} to i64", grid_[axis]);
    const Text at = axis == 2 ? rest : w_.let("urem i64 {}, {}", rest, blocks);
    w_.set("i32", w_.let("trunc i64 {} to i32", at), counters[axis]);
    if (axis < 2) rest = w_.let("udiv i64 {}, {}", rest, blocks);
  }
  const Text counter = w_.variable("i64");
  w_.set("i64", "%first", counter);
  const Text head = w_.label(), body = w_.label(), end = w_.label();
  w_.place(head);
  const Text block = w_.get("i64", counter);
  w_.branch(w_.let("icmp ult i64 {}, %last", block), body, end);
  w_.place(body);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    block_idx_[axis] = w_.get("i32", counters[axis]);
    block_start_[axis] = w_.let("mul i32 {}, {}", block_idx_[axis], block_dim_[axis]);
  }
  open_block(kernel_.body);
  w_.debug("");
  w_.set("i64", w_.let("add i64 {}, 1", block), counter);
  Text carry = "true";
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Text step = w_.let("zext i1 {} to i32", carry);
    const Text next = w_.let("add i32 {}, {}", block_idx_[axis], step);
    const Text full = w_.let("icmp eq i32 {}, {}", next, grid_[axis]);
    w_.set("i32", w_.let("select i1 {}, i32 0, i32 {}", full, next), counters[axis]);
    carry = full;
  }
  w_.branch(head);
  w_.place(end);
}

// Once for a block.

void Function::open_block(BlockId block) {
  for (const Step& step : plan_.steps(block)) {
    if (step.region != kNone) {
      region(step.region);
    } else {
      open_control(step.node);
    }
  }
}

/// A value that all threads agree on, where one of them would do.
Text Function::block_value(ValueId id) {
  if (plan_.once(id) || ir::is_leaf(kernel_.node(id).op)) return number(id);
  const Scalar type = type_of(id);
  const Text address = w_.offset("%scratch", std::to_string(value_offsets_[id]));
  const Text bits =
      w_.load(Arithmetic::storage_type(type), address, static_cast<unsigned>(ir::size_of(type)));
  return type == Scalar::Bool ? arithmetic_.widen(type, bits, 1) : bits;
}

void Function::open_control(ValueId id) {
  const Node& node = kernel_.node(id);
  locate(node);
  switch (node.op) {
    case Op::For:
    case Op::While:
      return open_loop(id);
    case Op::Break:
      return w_.branch(open_loops_.back().second);
    case Op::Continue:
      return w_.branch(open_loops_.back().first);
    default:
      break;
  }
  const Text value = block_value(node.operands[0]);
  std::vector<Text> labels;
  for (std::size_t i = 0; i < node.blocks.size(); ++i) labels.push_back(w_.label());
  const Text end = w_.label();
  if (node.op == Op::If) {
    w_.branch(value, labels[0], labels[1]);
  } else {
    const std::string_view type = Writer::scalar(type_of(node.operands[0]));
    Text cases;
    for (std::size_t i = 0; i < node.cases.size(); ++i) {
      cases += fmt::format(" {} {}, label %{}", type, node.cases[i], labels[i]);
    }
    w_.end("switch {} {}, label %{} [{} ]", type, value, labels.back(), cases);
  }
  for (std::size_t i = 0; i < node.blocks.size(); ++i) {
    w_.place(labels[i]);
    open_block(node.blocks[i]);
    w_.branch(end);
  }
  w_.place(end);
}

void Function::open_loop(ValueId id) {
  const Node& node = kernel_.node(id);
  const Text head = w_.label(), body = w_.label(), next = w_.label(), end = w_.label();
  open_loops_.emplace_back(next, end);
  if (node.op == Op::While) {
    w_.place(head);
    open_block(node.blocks[0]);
    w_.branch(block_value(node.operands[0]), body, end);
    w_.place(body);
    open_block(node.blocks[1]);
    w_.place(next);
  } else {
    const Scalar type = type_of(node.operands[0]);
    const std::string_view t = Writer::scalar(type);
    const bool down = node.literal != 0;
    const Text counter = w_.variable(t);
    w_.set(t, block_value(node.operands[0]), counter);
    const Text limit = block_value(node.operands[1]);
    const Text step = block_value(node.operands[2]);
    w_.place(head);
    values_[id] = w_.get(t, counter);
    const char* sign = ir::is_signed(type) ? "s" : "u";
    w_.branch(w_.let("icmp {}{} {} {}, {}", sign, down ? "gt" : "lt", t, values_[id], limit), body,
              end);
    w_.place(body);
    open_block(node.blocks[0]);
    w_.place(next);
    w_.set(t, w_.let("{} {} {}, {}", down ? "sub" : "add", t, values_[id], step), counter);
  }
  w_.branch(head);
  w_.place(end);
  open_loops_.pop_back();
}

void Function::once_node(ValueId id) {
  const Node& node = kernel_.node(id);
  locate(node);
  switch (node.op) {
    case Op::VarGet:
      values_[id] = w_.get(w_.type(node.type, 1), variables_[node.index].slot);
      return;
    case Op::VarSet:
      return w_.set(w_.type(kernel_.variables[node.index].type, 1), number(node.operands[0]),
                    variables_[node.index].slot);
    case Op::Load:
      return load(id, {});
    default:
      return pure(id);
  }
}

// Regions.

/// Hoisted work, in order. What threads read of a variable that is set later in the region is read
/// here, too: the variable holds its last value by the time they run.
void Function::region_once(const Region& region) {
  for (ValueId top : region.nodes) {
    if (plan_.once(top)) {
      once_node(top);
      continue;
    }
    plan_.tree().each(top, [&](ValueId id) {
      const Node& node = kernel_.node(id);
      if (node.op == Op::VarGet && plan_.storage(node.index) == Storage::Once) once_node(id);
    });
  }
}

void Function::region(std::uint32_t id) {
  const Region& region = plan_.region(id);
  region_once(region);
  const bool any = std::any_of(region.nodes.begin(), region.nodes.end(),
                               [&](ValueId node) { return !plan_.once(node); });
  if (!any) return;
  w_.debug("");
  row_loops([&] { vector_of_threads(region); });
}

/// Loops over the threads of a block along z and y, and over vectors of them along x.
void Function::row_loops(const std::function<void()>& body) {
  Text counters[3], heads[3], ends[3];
  for (int axis = 2; axis >= 0; --axis) {
    const auto a = static_cast<std::size_t>(axis);
    counters[a] = w_.variable("i32");
    heads[a] = w_.label();
    ends[a] = w_.label();
    const Text inside = w_.label();
    w_.set("i32", "0", counters[a]);
    w_.place(heads[a]);
    thread_[a] = w_.get("i32", counters[a]);
    w_.branch(w_.let("icmp ult i32 {}, {}", thread_[a], block_dim_[a]), inside, ends[a]);
    w_.place(inside);
    global_[a] = w_.let("add i32 {}, {}", block_start_[a], thread_[a]);
  }
  in_region_ = true;
  body();
  in_region_ = false;
  w_.debug("");
  for (std::size_t a = 0; a < 3; ++a) {
    const unsigned step = a == 0 ? lanes_ : 1;
    w_.set("i32", w_.let("add i32 {}, {}", thread_[a], step), counters[a]);
    w_.branch(heads[a]);
    w_.place(ends[a]);
  }
  for (std::size_t a = 0; a < 3; ++a) thread_[a] = global_[a] = Text();
}

/// Whether a region does nothing but compute and then test whether there is work for a thread. The
/// test then tells apart full vectors too, and one copy serves both.
bool Function::guarded(const Region& region) const {
  const Node& last = kernel_.node(region.nodes.back());
  if (last.op != Op::If || !kernel_.block(last.blocks[1]).nodes.empty()) return false;
  if (!shapes_[last.operands[0]].lanes()) return false;
  return std::all_of(region.nodes.begin(), region.nodes.end() - 1, [&](ValueId id) {
    return plan_.once(id) || ir::is_pure(kernel_.node(id).op);
  });
}

void Function::vector_of_threads(const Region& region) {
  if (scratch_bytes_ != 0) {
    // Records are numbered along x, y and z; the last vector of a row may be partly used.
    const Text up = w_.let("add i32 {}, {}", block_dim_[0], lanes_ - 1);
    const Text a_row = w_.let("udiv i32 {}, {}", up, lanes_);
    const Text plane = w_.let("mul i32 {}, {}", thread_[2], block_dim_[1]);
    const Text row = w_.let("add i32 {}, {}", plane, thread_[1]);
    const Text first = w_.let("mul i32 {}, {}", row, a_row);
    const Text own = w_.let("udiv i32 {}, {}", thread_[0], lanes_);
    const Text number = w_.let("add i32 {}, {}", first, own);
    const Text wide = w_.let("zext i32 {} to i64", number);
    record_ = w_.offset("%scratch", w_.let("mul i64 {}, {}", wide, scratch_bytes_));
  }
  const Text left = w_.let("sub i32 {}, {}", block_dim_[0], thread_[0]);
  const auto partial = [&] {
    const Text vector = w_.vector_of("i32", lanes_);
    return Mask{w_.let("icmp ult {} {}, {}", vector, iota("i32", 1), w_.broadcast("i32", left))};
  };
  std::uint32_t size = 0;
  for (ValueId node : region.nodes) size += plan_.tree().size(node);
  if (guarded(region) || size > kMostCopied) {
    region_body(region, partial());
    return;
  }
  const Text whole = w_.label(), part = w_.label(), end = w_.label();
  w_.branch(w_.let("icmp uge i32 {}, {}", left, lanes_), whole, part);
  w_.place(whole);
  region_body(region, {});
  w_.branch(end);
  w_.place(part);
  region_body(region, partial());
  w_.place(end);
}

void Function::region_body(const Region& region, const Mask& mask) {
  region_mask_ = mask;
  split_ = false;
  if (!returned_.empty()) w_.set(w_.mask_type(), "zeroinitializer", returned_);
  for (ValueId value : region.imports) {
    if (plan_.spilled(value)) {
      load_spilled(value);
    } else {
      pure(value);
    }
  }
  std::vector<bool> touched(kernel_.variables.size(), false), set(kernel_.variables.size(), false);
  for (ValueId top : region.nodes) {
    plan_.tree().each(top, [&](ValueId node_id) {
      const Node& node = kernel_.node(node_id);
      if (node.op == Op::VarGet || node.op == Op::VarSet) touched[node.index] = true;
      if (node.op == Op::VarSet) set[node.index] = true;
    });
  }
  for (std::uint32_t v = 0; v < touched.size(); ++v) {
    if (!touched[v] || plan_.storage(v) != Storage::Spilled) continue;
    const Scalar type = kernel_.variables[v].type;
    const std::string_view stored = Arithmetic::storage_type(type);
    const Text bits =
        w_.load(Writer::vector_of(stored, lanes_), spill_address(variable_offsets_[v]),
                static_cast<unsigned>(ir::size_of(type)));
    w_.set(w_.type(type, lanes_),
           type == Scalar::Bool ? arithmetic_.widen(type, bits, lanes_) : bits, variables_[v].slot);
  }
  std::vector<ValueId> nodes;
  std::copy_if(region.nodes.begin(), region.nodes.end(), std::back_inserter(nodes),
               [&](ValueId node) { return !plan_.once(node); });
  lane_nodes(nodes, mask);
  for (std::uint32_t v = 0; v < set.size(); ++v) {
    if (!set[v] || plan_.storage(v) != Storage::Spilled) continue;
    const Scalar type = kernel_.variables[v].type;
    const Text value = w_.get(w_.type(type, lanes_), variables_[v].slot);
    w_.store(Writer::vector_of(Arithmetic::storage_type(type), lanes_),
             type == Scalar::Bool ? arithmetic_.narrow(type, value, lanes_) : value,
             spill_address(variable_offsets_[v]), static_cast<unsigned>(ir::size_of(type)));
  }
}

}  // namespace salvo::codegen::llvm
