// The Metal Shading Language, version 2.2 as far as a kernel needs no later one.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/metal_dialect.hpp"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/c_family/helpers.hpp"
#include "codegen/c_family/metal_matrices.hpp"
#include "codegen/c_family/metal_reserved_words.hpp"
#include "codegen/c_family/names.hpp"
#include "passes/access.hpp"
#include "passes/expand_math_single.hpp"
#include "salvo/error.hpp"

namespace salvo::codegen::c_family {
namespace {

using ir::Op;
using ir::Scalar;
using ir::Space;

class MetalDialect final : public Dialect {
 public:
  std::string_view target() const noexcept override { return "Metal"; }
  bool is_reserved(std::string_view name) const override { return is_metal_word(name); }

  const MatrixWords* matrices() const override { return &metal_matrix_words(); }

  std::string bitcast(Scalar to, Scalar, std::string_view value) const override {
    return fmt::format("as_type<{}>({})", type(to), value);
  }

  std::string saturating_cast(Scalar to, Scalar from, std::string_view value,
                              Helpers& helpers) const override {
    return fmt::format("{}({})", helpers.saturating_cast(to, from), value);
  }

  std::string function(Op op, Scalar) const override {
    switch (op) {
      case Op::Abs:
        return "fabs";
      case Op::Clz:
      case Op::Popcount:
      case Op::IsNan:
      case Op::IsInf:
      case Op::Fma:
      case Op::Copysign:
        return std::string(ir::name(op));
      default:
        // Never those of metal::fast, which the unqualified names may be.
        return fmt::format("precise::{}", ir::name(op));
    }
  }

  std::string position(Op op, int axis) const override {
    const char x = "xyz"[axis];
    switch (op) {
      case Op::ThreadIdx:
        return fmt::format("(int)salvo_thread.{}", x);
      case Op::BlockIdx:
        return fmt::format("(int)salvo_block.{}", x);
      case Op::BlockDim:
        return fmt::format("(int)salvo_threads.{}", x);
      case Op::GridDim:
        return fmt::format("(int)salvo_blocks.{}", x);
      case Op::GlobalIdx:
        return fmt::format("(int)(salvo_block.{0} * salvo_threads.{0} + salvo_thread.{0})", x);
      case Op::LaneId:
        return "(int)salvo_lane";
      default:
        return "(int)salvo_lanes";
    }
  }

  std::string warp(Op op, Scalar value_type, std::span<const std::string> operands,
                   Helpers& helpers) const override {
    const auto shuffle = [&](std::string_view lane) {
      return fmt::format("{}({}, {})", shuffle_function(value_type, helpers), operands[0], lane);
    };
    switch (op) {
      case Op::Shuffle:
        return shuffle("(ushort)" + operands[1]);
      case Op::ShuffleUp:
        return shuffle(fmt::format("{}(salvo_lane, (uint){})",
                                   helpers.define("salvo_lane_up", kUp, {}), operands[1]));
      case Op::ShuffleDown:
        return shuffle(fmt::format("{}(salvo_lane, (uint){}, {})",
                                   helpers.define("salvo_lane_down", kDown, {}), operands[1],
                                   active_lanes(helpers)));
      case Op::ShuffleXor:
        return shuffle(fmt::format("(ushort)(salvo_lane ^ (uint){})", operands[1]));
      case Op::Any:
        return fmt::format("simd_any({})", operands[0]);
      case Op::All:
        return fmt::format("simd_all({})", operands[0]);
      case Op::Ballot:
        return fmt::format("(ulong)(simd_vote::vote_t)simd_ballot({})", operands[0]);
      default:
        return fmt::format("{}({}, salvo_lane, {})", reduction(op, value_type, helpers),
                           operands[0], active_lanes(helpers));
    }
  }

  std::string atomic(Op op, const Place& place, std::span<const std::string> operands,
                     Helpers& helpers) const override {
    const bool floating = ir::is_float(place.type);
    const std::string at = fmt::format("({}atomic_{}*)&{}", address_space(place.space),
                                       floating ? "uint" : type(place.type), place.lvalue);
    if (floating) {
      return fmt::format("{}({}, {})", add_float(place.space, helpers), at, operands[0]);
    }
    if (op == Op::AtomicCompareExchange) {
      return fmt::format("{}({}, {}, {})", compare_exchange(place, helpers), at, operands[0],
                         operands[1]);
    }
    return fmt::format("{}({}, {}, memory_order_relaxed)", atomic_function(op), at, operands[0]);
  }

  std::string barrier() const override {
    return "threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup)";
  }
  std::string fence(bool device_scope) const override {
    return fmt::format(
        "atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, "
        "memory_order_seq_cst, thread_scope_{})",
        device_scope ? "device" : "threadgroup");
  }
  std::string loop_hint(std::uint32_t unroll) const override {
    if (unroll == 0 || unroll == ir::kIndependent) return "";
    return unroll == 1 ? "#pragma clang loop unroll(disable)"
                       : fmt::format("#pragma clang loop unroll_count({})", unroll);
  }

  std::string prologue(const Features& features) const override {
    // Both spellings: Metal's own is younger than the language, and compilers skip what they do
    // not know. They hold for the rest of the file, the library's inline functions included.
    return fmt::format(
        "#pragma METAL fp contract(off)\n"
        "#pragma clang fp contract(off)\n"
        "#include <metal_stdlib>\n"
        "{}"
        "using namespace metal;\n\n",
        features.matrices ? "#include <metal_simdgroup_matrix>\n" : "");
  }

  std::string kernel_head(std::string_view name, const Signature& signature) const override {
    std::vector<std::string> arguments = signature.arguments;
    for (std::string_view position : kPositions) arguments.emplace_back(position);
    return fmt::format("kernel void {}(\n    {})", name, fmt::join(arguments, ",\n    "));
  }

  Declared declare_span(const ParameterText& span, Names& names,
                        Signature& signature) const override {
    const std::string type = in_space(Space::Global, (span.writes ? "" : "const ") + span.element);
    Declared declared;
    for (std::uint32_t i = 0; i < span.parameter->slots; ++i) {
      const std::string name = slot_name(span, i);
      Bound bound{names.fresh(name), span.length ? names.fresh(name + "_length") : ""};
      argument(signature, fmt::format("{}* {}", type, bound.data));
      if (span.length) argument(signature, fmt::format("constant long& {}", bound.length));
      declared.slots.push_back(std::move(bound));
    }
    return declared;
  }

  std::string declare_dynamic_shared(Names& names, Signature& signature) const override {
    std::string name = names.fresh("dynamic_shared");
    // Aligned for every element type.
    signature.arguments.push_back(fmt::format("threadgroup uint4* {} [[threadgroup(0)]]", name));
    return name;
  }

 protected:
  std::string_view address_space(Space space) const override {
    switch (space) {
      case Space::Global:
        return "device ";
      case Space::Shared:
        return "threadgroup ";
      default:
        return "";
    }
  }

  std::string load_f16(const Place& place, Helpers&) const override {
    return fmt::format("(float)as_type<half>({})", place.lvalue);
  }
  std::string store_f16(const Place& place, std::string_view value, Helpers&) const override {
    return fmt::format("{} = as_type<ushort>((half){})", place.lvalue, value);
  }
  void add_scalar(std::string_view element, std::string_view name,
                  Signature& signature) const override {
    argument(signature, fmt::format("constant {}& {}", element, name));
  }

 private:
  static constexpr std::array<std::string_view, 7> kPositions{
      "uint3 salvo_thread [[thread_position_in_threadgroup]]",
      "uint3 salvo_block [[threadgroup_position_in_grid]]",
      "uint3 salvo_threads [[threads_per_threadgroup]]",
      "uint3 salvo_blocks [[threadgroups_per_grid]]",
      "uint salvo_index [[thread_index_in_threadgroup]]",
      "uint salvo_lane [[thread_index_in_simdgroup]]",
      "uint salvo_lanes [[threads_per_simdgroup]]"};

  // Past the warp's end a lane gets its own value.
  static constexpr std::string_view kUp =
      "$F ushort $N(uint lane, uint delta) {\n"
      "  return (ushort)(delta > lane ? lane : lane - delta);\n"
      "}\n";
  static constexpr std::string_view kDown =
      "$F ushort $N(uint lane, uint delta, uint lanes) {\n"
      "  return (ushort)(delta >= lanes - lane ? lane : lane + delta);\n"
      "}\n";

  /// Arguments that are buffers come first, so that their number is their place.
  static void argument(Signature& signature, std::string_view declaration) {
    signature.arguments.push_back(
        fmt::format("{} [[buffer({})]]", declaration, signature.arguments.size()));
  }

  /// How many lanes this thread's warp has: the last one of a block may have fewer.
  static std::string active_lanes(Helpers& helpers) {
    return fmt::format("{}(salvo_threads, salvo_index - salvo_lane, salvo_lanes)",
                       helpers.define("salvo_active_lanes",
                                      "$F uint $N(uint3 threads, uint first, uint lanes) {\n"
                                      "  const uint left = threads.x * threads.y * threads.z - "
                                      "first;\n"
                                      "  return left < lanes ? left : lanes;\n"
                                      "}\n",
                                      {}));
  }

  /// Bools and 64-bit values are not exchanged as they are.
  std::string shuffle_function(Scalar value_type, Helpers& helpers) const {
    if (value_type == Scalar::Bool) {
      return helpers.define("salvo_shuffle_bool",
                            "$F bool $N(bool value, ushort lane) {\n"
                            "  return simd_shuffle((uint)value, lane) != 0;\n"
                            "}\n",
                            {});
    }
    if (ir::size_of(value_type) < 8) return "simd_shuffle";
    return helpers.define(fmt::format("salvo_shuffle_{}", ir::name(value_type)),
                          "$F $T $N($T value, ushort lane) {\n"
                          "  return as_type<$T>(simd_shuffle(as_type<uint2>(value), lane));\n"
                          "}\n",
                          {{"$T", type(value_type)}});
  }

  /// Folds the lanes' values in the order that the IR states, halves onto each other.
  std::string reduction(Op op, Scalar value_type, Helpers& helpers) const {
    const std::string shuffle = shuffle_function(value_type, helpers);
    return helpers.define(
        fmt::format("salvo_{}_{}", ir::name(op), ir::name(value_type)),
        "$F $T $N($T value, uint lane, uint lanes) {\n"
        "  for (uint half_way = 32; half_way > 0; half_way /= 2) {\n"
        "    const bool has_other = lane + half_way < lanes;\n"
        "    const $T other = $S(value, (ushort)(has_other ? lane + half_way : "
        "lane));\n"
        "    if (has_other) value = $C;\n"
        "  }\n"
        "  return $S(value, 0);\n"
        "}\n",
        {{"$C", helpers.combination(op, value_type)}, {"$S", shuffle}, {"$T", type(value_type)}});
  }

  static std::string_view atomic_function(Op op) {
    switch (op) {
      case Op::AtomicAdd:
        return "atomic_fetch_add_explicit";
      case Op::AtomicSub:
        return "atomic_fetch_sub_explicit";
      case Op::AtomicExchange:
        return "atomic_exchange_explicit";
      case Op::AtomicMin:
        return "atomic_fetch_min_explicit";
      case Op::AtomicMax:
        return "atomic_fetch_max_explicit";
      case Op::AtomicAnd:
        return "atomic_fetch_and_explicit";
      case Op::AtomicOr:
        return "atomic_fetch_or_explicit";
      default:
        return "atomic_fetch_xor_explicit";
    }
  }

  static std::string_view space_suffix(Space space) {
    return space == Space::Shared ? "_shared" : "";
  }

  /// MSL has the weak form alone, which may fail for no reason.
  std::string compare_exchange(const Place& place, Helpers& helpers) const {
    return helpers.define(
        fmt::format("salvo_compare_exchange_{}{}", ir::name(place.type), space_suffix(place.space)),
        "$F $T $N(volatile $Aatomic_$T* at, $T expected, $T desired) {\n"
        "  $T seen = expected;\n"
        "  while (!atomic_compare_exchange_weak_explicit(at, &seen, desired, "
        "memory_order_relaxed,\n"
        "                                                memory_order_relaxed)) {\n"
        "    if (seen != expected) return seen;\n"
        "  }\n"
        "  return expected;\n"
        "}\n",
        {{"$A", address_space(place.space)}, {"$T", type(place.type)}});
  }

  /// atomic_float is younger than the language, and never in threadgroup memory.
  std::string add_float(Space space, Helpers& helpers) const {
    return helpers.define(
        fmt::format("salvo_atomic_add_f32{}", space_suffix(space)),
        "$F float $N(volatile $Aatomic_uint* at, float value) {\n"
        "  uint seen = atomic_load_explicit(at, memory_order_relaxed);\n"
        "  while (!atomic_compare_exchange_weak_explicit(at, &seen,\n"
        "                                                as_type<uint>(as_type<float>(seen) + "
        "value),\n"
        "                                                memory_order_relaxed, "
        "memory_order_relaxed)) {\n"
        "  }\n"
        "  return as_type<float>(seen);\n"
        "}\n",
        {{"$A", address_space(space)}});
  }
};

}  // namespace

const Dialect& metal_dialect() {
  // Never destroyed: other threads may print while the program exits.
  static const Dialect& dialect = *new MetalDialect;
  return dialect;
}

Printed print_metal(const ir::Kernel& kernel) {
  const passes::Summary needs = passes::summarize(kernel);
  const auto refuse = [&](bool needed, std::string_view what) {
    if (!needed) return;
    throw Error(Error::Details{.code = Errc::unsupported,
                               .message = fmt::format("MSL has no {}", what),
                               .backend = "Metal",
                               .operation = "translate",
                               .kernel = kernel.name});
  };
  refuse(needs.needs_fp64, "f64");
  refuse(needs.needs_atomics_i64, "atomics on i64 and u64");
  return print(passes::expand_math_single(kernel), metal_dialect(), {});
}

}  // namespace salvo::codegen::c_family
