// 16-bit floats on the host: the same rounding as a kernel's store (K1).
// SPDX-License-Identifier: MIT
#include "salvo/types.hpp"

#include <bit>

namespace salvo {
namespace {

constexpr std::uint32_t kSign = 0x8000'0000;
constexpr std::uint32_t kInfinity = 0x7f80'0000;

/// `bits` without the lowest `places`, rounded to nearest, ties to even.
constexpr std::uint32_t rounded(std::uint32_t bits, int places) noexcept {
  const std::uint32_t last = (bits >> places) & 1;
  return (bits + (1U << (places - 1)) - 1 + last) >> places;
}

std::uint32_t half_magnitude(std::uint32_t magnitude) noexcept {
  constexpr std::uint32_t kLeastNormal = 0x3880'0000;  // 2^-14
  constexpr std::uint32_t kOverflow = 0x477f'f000;     // halfway from the greatest to 2^16
  constexpr std::uint32_t kBias = 112U << 23;          // 127 - 15
  if (magnitude > kInfinity) return 0x7e00 | (magnitude >> 13 & 0x3ff);
  if (magnitude >= kOverflow) return 0x7c00;
  if (magnitude >= kLeastNormal) return rounded(magnitude - kBias, 13);
  // At 0.5 a float's last place is a half's least denormal, so that the sum rounds for us.
  return std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
         std::bit_cast<std::uint32_t>(0.5f);
}

}  // namespace

half::half(float value) noexcept {
  const auto all = std::bit_cast<std::uint32_t>(value);
  bits = static_cast<std::uint16_t>((all & kSign) >> 16 | half_magnitude(all & ~kSign));
}

half::operator float() const noexcept {
  const std::uint32_t sign = (bits & 0x8000U) << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fU;
  const std::uint32_t mantissa = bits & 0x3ffU;
  std::uint32_t magnitude = (exponent + 112) << 23 | mantissa << 13;
  if (exponent == 0) {
    magnitude = std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24f);
  } else if (exponent == 0x1f) {
    magnitude = kInfinity | mantissa << 13;
  }
  return std::bit_cast<float>(sign | magnitude);
}

bfloat16::bfloat16(float value) noexcept {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const bool is_nan = (all & ~kSign) > kInfinity;
  bits = static_cast<std::uint16_t>(is_nan ? all >> 16 | 0x40 : rounded(all, 16));
}

bfloat16::operator float() const noexcept {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

}  // namespace salvo
