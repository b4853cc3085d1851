// HIP C++, as hiprtc compiles it: CUDA C++ but for the words that differ.
// SPDX-License-Identifier: MIT
#include "codegen/c_family/hip_dialect.hpp"

#include "codegen/c_family/cuda_family.hpp"

namespace salvo::codegen::c_family {
namespace {

class HipDialect final : public CudaFamily {
 public:
  std::string_view target() const noexcept override { return "HIP"; }
  bool is_reserved(std::string_view name) const override {
    return CudaFamily::is_reserved(name) || name.starts_with("hip") || name == "half";
  }

  std::string saturating_cast(Scalar to, Scalar from, std::string_view value,
                              Helpers& helpers) const override {
    // HIP's functions of CUDA's names are plain casts, which promise nothing outside the range.
    return fmt::format("{}({})", helpers.saturating_cast(to, from), value);
  }

  std::string function(Op op, Scalar type) const override {
    // The compiler's own: its instruction belongs to this very line, where tests look for it.
    if (op == Op::Fma) return type == Scalar::F64 ? "__builtin_fma" : "__builtin_fmaf";
    return CudaFamily::function(op, type);
  }

  std::string position(Op op, int axis) const override {
    if (op == Op::LaneId) return std::string(kLane);
    if (op == Op::WarpSize) return "(int)warpSize";
    return CudaFamily::position(op, axis);
  }

  std::string warp(Op op, Scalar value_type, std::span<const std::string> operands,
                   Helpers& helpers) const override {
    // There is no exchange of bools.
    const bool is_bool = value_type == Scalar::Bool;
    const std::string value = is_bool ? "(int)" + operands[0] : operands[0];
    const auto shuffle = [&](std::string_view lane) {
      return fmt::format("{}__shfl({}, {})", is_bool ? "0 != " : "", value, lane);
    };
    switch (op) {
      case Op::Shuffle:
        return shuffle("(int)" + operands[1]);
      case Op::ShuffleUp:
        return shuffle(fmt::format("{}({}, (int){})", helpers.define("salvo_lane_up", kUp, {}),
                                   kLane, operands[1]));
      case Op::ShuffleDown:
        return shuffle(fmt::format("{}({}, (int){})", helpers.define("salvo_lane_down", kDown, {}),
                                   kLane, operands[1]));
      case Op::ShuffleXor:
        return shuffle(fmt::format("{} ^ (int){}", kLane, operands[1]));
      case Op::Any:
        return fmt::format("__any((int){}) != 0", operands[0]);
      case Op::All:
        return fmt::format("__all((int){}) != 0", operands[0]);
      case Op::Ballot:
        return fmt::format("(unsigned long long)__ballot((int){})", operands[0]);
      default:
        return fmt::format("{}({})", reduction(op, value_type, helpers), value);
    }
  }

  std::string atomic(Op op, const Place& place, std::span<const std::string> operands,
                     Helpers& helpers) const override {
    const bool extremum = op == Op::AtomicMin || op == Op::AtomicMax;
    if (!extremum || place.type != Scalar::I64) {
      return CudaFamily::atomic(op, place, operands, helpers);
    }
    // There is no atomicMin of long long, only what it would be made of.
    return fmt::format("__hip_atomic_fetch_{}(&{}, {}, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)",
                       op == Op::AtomicMin ? "min" : "max", place.lvalue, operands[0]);
  }

 protected:
  std::string load_f16(const Place& place, Helpers& helpers) const override {
    return fmt::format("{}({})",
                       helpers.define("salvo_from_f16",
                                      "$F float $N(unsigned short bits) {\n"
                                      "  return (float)__builtin_bit_cast(_Float16, bits);\n"
                                      "}\n",
                                      {}),
                       place.lvalue);
  }

  std::string store_f16(const Place& place, std::string_view value,
                        Helpers& helpers) const override {
    return fmt::format(
        "{} = {}({})", place.lvalue,
        helpers.define("salvo_to_f16",
                       "$F unsigned short $N(float value) {\n"
                       "  return __builtin_bit_cast(unsigned short, (_Float16)value);\n"
                       "}\n",
                       {}),
        value);
  }

  /// Parameters lie in constant memory, and tables are read there, without being asked to.
  std::string_view table_qualifiers() const override { return "const"; }

 private:
  static constexpr std::string_view kLane =
      "(int)((threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) & "
      "(unsigned int)(warpSize - 1))";
  // Past the warp's end a lane gets its own value.
  static constexpr std::string_view kUp =
      "$F int $N(int lane, int delta) {\n"
      "  return (unsigned int)delta > (unsigned int)lane ? lane : lane - delta;\n"
      "}\n";
  static constexpr std::string_view kDown =
      "$F int $N(int lane, int delta) {\n"
      "  return (unsigned int)delta >= (unsigned int)(warpSize - lane) ? lane : lane + delta;\n"
      "}\n";

  /// Folds the lanes' values in the order that the IR states, halves onto each other. The last warp
  /// of a block may be smaller than the others.
  std::string reduction(Op op, Scalar value_type, Helpers& helpers) const {
    return helpers.define(
        fmt::format("salvo_{}_{}", ir::name(op), ir::name(value_type)),
        "$F $T $N($T value) {\n"
        "  const int lane = $I;\n"
        "  const int thread =\n"
        "      (int)(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));\n"
        "  const int lanes = (int)(blockDim.x * blockDim.y * blockDim.z) - (thread - lane);\n"
        "  for (int half = warpSize / 2; half > 0; half /= 2) {\n"
        "    const $T other = __shfl(value, (lane + half) & (warpSize - 1));\n"
        "    if (lane + half < warpSize && lane + half < lanes) value = $C;\n"
        "  }\n"
        "  return __shfl(value, 0);\n"
        "}\n",
        {{"$C", helpers.combination(op, value_type)}, {"$I", kLane}, {"$T", type(value_type)}});
  }
};

}  // namespace

const Dialect& hip_dialect() {
  // Never destroyed: other threads may print while the program exits.
  static const Dialect& dialect = *new HipDialect;
  return dialect;
}

}  // namespace salvo::codegen::c_family
