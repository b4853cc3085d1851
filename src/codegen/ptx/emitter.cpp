// Writes a kernel as PTX, NVIDIA's assembly language.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/emitter.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "codegen/ptx/emission.hpp"
#include "passes/expand_math.hpp"
#include "passes/simplify.hpp"
#include "passes/unroll.hpp"

namespace salvo::codegen::ptx {
namespace {

using ir::MemoryId;
using ir::Node;
using ir::Op;
using ir::Space;

/// Letters, digits and underscores; the ending keeps it apart from instructions.
std::string entry_name(const std::string& name) {
  std::string entry;
  for (char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    entry += plain ? c : '_';
  }
  if (entry.empty() || (entry[0] >= '0' && entry[0] <= '9')) entry.insert(0, "n");
  return entry + "_kernel";
}

}  // namespace

Emitted Emission::run() {
  scan();
  matrices_.declare();
  bind_parameters();
  bind_arrays();
  if (uses_warp_) warp_.begin();
  block(kernel_.body);
  writer_.put("ret");

  const std::string entry = entry_name(kernel_.name);
  std::string code = fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n\n",
                                 options_.target.language / 10, options_.target.language % 10,
                                 options_.target.chip);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    code += fmt::format(".file {} \"{}\"\n", i + 1, files_[i]);
  }
  code += module_arrays_;
  code += fmt::format(".visible .entry {}({}\n)\n{{\n", entry, parameters_);
  code += writer_.registers() + arrays_ + "\n" + writer_.text() + "}\n";
  return {entry, std::move(code)};
}

void Emission::scan() {
  written_.assign(kernel_.memories.size(), false);
  for_matrices_.assign(kernel_.memories.size(), false);
  for (const Node& node : kernel_.nodes) {
    if (ir::writes_memory(node.op)) written_[node.memory] = true;
    if (ir::is_matrix(node.op) && node.memory != ir::kNone) for_matrices_[node.memory] = true;
    uses_warp_ |= ir::is_warp(node.op) || node.op == Op::LaneId;
    if (node.op != Op::Native) continue;
    for (const MemoryId memory : kernel_.user_calls[node.index].arguments) {
      if (memory != ir::kNone) written_[memory] = true;
    }
  }
  for (const ir::Variable& variable : kernel_.variables) {
    variables_.push_back(writer_.fresh(variable.type));
  }
}

void Emission::declare_parameter(const std::string& name, std::size_t size, std::uint32_t slots) {
  parameters_ += parameters_.empty() ? "\n" : ",\n";
  parameters_ += slots == 1
                     ? fmt::format("\t.param .b{} {}", size * 8, name)
                     : fmt::format("\t.param .align {} .b8 {}[{}]", size, name, size * slots);
}

void Emission::bind_parameters() {
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
    const ir::Parameter& parameter = kernel_.parameters[i];
    const std::string name = fmt::format("p{}", i);
    const std::size_t size = parameter.is_span ? 8 : ir::size_of(parameter.type);
    declare_parameter(name, size, parameter.slots);
    if (lengths_[i]) declare_parameter(name + "_length", 8, parameter.slots);
    const bool single = parameter.slots == 1;
    bound_.push_back(
        single ? read_parameter(i, [](const std::string& table, std::size_t) { return table; })
               : Bound{});
  }
}

void Emission::bind_arrays() {
  for (MemoryId id = 0; id < kernel_.memories.size(); ++id) {
    const ir::Memory& memory = kernel_.memories[id];
    bases_.emplace_back();
    if (memory.space == Space::Global) continue;
    const std::string name = fmt::format("m{}", id);
    const std::uint64_t bytes = std::uint64_t{memory.count} * memory.element.size;
    const std::string declared = fmt::format(
        ".{} .align {} .b8 {}[{}];\n", memory.space == Space::Shared ? "shared" : "local",
        for_matrices_[id] ? 32 : 16, name, bytes == 0 ? "" : fmt::format("{}", bytes));
    if (memory.space == Space::Shared && memory.count == 0) {
      module_arrays_ += ".extern " + declared;
    } else {
      arrays_ += "\t" + declared;
    }
    bases_[id] = writer_.fresh(memory.space == Space::Shared ? Bank::b32 : Bank::b64);
    writer_.put("mov.{} {}, {}", memory.space == Space::Shared ? "u32" : "u64", bases_[id], name);
  }
}

Target target_for(int driver_version, int chip) noexcept {
  // PTX 8.1 is the first with large parameter blocks; its newest chip is Hopper's.
  if (driver_version >= 12010) return {81, std::min(chip, 90)};
  return {63, std::min(chip, 75)};
}

Emitted emit(const ir::Kernel& kernel, const EmitOptions& options) {
  const bool complete =
      std::ranges::all_of(kernel.nodes, [](const Node& node) { return has_instruction(node.op); });
  const ir::Kernel plain =
      passes::unroll(complete ? kernel : passes::simplify(passes::expand_math(kernel)));
  return Emission(plain, options).run();
}

}  // namespace salvo::codegen::ptx
