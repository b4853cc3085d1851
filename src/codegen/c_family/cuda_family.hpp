// CUDA C++, as NVRTC compiles it: no header, no library. What other dialects of it stand on.
// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/c_family/cuda_reserved_words.hpp"
#include "codegen/c_family/helpers.hpp"
#include "codegen/c_family/names.hpp"

namespace salvo::codegen::c_family {

class CudaFamily : public Dialect {
 public:
  using Op = ir::Op;
  using Scalar = ir::Scalar;
  using Space = ir::Space;

  std::string_view target() const noexcept override { return "CUDA/C"; }
  bool is_reserved(std::string_view name) const override { return is_cuda_word(name); }

  std::string_view memory_type(Scalar type) const override {
    static constexpr std::array<std::string_view, ir::kScalarCount> kTypes{
        "unsigned char",  "signed char",    "unsigned char",
        "short",          "unsigned short", "int",
        "unsigned int",   "long long",      "unsigned long long",
        "unsigned short", "unsigned short", "float",
        "double"};
    return kTypes[static_cast<std::size_t>(type)];
  }

  std::string vector_type(Scalar type, std::size_t count) const override {
    const std::string_view name = type == Scalar::I64   ? "longlong"
                                  : type == Scalar::U64 ? "ulonglong"
                                                        : Dialect::memory_type(type);
    return fmt::format("{}{}", name, count);
  }

  std::string declare_array(Space space, std::string_view type, std::string_view name,
                            std::uint32_t count) const override {
    return fmt::format("{}{} {}[{}];", space == Space::Shared ? "__shared__ " : "", type, name,
                       count);
  }

  std::string bitcast(Scalar to, Scalar from, std::string_view value) const override {
    const std::string_view target = type(to);
    if (!ir::is_float(to) && !ir::is_float(from)) return fmt::format("({}){}", target, value);
    switch (to) {
      case Scalar::F32:
        return fmt::format("__uint_as_float((unsigned int){})", value);
      case Scalar::F64:
        return fmt::format("__longlong_as_double((long long){})", value);
      default:
        return fmt::format("({}){}({})", target,
                           ir::size_of(to) == 8 ? "__double_as_longlong" : "__float_as_uint",
                           value);
    }
  }

  std::string saturating_cast(Scalar to, Scalar from, std::string_view value,
                              Helpers&) const override {
    std::string_view integer;
    switch (to) {
      case Scalar::I32:
        integer = "int";
        break;
      case Scalar::U32:
        integer = "uint";
        break;
      case Scalar::I64:
        integer = "ll";
        break;
      default:
        integer = "ull";
        break;
    }
    return fmt::format("__{}2{}_rz({})", from == Scalar::F64 ? "double" : "float", integer, value);
  }

  std::string function(Op op, Scalar type) const override {
    const bool wide = ir::size_of(type) == 8;
    switch (op) {
      case Op::Clz:
        return wide ? "__clzll" : "__clz";
      case Op::Popcount:
        return wide ? "__popcll" : "__popc";
      case Op::IsNan:
      case Op::IsInf:
        return std::string(ir::name(op));
      case Op::Abs:
        return wide ? "fabs" : "fabsf";
      default:
        return fmt::format("{}{}", ir::name(op), wide ? "" : "f");
    }
  }

  std::string position(Op op, int axis) const override {
    const char x = "xyz"[axis];
    switch (op) {
      case Op::ThreadIdx:
        return fmt::format("(int)threadIdx.{}", x);
      case Op::BlockIdx:
        return fmt::format("(int)blockIdx.{}", x);
      case Op::BlockDim:
        return fmt::format("(int)blockDim.{}", x);
      case Op::GridDim:
        return fmt::format("(int)gridDim.{}", x);
      case Op::GlobalIdx:
        return fmt::format("(int)(blockIdx.{0} * blockDim.{0} + threadIdx.{0})", x);
      case Op::LaneId:
        return std::string(kLane);
      default:
        return "32";
    }
  }

  std::string warp(Op op, Scalar value_type, std::span<const std::string> operands,
                   Helpers& helpers) const override {
    const std::string lanes = helpers.define("salvo_lanes", kLanes, {}) + "()";
    // There is no exchange of bools.
    const bool is_bool = value_type == Scalar::Bool;
    const std::string value = is_bool ? "(int)" + operands[0] : operands[0];
    const auto shuffle = [&](std::string_view how) {
      return fmt::format("{}__shfl{}_sync({}, {}, (int){})", is_bool ? "0 != " : "", how, lanes,
                         value, operands[1]);
    };
    switch (op) {
      case Op::Shuffle:
        return shuffle("");
      case Op::ShuffleUp:
        return shuffle("_up");
      case Op::ShuffleDown:
        return shuffle("_down");
      case Op::ShuffleXor:
        return shuffle("_xor");
      case Op::Any:
        return fmt::format("__any_sync({}, {}) != 0", lanes, operands[0]);
      case Op::All:
        return fmt::format("__all_sync({}, {}) != 0", lanes, operands[0]);
      case Op::Ballot:
        return fmt::format("(unsigned long long)__ballot_sync({}, {})", lanes, operands[0]);
      default:
        return fmt::format("{}({})", reduction(op, value_type, helpers), value);
    }
  }

  std::string atomic(Op op, const Place& place, std::span<const std::string> operands,
                     Helpers&) const override {
    const Scalar element = place.type;
    if (ir::size_of(element) < 8 || ir::is_float(element)) {
      return fmt::format("{}(&{}, {})", atomic_function(op), place.lvalue,
                         fmt::join(operands, ", "));
    }
    // Of the 64-bit integers only minimum and maximum come in both kinds, and there is no Sub.
    const bool extremum = op == Op::AtomicMin || op == Op::AtomicMax;
    const std::string_view as = extremum ? type(element) : type(Scalar::U64);
    std::string values;
    for (const std::string& operand : operands) {
      values += fmt::format(", {}({}){}", op == Op::AtomicSub ? "0 - " : "", as, operand);
    }
    return fmt::format("({}){}(({}*)&{}{})", type(element),
                       op == Op::AtomicSub ? "atomicAdd" : atomic_function(op), as, place.lvalue,
                       values);
  }

  std::string barrier() const override { return "__syncthreads()"; }
  std::string fence(bool device_scope) const override {
    return device_scope ? "__threadfence()" : "__threadfence_block()";
  }
  std::string loop_hint(std::uint32_t unroll) const override {
    return unroll == 0 || unroll == ir::kIndependent ? ""
                                                     : fmt::format("#pragma unroll {}", unroll);
  }

  std::string_view function_qualifiers() const override {
    return "static __device__ __forceinline__";
  }

  std::string prologue(const Features&) const override {
    return "template <typename T, int count>\n"
           "struct salvo_table {\n"
           "  T at[count];\n"
           "};\n\n";
  }

  std::string kernel_head(std::string_view name, const Signature& signature) const override {
    return fmt::format("extern \"C\" __global__ void {}({}{})", name,
                       signature.arguments.empty() ? "" : "\n    ",
                       fmt::join(signature.arguments, ",\n    "));
  }

  Declared declare_span(const ParameterText& span, Names& names,
                        Signature& signature) const override {
    const std::string pointer = fmt::format("{}{}*", span.writes ? "" : "const ", span.element);
    const std::uint32_t slots = span.parameter->slots;
    const std::string name = names.fresh(span.name);
    const std::string length = span.length ? names.fresh(span.name + "_length") : "";
    if (slots == 1) {
      signature.arguments.push_back(
          fmt::format("{}{} {}", pointer, span.no_alias ? " __restrict__" : "", name));
    } else {
      signature.arguments.push_back(table(pointer, slots, name));
    }
    if (span.length) {
      signature.arguments.push_back(slots == 1 ? "const long long " + length
                                               : table("long long", slots, length));
    }
    return declared(slots, name, length);
  }

  Declared declare_scalar(const ParameterText& scalar, Names& names, Signature& signature,
                          Helpers& helpers) const override {
    const std::uint32_t slots = scalar.parameter->slots;
    const Scalar stored = scalar.parameter->type;
    const Scalar computed = ir::compute_type(stored);
    const bool converts = type(computed) != memory_type(stored);
    const std::string name = names.fresh(scalar.name);
    const std::string argument = converts ? names.fresh(scalar.name + "_stored") : name;
    signature.arguments.push_back(slots == 1 ? fmt::format("const {} {}", scalar.element, argument)
                                             : table(scalar.element, slots, argument));
    if (!converts) return declared(slots, name, "");
    if (slots == 1) {
      signature.prologue.push_back(fmt::format("const {} {} = {};", type(computed), name,
                                               load({stored, Space::Local, argument}, helpers)));
      return {{{name, ""}}, ""};
    }
    // Converted where it is read: a copy of the table would not stay in the parameter block.
    Declared result{{}, argument};
    for (std::uint32_t i = 0; i < slots; ++i) {
      result.slots.push_back(
          {parenthesised(
               load({stored, Space::Local, fmt::format("{}.at[{}]", argument, i)}, helpers)),
           ""});
    }
    return result;
  }

  std::string declare_dynamic_shared(Names& names, Signature& signature) const override {
    std::string name = names.fresh("dynamic_shared");
    // Aligned for every element type.
    signature.prologue.push_back(fmt::format("extern __shared__ uint4 {}[];", name));
    return name;
  }

  Bound pick(const Declared& declared, std::string_view slot) const override {
    // The text of slot 0 with another number: it may hold a conversion around the element.
    const auto at = [&](std::string text) {
      const std::string_view zero = ".at[0]";
      const std::size_t where = text.find(zero);
      if (where != std::string::npos) {
        text.replace(where, zero.size(), fmt::format(".at[{}]", slot));
      }
      return text;
    };
    return {at(declared.slots[0].data), at(declared.slots[0].length)};
  }

 protected:
  std::string_view wide_suffix() const override { return "ll"; }

  std::string load_f16(const Place& place, Helpers& helpers) const override {
    return fmt::format(
        "{}({})",
        helpers.define("salvo_from_f16",
                       "$F float $N(unsigned short bits) {\n"
                       "  float value;\n"
                       "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"(bits));\n"
                       "  return value;\n"
                       "}\n",
                       {}),
        read(place));
  }

  std::string load_bf16(const Place& place) const override {
    return fmt::format("__uint_as_float((unsigned int){} << 16)", read(place));
  }

  std::string store_f16(const Place& place, std::string_view value,
                        Helpers& helpers) const override {
    return fmt::format(
        "{} = {}({})", place.lvalue,
        helpers.define("salvo_to_f16",
                       "$F unsigned short $N(float value) {\n"
                       "  unsigned short bits;\n"
                       "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(value));\n"
                       "  return bits;\n"
                       "}\n",
                       {}),
        value);
  }

  /// What stands before a parameter that is a table.
  virtual std::string_view table_qualifiers() const { return "const __grid_constant__"; }

 private:
  static constexpr std::string_view kLane =
      "(int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & 31u)";

  // The last warp of a block may have fewer lanes than 32.
  static constexpr std::string_view kLanes =
      "$F unsigned int $N() {\n"
      "  const unsigned int thread =\n"
      "      threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
      "  const unsigned int left = blockDim.x * blockDim.y * blockDim.z - (thread & ~31u);\n"
      "  return left >= 32u ? 0xffffffffu : (1u << left) - 1u;\n"
      "}\n";

  static std::string parenthesised(std::string_view text) { return fmt::format("({})", text); }

  std::string table(std::string_view element, std::uint32_t slots, std::string_view name) const {
    return fmt::format("{} salvo_table<{}, {}> {}", table_qualifiers(), element, slots, name);
  }

  static Declared declared(std::uint32_t slots, const std::string& name,
                           const std::string& length) {
    if (slots == 1) return {{{name, length}}, ""};
    Declared result{{}, name};
    for (std::uint32_t i = 0; i < slots; ++i) {
      result.slots.push_back({fmt::format("{}.at[{}]", name, i),
                              length.empty() ? "" : fmt::format("{}.at[{}]", length, i)});
    }
    return result;
  }

  static std::string_view atomic_function(Op op) {
    switch (op) {
      case Op::AtomicAdd:
        return "atomicAdd";
      case Op::AtomicSub:
        return "atomicSub";
      case Op::AtomicExchange:
        return "atomicExch";
      case Op::AtomicMin:
        return "atomicMin";
      case Op::AtomicMax:
        return "atomicMax";
      case Op::AtomicAnd:
        return "atomicAnd";
      case Op::AtomicOr:
        return "atomicOr";
      case Op::AtomicXor:
        return "atomicXor";
      default:
        return "atomicCAS";
    }
  }

  /// Folds the lanes' values in the order that the IR states, halves onto each other.
  std::string reduction(Op op, Scalar value_type, Helpers& helpers) const {
    const std::string lanes = helpers.define("salvo_lanes", kLanes, {});
    return helpers.define(fmt::format("salvo_{}_{}", ir::name(op), ir::name(value_type)),
                          "$F $T $N($T value) {\n"
                          "  const unsigned int lanes = $L();\n"
                          "  const int lane = $I;\n"
                          "  for (int half = 16; half > 0; half /= 2) {\n"
                          "    const $T other = __shfl_down_sync(lanes, value, half);\n"
                          "    if (lane + half < 32 && (lanes >> (lane + half) & 1u)) value = $C;\n"
                          "  }\n"
                          "  return __shfl_sync(lanes, value, 0);\n"
                          "}\n",
                          {{"$C", helpers.combination(op, value_type)},
                           {"$L", lanes},
                           {"$I", kLane},
                           {"$T", type(value_type)}});
  }
};

}  // namespace salvo::codegen::c_family
