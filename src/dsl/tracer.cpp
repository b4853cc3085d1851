// Turns the calls of a kernel lambda into IR, one tracer per kernel and thread.
// SPDX-License-Identifier: MIT
#include "dsl/tracer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ir/verify.hpp"
#include "passes/convergence.hpp"
#include "salvo/error.hpp"
#include "salvo/value.hpp"

namespace salvo::dsl {
namespace {

using ir::ValueId;

constexpr std::size_t kMostNesting = 256;

class Tracer {
 public:
  explicit Tracer(std::string name) : builder(std::move(name)) {}

  void at(const std::source_location& where) {
    builder.at(where.file_name(), where.line(), superstep);
  }

  [[noreturn]] void fail(const std::string& message) {
    Error::Details details;
    details.code = Errc::invalid_kernel;
    details.kernel = builder.kernel().name;
    details.message = message;
    if (builder.location() != ir::kNone) {
      const auto& place = builder.kernel().locations[builder.location()];
      details.source = {place.file, place.line};
    }
    throw Error(std::move(details));
  }

  /// A nested block becomes current.
  ir::BlockId open() {
    check_nesting();
    return builder.open();
  }
  /// Before the recursion of whoever reads the kernel, or of the body itself, runs out of stack.
  void check_nesting() {
    if (builder.nesting() >= kMostNesting) {
      fail(fmt::format("branches and loops nest deeper than {}", kMostNesting));
    }
  }

  ir::Builder builder;
  std::string superstep;     // the one that is being traced
  std::vector<bool> unread;  // by node: a reserved load that nobody has read
  std::vector<LiveParameter> live;
};

thread_local Tracer* current = nullptr;

Tracer& tracer() {
  if (!current) {
    throw Error(Errc::invalid_kernel,
                "a kernel-language value was used outside of the lambda given to salvo::kernel");
  }
  return *current;
}

/// A call of salvo::kernel that cannot even begin.
Error misplaced(std::string message, const std::source_location& where) {
  return Error(Error::Details{.code = Errc::invalid_kernel,
                              .message = std::move(message),
                              .source = SourceLocation::from(where)});
}

/// Makes a tracer current for a scope, also when the lambda throws.
class Activation {
 public:
  Activation(Tracer& one, const std::source_location& where) {
    if (current) throw misplaced("a kernel cannot be traced inside another", where);
    current = &one;
  }
  ~Activation() { current = nullptr; }
  Activation(const Activation&) = delete;
  Activation& operator=(const Activation&) = delete;
};

/// Takes out the loads that nobody read; the other nodes move up, in order.
void drop_unread(ir::Kernel& kernel, std::vector<bool> unread) {
  unread.resize(kernel.nodes.size());
  std::vector<ValueId> moved(kernel.nodes.size(), ir::kNoValue);
  std::vector<ir::Node> kept;
  for (ValueId id = 0; id < kernel.nodes.size(); ++id) {
    if (unread[id]) continue;
    moved[id] = static_cast<ValueId>(kept.size());
    kept.push_back(std::move(kernel.nodes[id]));
  }
  for (ir::Node& node : kept) {
    for (ValueId& operand : node.inputs()) operand = moved[operand];
  }
  kernel.nodes = std::move(kept);
  for (auto& block : kernel.blocks) {
    std::erase_if(block.nodes, [&](ValueId id) { return unread[id]; });
    for (ValueId& id : block.nodes) id = moved[id];
  }
}

}  // namespace

ir::Element to_element(const detail::ElementInfo& info) {
  if (info.leaves.size() == 1 && info.leaves[0].name.empty()) {
    return ir::Element::scalar(info.leaves[0].type);
  }
  ir::Element element{info.name, info.size, info.align, {}};
  for (const auto& leaf : info.leaves)
    element.fields.push_back({leaf.name, leaf.type, leaf.offset});
  return element;
}

Traced trace(std::string name, const std::function<void()>& body,
             const std::source_location& where) {
  if (name.empty()) throw misplaced("a kernel needs a name", where);
  Tracer one(std::move(name));
  {
    Activation active(one, where);
    one.at(where);
    body();
  }
  ir::Kernel kernel = one.builder.finish();
  drop_unread(kernel, one.unread);

  const auto fault_at = [&](const std::string& message, const SourceLocation& place) {
    Error::Details details;
    details.code = Errc::invalid_kernel;
    details.kernel = kernel.name;
    details.message = message;
    details.source = place;
    return Error(std::move(details));
  };
  const SourceLocation begin = SourceLocation::from(where);
  if (const auto faults = ir::verify(kernel); !faults.empty()) {
    throw fault_at(fmt::format("{}", fmt::join(faults, "; ")), begin);
  }
  std::vector<Error> diverging;
  for (const passes::Divergence& fault : passes::check_convergence(kernel)) {
    const ir::LocationId at = kernel.node(fault.node).location;
    diverging.push_back(fault_at(
        fault.message, at < kernel.locations.size()
                           ? SourceLocation{kernel.locations[at].file, kernel.locations[at].line}
                           : begin));
  }
  if (!diverging.empty()) {
    const Error first = diverging.front();
    diverging.erase(diverging.begin());
    throw first.with_others(std::move(diverging));
  }
  return {std::move(kernel), std::move(one.live)};
}

}  // namespace salvo::dsl

namespace salvo::detail {

using dsl::tracer;
using ir::Op;

void constant_out_of_range() {
  tracer().fail("a constant does not fit the integer type it meets");
}

ValueId emit_constant(ir::Scalar type, std::uint64_t bits) {
  return tracer().builder.constant(type, bits);
}

ValueId emit(Op op, std::initializer_list<ValueId> operands) {
  return tracer().builder.op(op, operands);
}

ValueId emit_at(Op op, std::initializer_list<ValueId> operands, const std::source_location& where) {
  tracer().at(where);
  return emit(op, operands);
}

ValueId emit_cast(Op op, ir::Scalar to, ValueId value) {
  ir::Builder& builder = tracer().builder;
  if (builder.kernel().node(value).type == to) return value;
  ir::Node node;
  node.op = op;
  node.type = to;
  node.operands[0] = value;
  node.operand_count = 1;
  return builder.append(std::move(node));
}

ValueId emit_position(Op op, std::uint8_t axis) {
  return tracer().builder.position(op, axis);
}
ValueId emit_length(std::uint32_t memory) {
  return tracer().builder.length(memory);
}

void emit_statement(Op op, std::uint8_t axis, const std::source_location& where) {
  tracer().at(where);
  tracer().builder.statement(op, axis);
}

std::uint32_t make_variable(ir::Scalar type) {
  ir::Builder& builder = tracer().builder;
  return builder.variable(fmt::format("var{}", builder.kernel().variables.size()), type);
}
ValueId emit_var_get(std::uint32_t variable) {
  return tracer().builder.var_get(variable);
}
void emit_var_set(std::uint32_t variable, ValueId value) {
  tracer().builder.var_set(variable, value);
}

Place reserve(std::uint32_t memory, ValueId index, std::uint32_t leaves,
              const std::source_location& where) {
  auto& one = tracer();
  one.at(where);
  Place place{memory, index, one.builder.location(), {}, 0};
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
    const ValueId load = one.builder.load(memory, index, leaf);
    one.unread.resize(load + 1);
    one.unread[load] = true;
    place.loads.push_back(load);
  }
  return place;
}

ValueId read_place(const Place& place, std::size_t leaf) {
  tracer().unread[place.loads[leaf]] = false;
  return place.loads[leaf];
}

void store_place(const Place& place, std::size_t leaf, ValueId value) {
  auto& builder = tracer().builder;
  builder.at(place.location);
  builder.store(place.memory, place.index, value,
                place.first_field + static_cast<std::uint32_t>(leaf));
}

ValueId emit_atomic(Op op, const Place& place, std::initializer_list<ValueId> operands) {
  auto& builder = tracer().builder;
  builder.at(place.location);
  ir::Node node;
  node.op = op;
  node.type = ir::compute_type(
      builder.kernel().memories[place.memory].element.fields[place.first_field].type);
  node.memory = place.memory;
  node.field = place.first_field;
  node.operands[node.operand_count++] = place.index;
  for (ValueId operand : operands) node.operands[node.operand_count++] = operand;
  return builder.append(std::move(node));
}

std::uint32_t make_array(bool shared, const ElementInfo& element, std::uint32_t count,
                         const std::source_location& where) {
  auto& one = tracer();
  one.at(where);
  ir::Builder& builder = one.builder;
  if (!shared && count == 0) one.fail("a local array needs at least one element");
  if (shared && count == 0 && builder.kernel().has_dynamic_shared()) {
    one.fail("a kernel has at most one dynamic shared array");
  }
  std::string name = fmt::format("array{}", builder.kernel().memories.size());
  return shared ? builder.shared_array(std::move(name), dsl::to_element(element), count)
                : builder.local_array(std::move(name), dsl::to_element(element), count);
}

ValueId emit_live(ir::Scalar type, const void* host) {
  auto& one = tracer();
  ir::Builder& builder = one.builder;
  const std::uint32_t parameter =
      builder.scalar_parameter(fmt::format("live{}", one.live.size()), type);
  one.live.push_back({parameter, host, type});
  return builder.param(parameter);
}

ValueId emit_if(ValueId condition, const Body& then, const std::source_location& where) {
  auto& one = tracer();
  one.at(where);
  ir::Builder& builder = one.builder;
  const auto location = builder.location();
  const auto then_block = one.open();
  then();
  builder.close();
  const auto else_block = one.open();
  builder.close();
  builder.at(location);
  return builder.if_(condition, then_block, else_block);
}

void trace_else(ValueId if_node, const Body& otherwise) {
  auto& one = tracer();
  one.check_nesting();
  ir::Builder& builder = one.builder;
  builder.reopen(builder.kernel().node(if_node).blocks[1]);
  otherwise();
  builder.close();
}

void emit_for(const Loop& loop, const std::function<void(ValueId)>& body,
              const std::source_location& where) {
  auto& one = tracer();
  one.at(where);
  ir::Builder& builder = one.builder;
  // The node is made first, because its counter is needed in the body.
  ir::Node node;
  node.op = Op::For;
  node.operands = {loop.first, loop.limit, loop.step, ir::kNoValue};
  node.operand_count = 3;
  node.literal = loop.down ? 1 : 0;
  node.unroll = loop.unroll;
  const ir::Scalar type = builder.kernel().node(loop.first).type;
  const ValueId id = builder.append(std::move(node));
  const auto block = one.open();
  builder.kernel().nodes[id].blocks = {block};
  ir::Node counter;
  counter.op = Op::ForIndex;
  counter.type = type;
  counter.operands[0] = id;
  counter.operand_count = 1;
  body(builder.append(std::move(counter)));
  builder.close();
}

void emit_while(const std::function<ValueId()>& condition, const Body& body, std::uint32_t unroll,
                const std::source_location& where) {
  auto& one = tracer();
  one.at(where);
  ir::Builder& builder = one.builder;
  const auto location = builder.location();
  const auto condition_block = one.open();
  const ValueId value = condition();
  builder.close();
  const auto body_block = one.open();
  body();
  builder.close();
  builder.at(location);
  ir::Node node;
  node.op = Op::While;
  node.operands[0] = value;
  node.operand_count = 1;
  node.blocks = {condition_block, body_block};
  node.unroll = unroll;
  builder.append(std::move(node));
}

void emit_switch(ValueId value, const std::vector<std::int64_t>& cases,
                 const std::vector<Body>& bodies, const std::source_location& where) {
  auto& one = tracer();
  one.at(where);
  ir::Builder& builder = one.builder;
  const auto location = builder.location();
  std::vector<std::int64_t> sorted = cases;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    one.fail("a switch has the same case twice");
  }
  ir::Node node;
  node.op = Op::Switch;
  node.operands[0] = value;
  node.operand_count = 1;
  node.cases = cases;
  for (const Body& body : bodies) {
    node.blocks.push_back(one.open());
    body();
    builder.close();
  }
  builder.at(location);
  builder.append(std::move(node));
}

void emit_superstep(std::string_view name, const Body& body, const std::source_location& where) {
  auto& one = tracer();
  const std::string enclosing = std::exchange(one.superstep, std::string(name));
  one.at(where);
  body();
  emit_statement(Op::Barrier, 0, where);
  one.superstep = enclosing;
  one.at(where);
}

void mark_no_fuse() {
  tracer().builder.kernel().no_fuse = true;
}

namespace {

/// A node for user code with `arguments`; at most four of them are values.
ir::Node user_node(Op op, const std::shared_ptr<ir::UserCode>& code,
                   const std::vector<UserArgument>& arguments) {
  auto& one = tracer();
  ir::Kernel& kernel = one.builder.kernel();
  ir::Node node;
  node.op = op;
  node.index = static_cast<std::uint32_t>(kernel.user_calls.size());
  ir::UserCall call{code, {}};
  for (const UserArgument& argument : arguments) {
    call.arguments.push_back(argument.value == ir::kNoValue ? argument.memory : ir::kNone);
    if (argument.value == ir::kNoValue) continue;
    if (node.operand_count == node.operands.size()) {
      one.fail(fmt::format("'{}' takes more than {} values", code->name(), node.operands.size()));
    }
    node.operands[node.operand_count++] = argument.value;
  }
  kernel.user_calls.push_back(std::move(call));
  return node;
}

}  // namespace

ValueId emit_intrinsic(const std::shared_ptr<ir::UserCode>& code, ir::Scalar result,
                       std::initializer_list<ValueId> operands, const std::source_location& where) {
  tracer().at(where);
  std::vector<UserArgument> arguments;
  for (const ValueId operand : operands) arguments.push_back({.value = operand});
  ir::Node node = user_node(Op::Intrinsic, code, arguments);
  node.type = result;
  return tracer().builder.append(std::move(node));
}

void emit_native(const std::shared_ptr<ir::UserCode>& code,
                 const std::vector<UserArgument>& arguments, const std::source_location& where) {
  tracer().at(where);
  tracer().builder.append(user_node(Op::Native, code, arguments));
}

std::uint32_t make_matrix(ir::Scalar type, std::uint32_t rows, std::uint32_t columns,
                          ir::MatrixUse use) {
  ir::Builder& builder = tracer().builder;
  return builder.matrix(fmt::format("matrix{}", builder.kernel().matrices.size()), type, rows,
                        columns, use);
}

void emit_matrix_fill(std::uint32_t matrix, ValueId value, const std::source_location& where) {
  tracer().at(where);
  tracer().builder.matrix_fill(matrix, value);
}

void emit_matrix_access(Op op, std::uint32_t matrix, std::uint32_t memory, ValueId offset,
                        ValueId stride, ir::MatrixLayout layout,
                        const std::source_location& where) {
  tracer().at(where);
  tracer().builder.matrix_access(op, matrix, memory, offset, stride, layout);
}

void emit_matrix_multiply_add(std::uint32_t result, std::uint32_t a, std::uint32_t b,
                              std::uint32_t c, const std::source_location& where) {
  tracer().at(where);
  tracer().builder.matrix_multiply_add(result, a, b, c);
}

void emit_matrix_copy(std::uint32_t to, std::uint32_t from) {
  tracer().builder.matrix_copy(to, from);
}

void move_matrix(std::uint32_t to, std::uint32_t from) {
  ir::Builder& builder = tracer().builder;
  ir::Kernel& kernel = builder.kernel();
  const std::vector<ValueId>& here = kernel.blocks[builder.current()].nodes;
  const bool just_made = !here.empty() && here.back() + 1 == kernel.nodes.size() &&
                         ir::is_matrix(kernel.nodes.back().op) &&
                         kernel.nodes.back().op != Op::MatrixStore &&
                         kernel.nodes.back().index == from && from + 1 == kernel.matrices.size();
  // It is the newest matrix, and the statement that makes it is the only one that names it.
  const auto names_it = [from](const ir::Node& node) {
    return ir::is_matrix(node.op) &&
           (node.index == from ||
            std::find(node.matrices.begin(), node.matrices.end(), from) != node.matrices.end());
  };
  if (!just_made || std::any_of(kernel.nodes.begin(), kernel.nodes.end() - 1, names_it)) {
    builder.matrix_copy(to, from);
    return;
  }
  kernel.nodes.back().index = to;
  kernel.matrices.pop_back();
}

std::uint32_t declare_span(const ElementInfo& element, bool read_only) {
  ir::Builder& builder = tracer().builder;
  return builder.span_parameter(fmt::format("arg{}", builder.kernel().parameters.size()),
                                dsl::to_element(element), read_only);
}

std::vector<ValueId> declare_value(const ElementInfo& element) {
  ir::Builder& builder = tracer().builder;
  const std::string base = fmt::format("arg{}", builder.kernel().parameters.size());
  std::vector<ValueId> values;
  for (const Leaf& leaf : element.leaves) {
    std::string name = base + (leaf.name.empty() ? "" : "_" + leaf.name);
    std::replace(name.begin(), name.end(), '.', '_');
    values.push_back(builder.param(builder.scalar_parameter(std::move(name), leaf.type)));
  }
  return values;
}

}  // namespace salvo::detail
