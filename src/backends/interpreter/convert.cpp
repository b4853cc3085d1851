// Conversions between compute types, and between values and the elements that store them.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/convert.hpp"

#include <cmath>
#include <limits>

#include "backends/interpreter/lane_loops.hpp"

namespace salvo::backends::interpreter {
namespace {

template <Integer To, Floating From>
To saturate(From value) noexcept {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(value)) return 0;
  // Both bounds are powers of two (or zero), hence exact in either float type; the largest value
  // itself would not be.
  const From above = std::ldexp(From{1}, Limits::digits);
  if (value >= above) return Limits::max();
  if (value <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(value);
}

template <class To>
struct CastTo {
  template <class From>
  static To apply(From value) {
    if constexpr (std::same_as<To, bool>) {
      return value != From{};
    } else if constexpr (Integer<To> && Floating<From>) {
      return saturate<To>(value);
    } else {
      return static_cast<To>(value);
    }
  }
};

struct WidenBool {
  static std::uint64_t apply(std::uint64_t bits) { return bits != 0 ? 1 : 0; }
};
struct WidenI8 {
  static std::int32_t apply(std::uint64_t bits) { return static_cast<std::int8_t>(bits); }
};
struct WidenI16 {
  static std::int32_t apply(std::uint64_t bits) { return static_cast<std::int16_t>(bits); }
};
struct WidenF16 {
  static float apply(std::uint64_t bits) { return from_f16(static_cast<std::uint16_t>(bits)); }
};
struct WidenBF16 {
  static float apply(std::uint64_t bits) { return from_bf16(static_cast<std::uint16_t>(bits)); }
};
struct NarrowF16 {
  static std::uint64_t apply(float value) { return to_f16(value); }
};
struct NarrowBF16 {
  static std::uint64_t apply(float value) { return to_bf16(value); }
};

constexpr std::uint32_t kSign = 0x8000'0000;
constexpr std::uint32_t kInfinity = 0x7f80'0000;

/// `bits >> shift`, to the nearest and ties to even.
std::uint32_t shift_to_nearest(std::uint32_t bits, unsigned shift) noexcept {
  const std::uint32_t odd = bits >> shift & 1;
  return (bits + (1u << (shift - 1)) - 1 + odd) >> shift;
}

}  // namespace

LaneFunction cast_function(ir::Scalar to, ir::Scalar from) {
  return with_type(to, [from]<class To>() -> LaneFunction { return unary<CastTo<To>>(from); });
}

LaneFunction widen_function(ir::Scalar element) {
  switch (element) {
    case ir::Scalar::Bool:
      return &unary_loop<WidenBool, std::uint64_t>;
    case ir::Scalar::I8:
      return &unary_loop<WidenI8, std::uint64_t>;
    case ir::Scalar::I16:
      return &unary_loop<WidenI16, std::uint64_t>;
    case ir::Scalar::F16:
      return &unary_loop<WidenF16, std::uint64_t>;
    case ir::Scalar::BF16:
      return &unary_loop<WidenBF16, std::uint64_t>;
    default:
      return nullptr;
  }
}

LaneFunction narrow_function(ir::Scalar element) {
  if (element == ir::Scalar::F16) return &unary_loop<NarrowF16, float>;
  if (element == ir::Scalar::BF16) return &unary_loop<NarrowBF16, float>;
  return nullptr;
}

std::uint16_t to_f16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits & kSign) >> 16);
  const std::uint32_t magnitude = bits & ~kSign;
  std::uint32_t half = 0;
  if (magnitude > kInfinity) {
    half = 0x7e00 | (magnitude >> 13 & 0x3ff);
  } else if (magnitude >= 0x4780'0000) {  // 2^16 and more
    half = 0x7c00;
  } else if (magnitude >= 0x3880'0000) {  // 2^-14: the smallest normal half
    // Rebiasing the exponent first lets a carry out of the fraction run into it, up to infinity.
    half = shift_to_nearest(magnitude - ((127u - 15u) << 23), 13);
  } else if (magnitude >= 0x3300'0000) {  // 2^-25: what can round to a denormal half
    const unsigned shift = 126 - (magnitude >> 23);
    half = shift_to_nearest((magnitude & 0x7f'ffff) | 0x80'0000, shift);
  }
  return static_cast<std::uint16_t>(sign | half);
}

float from_f16(std::uint16_t bits) noexcept {
  const std::uint32_t sign = (bits & 0x8000u) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1f;
  const std::uint32_t fraction = bits & 0x3ff;
  if (exponent == 0) {
    const float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  if (exponent == 0x1f) return std::bit_cast<float>(sign | kInfinity | fraction << 13);
  return std::bit_cast<float>(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

std::uint16_t to_bf16(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & ~kSign) > kInfinity) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>(shift_to_nearest(bits, 16));
}

float from_bf16(std::uint16_t bits) noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace salvo::backends::interpreter
