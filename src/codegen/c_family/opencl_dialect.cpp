// OpenCL C 1.2, as far as a kernel needs no later version.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/opencl_dialect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/c_family/helpers.hpp"
#include "codegen/c_family/names.hpp"
#include "codegen/c_family/opencl_reserved_words.hpp"

namespace salvo::codegen::c_family {
namespace {

using ir::Op;
using ir::Scalar;
using ir::Space;

class OpenclDialect final : public Dialect {
 public:
  std::string_view target() const noexcept override { return "OpenCL"; }
  bool is_reserved(std::string_view name) const override { return is_opencl_word(name); }

  std::string bitcast(Scalar to, Scalar, std::string_view value) const override {
    return fmt::format("as_{}({})", type(to), value);
  }

  std::string saturating_cast(Scalar to, Scalar, std::string_view value, Helpers&) const override {
    return fmt::format("convert_{}_sat({})", type(to), value);
  }

  std::string function(Op op, Scalar) const override {
    switch (op) {
      case Op::Abs:
        return "fabs";
      default:
        return std::string(ir::name(op));  // the IR's names are C's
    }
  }

  std::string position(Op op, int axis) const override {
    switch (op) {
      case Op::ThreadIdx:
        return fmt::format("(int)get_local_id({})", axis);
      case Op::BlockIdx:
        return fmt::format("(int)get_group_id({})", axis);
      case Op::BlockDim:
        return fmt::format("(int)get_local_size({})", axis);
      case Op::GridDim:
        return fmt::format("(int)get_num_groups({})", axis);
      case Op::GlobalIdx:
        return fmt::format("(int)get_global_id({})", axis);
      case Op::LaneId:
        return "(int)get_sub_group_local_id()";
      default:
        return "(int)get_max_sub_group_size()";
    }
  }

  std::string warp(Op op, Scalar value_type, std::span<const std::string> operands,
                   Helpers& helpers) const override {
    // Arguments of the subgroup functions cannot be bool.
    const bool is_bool = value_type == Scalar::Bool;
    const std::string value = is_bool ? "(int)" + operands[0] : operands[0];
    const auto shuffle = [&](std::string_view lane) {
      return fmt::format("{}sub_group_shuffle({}, {})", is_bool ? "0 != " : "", value, lane);
    };
    constexpr std::string_view kLane = "(int)get_sub_group_local_id()";
    switch (op) {
      case Op::Shuffle:
        return shuffle("(uint)" + operands[1]);
      case Op::ShuffleUp:
        return shuffle(up_lane(operands[1], kLane, helpers));
      case Op::ShuffleDown:
        return shuffle(down_lane(operands[1], kLane, helpers));
      case Op::ShuffleXor:
        return shuffle(fmt::format("(uint)({} ^ {})", kLane, operands[1]));
      case Op::Any:
        return fmt::format("sub_group_any((int){}) != 0", operands[0]);
      case Op::All:
        return fmt::format("sub_group_all((int){}) != 0", operands[0]);
      case Op::Ballot:
        return fmt::format("as_ulong(sub_group_ballot((int){}).xy)", operands[0]);
      case Op::WarpAdd:
        return fmt::format("sub_group_reduce_add({})", value);
      case Op::WarpMin:
        return fmt::format("sub_group_reduce_min({})", value);
      default:
        return fmt::format("sub_group_reduce_max({})", value);
    }
  }

  std::string atomic(Op op, const Place& place, std::span<const std::string> operands,
                     Helpers& helpers) const override {
    if (ir::is_float(place.type)) return add_float(place, operands[0], helpers);
    return fmt::format("{}({}, {})", atomic_function(op, place.type), pointer(place, place.type),
                       fmt::join(operands, ", "));
  }

  std::string barrier() const override {
    return "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)";
  }
  std::string fence(bool) const override {
    return "mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)";
  }
  std::string loop_hint(std::uint32_t unroll) const override {
    if (unroll == ir::kIndependent) return "#pragma clang loop vectorize(assume_safety)";
    return unroll == 0 ? "" : fmt::format("#pragma unroll {}", unroll);
  }

  std::string prologue(const Features& features) const override {
    // Must be the first line: elsewhere in the file some compilers refuse it.
    std::string text = features.contraction ? "" : "#pragma OPENCL FP_CONTRACT OFF\n";
    const auto extension = [&](std::string_view name) {
      text += fmt::format("#pragma OPENCL EXTENSION {} : enable\n", name);
    };
    // Doubles need no pragma since 1.2, and compilers warn of one.
    if (features.independent_loops) {
      // Vectorisers that run late warn early that they have not run, and PoCL prints that.
      text += "#pragma clang diagnostic ignored \"-Wpass-failed\"\n";
    }
    if (features.atomics_i64) {
      extension("cl_khr_int64_base_atomics");
      extension("cl_khr_int64_extended_atomics");
    }
    if (features.warp) {
      for (const char* name :
           {"cl_khr_subgroups", "cl_khr_subgroup_ballot", "cl_khr_subgroup_shuffle"}) {
        extension(name);
      }
    }
    return text + "\n";
  }

  std::string kernel_head(std::string_view name, const Signature& signature) const override {
    return fmt::format("kernel void {}({}{})", name, signature.arguments.empty() ? "" : "\n    ",
                       fmt::join(signature.arguments, ",\n    "));
  }

  Declared declare_span(const ParameterText& span, Names& names,
                        Signature& signature) const override {
    const std::string type = in_space(Space::Global, (span.writes ? "" : "const ") + span.element);
    Declared declared;
    for (std::uint32_t i = 0; i < span.parameter->slots; ++i) {
      const std::string name = slot_name(span, i);
      Bound bound{names.fresh(name), span.length ? names.fresh(name + "_length") : ""};
      const std::string base = names.fresh(name + "_base");
      const std::string offset = names.fresh(name + "_offset");
      // The pointer below is derived from the argument, and so inherits its restrict.
      signature.arguments.push_back(fmt::format("{}*{} {}, const long {}{}", type,
                                                span.no_alias ? " restrict" : "", base, offset,
                                                span.length ? ", const long " + bound.length : ""));
      signature.prologue.push_back(
          fmt::format("{}* {} = ({}*)(({}*){} + {});", type, bound.data, type,
                      in_space(Space::Global, span.writes ? "char" : "const char"), base, offset));
      declared.slots.push_back(std::move(bound));
    }
    return declared;
  }

  std::string declare_dynamic_shared(Names& names, Signature& signature) const override {
    std::string name = names.fresh("dynamic_shared");
    signature.arguments.push_back("local uint4* " + name);  // aligned for every element type
    return name;
  }

 protected:
  std::string_view address_space(Space space) const override {
    switch (space) {
      case Space::Global:
        return "global ";
      case Space::Shared:
        return "local ";
      default:
        return "";
    }
  }

  std::string load_f16(const Place& place, Helpers&) const override {
    return fmt::format("vload_half(0, (const {}half*)&{})", address_space(place.space),
                       place.lvalue);
  }
  std::string store_f16(const Place& place, std::string_view value, Helpers&) const override {
    return fmt::format("vstore_half_rte({}, 0, ({}half*)&{})", value, address_space(place.space),
                       place.lvalue);
  }

 private:
  std::string pointer(const Place& place, Scalar as) const {
    return fmt::format("(volatile {}{}*)&{}", address_space(place.space), memory_type(as),
                       place.lvalue);
  }

  static std::string atomic_function(Op op, Scalar type) {
    std::string_view verb;
    switch (op) {
      case Op::AtomicAdd:
        verb = "add";
        break;
      case Op::AtomicSub:
        verb = "sub";
        break;
      case Op::AtomicExchange:
        verb = "xchg";
        break;
      case Op::AtomicMin:
        verb = "min";
        break;
      case Op::AtomicMax:
        verb = "max";
        break;
      case Op::AtomicAnd:
        verb = "and";
        break;
      case Op::AtomicOr:
        verb = "or";
        break;
      case Op::AtomicXor:
        verb = "xor";
        break;
      default:
        verb = "cmpxchg";
        break;
    }
    return fmt::format("{}_{}", ir::size_of(type) == 8 ? "atom" : "atomic", verb);
  }

  /// OpenCL C adds no floats: repeat until nobody came between. The first read need not be atomic,
  /// since a wrong guess costs a round and no more.
  std::string add_float(const Place& place, std::string_view value, Helpers& helpers) const {
    const Scalar bits = place.type == Scalar::F64 ? Scalar::U64 : Scalar::U32;
    const std::string name = helpers.define(
        fmt::format("salvo_atomic_add_{}{}", place.space == Space::Shared ? "local_" : "",
                    ir::name(place.type)),
        "$F $T $N(volatile $S$B* at, $T value) {\n"
        "  $B seen = *at;\n"
        "  for (;;) {\n"
        "    const $T was = as_$T(seen);\n"
        "    const $B now = $X(at, seen, as_$B(was + value));\n"
        "    if (now == seen) return was;\n"
        "    seen = now;\n"
        "  }\n"
        "}\n",
        {{"$X", atomic_function(Op::AtomicCompareExchange, bits)},
         {"$S", address_space(place.space)},
         {"$T", type(place.type)},
         {"$B", type(bits)}});
    return fmt::format("{}({}, {})", name, pointer(place, bits), value);
  }

  static std::string up_lane(std::string_view delta, std::string_view lane, Helpers& helpers) {
    return fmt::format("{}({}, {})",
                       helpers.define("salvo_lane_up",
                                      "$F uint $N(int lane, int delta) {\n"
                                      "  return (uint)(delta > lane ? lane : lane - delta);\n"
                                      "}\n",
                                      {}),
                       lane, delta);
  }

  static std::string down_lane(std::string_view delta, std::string_view lane, Helpers& helpers) {
    return fmt::format(
        "{}({}, {})",
        helpers.define("salvo_lane_down",
                       "$F uint $N(int lane, int delta) {\n"
                       "  const int last = (int)get_sub_group_size() - 1;\n"
                       "  return (uint)(delta > last - lane ? lane : lane + delta);\n"
                       "}\n",
                       {}),
        lane, delta);
  }
};

}  // namespace

const Dialect& opencl_dialect() {
  // Never destroyed: other threads may print while the program exits.
  static const Dialect& dialect = *new OpenclDialect;
  return dialect;
}

}  // namespace salvo::codegen::c_family
