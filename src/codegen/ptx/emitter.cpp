// Writes a kernel as PTX, NVIDIA's assembly language.
// SPDX-License-Identifier: MIT
#include "codegen/ptx/emitter.hpp"

#include <algorithm>
#include <string_view>

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

/// What lies between the parameters of a function and its body.
constexpr std::string_view kHead = "\n)\n";

}  // namespace

std::string Emission::function(const std::string& entry) {
  scan();
  matrices_.declare();
  bind_parameters();
  bind_arrays();
  if (uses_warp_) warp_.begin();
  block(kernel_.body);
  writer_.put("ret");
  return fmt::format(".visible .entry {}({}{}{{\n{}{}\n{}}}\n", entry, parameters_, kHead,
                     writer_.registers(), arrays_, writer_.text());
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
  const auto vectors = passes::find_vector_accesses(plain, options.may_alias);
  std::vector<std::string> files;
  Emission aligned(plain, options, vectors, files);
  Emitted made{entry_name(kernel.name), "", {}, ""};
  std::string functions = aligned.function(made.entry);
  if (vectors.rests_on_alignment()) {
    const auto others = passes::find_vector_accesses(plain, options.may_alias, {.spans = false});
    made.alignments = vectors.alignments;
    made.unaligned_entry = made.entry + "_unaligned";
    functions += Emission(plain, options, others, files).function(made.unaligned_entry);
  }
  made.code =
      fmt::format(".version {}.{}\n.target sm_{}\n.address_size 64\n\n",
                  options.target.language / 10, options.target.language % 10, options.target.chip);
  for (std::size_t i = 0; i < files.size(); ++i) {
    made.code += fmt::format(".file {} \"{}\"\n", i + 1, files[i]);
  }
  made.code += aligned.module_arrays() + functions;
  return made;
}

std::string with_launch_bound(const std::string& code, std::uint32_t threads) {
  const std::string bound = fmt::format(".maxntid {}\n", threads);
  std::string bounded;
  std::size_t from = 0;
  for (std::size_t at; (at = code.find(kHead, from)) != code.npos; from = at) {
    at += kHead.size();
    bounded += code.substr(from, at - from) + bound;
  }
  return bounded + code.substr(from);
}

}  // namespace salvo::codegen::ptx
