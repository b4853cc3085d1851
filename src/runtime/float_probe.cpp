// Measures on a device what its compiler makes of multiplies, adds and narrow stores (W53).
// SPDX-License-Identifier: MIT
#include "runtime/float_probe.hpp"

#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "ir/builder.hpp"
#include "ir/hash.hpp"

namespace salvo::runtime {
namespace {

using ir::Element;
using ir::MemoryId;
using ir::Op;
using ir::Scalar;
using ir::ValueId;

constexpr std::uint32_t kCases = 256;

/// Factors and summands for which one rounding and two give different results.
struct Cases {
  std::vector<float> a, b, c, twice_rounded, once_rounded;

  Cases() {
    std::uint32_t state = 1;
    const auto next = [&] {
      state = state * 1664525 + 1013904223;
      return static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    };
    while (a.size() < kCases) {
      const float x = next(), y = next(), z = next();
      const float product = x * y;
      const float twice = product + z, once = std::fma(x, y, z);
      if (twice == once) continue;
      a.push_back(x);
      b.push_back(y);
      c.push_back(z);
      twice_rounded.push_back(twice);
      once_rounded.push_back(once);
    }
  }
};

struct Parameters {
  ir::Builder& builder;
  MemoryId span(const char* name, Scalar type) {
    return builder.span_parameter(name, Element::scalar(type), false);
  }
};

/// sum = a * b + c as two operations, and fused = fma(a, b, c).
ir::Kernel arithmetic_kernel(bool fma) {
  ir::Builder to("salvo_probe");
  Parameters parameters{to};
  const MemoryId a = parameters.span("a", Scalar::F32), b = parameters.span("b", Scalar::F32),
                 c = parameters.span("c", Scalar::F32), sum = parameters.span("sum", Scalar::F32),
                 fused = parameters.span("fused", Scalar::F32);
  const ValueId i = to.position(Op::GlobalIdx, 0);
  const ValueId x = to.load(a, i), y = to.load(b, i), z = to.load(c, i);
  to.store(sum, i, to.op(Op::Add, {to.op(Op::Mul, {x, y}), z}));
  to.store(fused, i, fma ? to.op(Op::Fma, {x, y, z}) : z);
  return to.finish();
}

/// a stored as 16-bit floats and loaded again.
ir::Kernel narrow_kernel(bool f16) {
  ir::Builder to("salvo_probe_narrow");
  Parameters parameters{to};
  const MemoryId a = parameters.span("a", Scalar::F32),
                 bfloat = parameters.span("bf16", Scalar::BF16),
                 half = parameters.span("f16", f16 ? Scalar::F16 : Scalar::BF16),
                 bfloat_back = parameters.span("bf16_back", Scalar::F32),
                 half_back = parameters.span("f16_back", Scalar::F32);
  const ValueId i = to.position(Op::GlobalIdx, 0);
  const ValueId x = to.load(a, i);
  for (const auto& [narrow, back] : {std::pair{bfloat, bfloat_back}, std::pair{half, half_back}}) {
    to.store(narrow, i, x);
    to.store(back, i, to.load(narrow, i));
  }
  return to.finish();
}

/// What a later launch sees of the narrow values.
ir::Kernel widen_kernel(bool f16) {
  ir::Builder to("salvo_probe_widen");
  Parameters parameters{to};
  const MemoryId bfloat = parameters.span("bf16", Scalar::BF16),
                 half = parameters.span("f16", f16 ? Scalar::F16 : Scalar::BF16),
                 bfloat_back = parameters.span("bf16_back", Scalar::F32),
                 half_back = parameters.span("f16_back", Scalar::F32);
  const ValueId i = to.position(Op::GlobalIdx, 0);
  to.store(bfloat_back, i, to.load(bfloat, i));
  to.store(half_back, i, to.load(half, i));
  return to.finish();
}

/// Buffers of the probe; given back when it is done.
class Buffers {
 public:
  explicit Buffers(DeviceState& device) : device_(device) {}
  ~Buffers() {
    for (Block& block : all_) device_.pool().free(std::move(block));
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  Argument make(const std::vector<float>* values = nullptr) {
    all_.reserve(all_.size() + 1);
    Argument argument;
    all_.push_back(device_.pool().allocate(kCases * sizeof(float)));
    // Streams may still work on what this block was before.
    device_.streams().order_default_after(all_.back().uses, false);
    argument.buffer = all_.back().buffer;
    argument.length = kCases;
    if (values) {
      device_.unwatched_driver().write(device_.unwatched_driver().queue(), argument.buffer, 0,
                                       values->data(), kCases * sizeof(float));
    }
    return argument;
  }
  std::vector<float> read(const Argument& argument) {
    std::vector<float> values(kCases);
    device_.unwatched_driver().read(device_.unwatched_driver().queue(), values.data(),
                                    argument.buffer, 0, kCases * sizeof(float));
    return values;
  }

 private:
  DeviceState& device_;
  std::vector<Block> all_;
};

void launch(DeviceState& device, const ir::Kernel& kernel, const std::vector<Argument>& arguments) {
  const TranslateOptions options{false, ~std::uint64_t{0}};
  Executable& executable = device.executable(kernel, ir::hash(kernel), options);
  LaunchShape shape;
  shape.grid[0] = kCases / 32;
  shape.block[0] = 32;
  device.unwatched_driver().launch(device.unwatched_driver().queue(), executable, shape, arguments);
}

std::uint32_t equal(const std::vector<float>& a, const std::vector<float>& b) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    count += std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]) ? 1 : 0;
  }
  return count;
}

bool narrowing_survives(DeviceState& device, const std::vector<float>& values) {
  const bool f16 = device.properties().fp16_storage;
  Buffers buffers(device);
  const Argument a = buffers.make(&values), bfloat = buffers.make(), half = buffers.make(),
                 bfloat_back = buffers.make(), half_back = buffers.make(),
                 bfloat_later = buffers.make(), half_later = buffers.make();
  launch(device, narrow_kernel(f16), {a, bfloat, half, bfloat_back, half_back});
  launch(device, widen_kernel(f16), {bfloat, half, bfloat_later, half_later});
  return equal(buffers.read(bfloat_back), buffers.read(bfloat_later)) == kCases &&
         equal(buffers.read(half_back), buffers.read(half_later)) == kCases;
}

}  // namespace

FloatProbe measure_floats(DeviceState& device) {
  const Cases cases;
  const bool fma = device.properties().fast_fma;
  Buffers buffers(device);
  const Argument a = buffers.make(&cases.a), b = buffers.make(&cases.b), c = buffers.make(&cases.c),
                 sum = buffers.make(), fused = buffers.make();
  launch(device, arithmetic_kernel(fma), {a, b, c, sum, fused});

  FloatProbe probe;
  probe.measured = true;
  probe.cases = kCases;
  probe.contracted = kCases - equal(buffers.read(sum), cases.twice_rounded);
  probe.fma_rounded_once = fma ? equal(buffers.read(fused), cases.once_rounded) : 0;
  try {
    probe.narrowing_survives = narrowing_survives(device, cases.a);
  } catch (const Error&) {
    // A device without 16-bit floats rounds none; what it does to wide ones is known all the same.
    probe.narrowing_survives = false;
  }
  return probe;
}

}  // namespace salvo::runtime
