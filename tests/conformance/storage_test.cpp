// Storage types: widening loads, rounding and truncating stores, in every kind of memory.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

class Storage : public OnType {
 protected:
  Scalar stored() const { return std::get<1>(GetParam()); }
  Scalar computed() const { return ir::compute_type(stored()); }
};
SALVO_ON_TYPES(Storage, Scalar::Bool, Scalar::I8, Scalar::U8, Scalar::I16, Scalar::U16, Scalar::I32,
               Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F16, Scalar::BF16, Scalar::F32,
               Scalar::F64);

/// Values of a compute type that narrow types must round, saturate or cut.
std::vector<std::uint64_t> to_narrow(Scalar computed, Scalar stored) {
  std::vector<std::uint64_t> values = edge_bits(computed);
  if (stored != Scalar::F16 && stored != Scalar::BF16) return values;
  // Each float of the narrow type's grid as f32, the middle to the next one, and both neighbours of
  // the middle: where rounding to nearest even decides.
  const int cut = stored == Scalar::BF16 ? 16 : 13;
  for (std::uint32_t high = 0; high < 1u << (32 - cut); high += 37) {
    const std::uint64_t low = std::uint64_t{high} << cut;
    const std::uint64_t half = 1ull << (cut - 1);
    for (std::uint64_t bits : {low, low + half - 1, low + half, low + half + 1}) {
      values.push_back(bits);
    }
  }
  for (std::uint32_t i = 0; i < 2048; ++i) {
    // Around the smallest f16: denormals round at another bit.
    values.push_back(0x33000000u + i * 0x1357u);
  }
  return values;
}

TEST_P(Storage, LoadsWiden) {
  check(elementwise("widen", {stored()}, {edge_bits(stored())},
                    [](Shapes&, const std::vector<ValueId>& x) {
                      return std::vector<Output>{{"wide", x[0]}};
                    }));
}

TEST_P(Storage, StoresRoundOrCut) {
  const std::vector<std::uint64_t> values = to_narrow(computed(), stored());
  const auto count = static_cast<std::uint32_t>(values.size());
  Shapes kernel("narrow");
  const auto x = kernel.span_parameter("x", ir::Element::scalar(computed()), true);
  const auto y = kernel.span_parameter("y", ir::Element::scalar(stored()), false);
  const auto n = kernel.scalar_parameter("n", Scalar::I32);
  guarded(kernel, n, [&](ValueId i) { kernel.store(y, i, kernel.load(x, i)); });
  check({.kernel = kernel.finish(),
         .shape = over(count),
         .arguments = {span_of_bits(computed(), values), zeros(count, ir::size_of(stored())),
                       scalar(count)},
         .options = {}});
}

TEST_P(Storage, NarrowStoresLeaveTheirNeighboursAlone) {
  const std::vector<std::uint64_t> values(64, 1);
  Shapes kernel("every_third");
  const auto y = kernel.span_parameter("y", ir::Element::scalar(stored()), false);
  const auto x = kernel.span_parameter("x", ir::Element::scalar(computed()), true);
  const auto n = kernel.scalar_parameter("n", Scalar::I32);
  guarded(kernel, n, [&](ValueId i) {
    const ValueId third = kernel.op(Op::Rem, {i, kernel.constant_i32(3)});
    const ValueId chosen = kernel.op(Op::Eq, {third, kernel.constant_i32(1)});
    kernel.if_else(chosen, [&] { kernel.store(y, i, kernel.load(x, i)); });
  });
  const std::vector<std::uint64_t> zero(64, 0);
  check({.kernel = kernel.finish(),
         .shape = over(64),
         .arguments = {span_of_bits(stored(), values), span_of_bits(computed(), zero),
                       scalar(std::int32_t{64})},
         .options = {}});
}

TEST_P(Storage, ScalarParametersWiden) {
  Shapes kernel("widen_scalar");
  const auto value = kernel.scalar_parameter("value", stored());
  const auto y = kernel.span_parameter("y", ir::Element::scalar(computed()), false);
  kernel.store(y, kernel.position(Op::GlobalIdx, 0), kernel.param(value));
  const ir::Kernel made = kernel.finish();
  for (std::size_t i = 0; i < edge_bits(stored()).size(); i += 1 + edge_bits(stored()).size() / 9) {
    Value argument;
    argument.bits = edge_bits(stored())[i];
    check({.kernel = made,
           .shape = {{1, 1, 1}, {4, 1, 1}, 0},
           .arguments = {argument, zeros(4, ir::size_of(computed()))},
           .options = {}});
  }
}

TEST_P(Storage, LocalArraysHoldTheStoredType) {
  const std::vector<std::uint64_t>& values = edge_bits(computed());
  const auto count = static_cast<std::uint32_t>(values.size());
  Shapes kernel("through_local");
  const auto x = kernel.span_parameter("x", ir::Element::scalar(computed()), true);
  const auto y = kernel.span_parameter("y", ir::Element::scalar(computed()), false);
  const auto n = kernel.scalar_parameter("n", Scalar::I32);
  const auto kept = kernel.local_array("kept", ir::Element::scalar(stored()), 4);
  guarded(kernel, n, [&](ValueId i) {
    const ValueId at = kernel.op(Op::And, {i, kernel.constant_i32(3)});
    kernel.store(kept, at, kernel.load(x, i));
    kernel.store(y, i, kernel.load(kept, at));
  });
  check({.kernel = kernel.finish(),
         .shape = over(count),
         .arguments = {span_of_bits(computed(), values), zeros(count, ir::size_of(computed())),
                       scalar(count)},
         .options = {}});
}

TEST_P(Storage, SharedArraysHoldTheStoredType) {
  std::vector<std::uint64_t> values = edge_bits(computed());
  values.resize((values.size() + 31) / 32 * 32, 0);
  const auto count = static_cast<std::uint32_t>(values.size());
  Shapes kernel("through_shared");
  const auto x = kernel.span_parameter("x", ir::Element::scalar(computed()), true);
  const auto y = kernel.span_parameter("y", ir::Element::scalar(computed()), false);
  const auto tile = kernel.shared_array("tile", ir::Element::scalar(stored()), 32);
  const ValueId t = kernel.position(Op::ThreadIdx, 0);
  const ValueId i = kernel.position(Op::GlobalIdx, 0);
  kernel.store(tile, t, kernel.load(x, i));
  kernel.statement(Op::Barrier);
  const ValueId mirrored = kernel.op(Op::Sub, {kernel.constant_i32(31), t});
  kernel.store(y, i, kernel.load(tile, mirrored));
  check({.kernel = kernel.finish(),
         .shape = over(count, 32),
         .arguments = {span_of_bits(computed(), values), zeros(count, ir::size_of(computed()))},
         .options = {}});
}

// Records.

struct Mixed {
  std::uint8_t flag;
  double weight;
  std::int16_t small;
  float position[3];
  std::uint64_t id;
  std::int8_t tail;
};

ir::Element mixed_element(bool with_f64) {
  ir::Element element{"Mixed", sizeof(Mixed), alignof(Mixed), {}};
  const auto add = [&](std::string name, Scalar type, std::size_t offset) {
    element.fields.push_back({std::move(name), type, static_cast<std::uint32_t>(offset)});
  };
  // Not in the order of their offsets, and with names that a language may not take.
  add("tail", Scalar::I8, offsetof(Mixed, tail));
  add("flag", Scalar::Bool, offsetof(Mixed, flag));
  add("weight", with_f64 ? Scalar::F64 : Scalar::I64, offsetof(Mixed, weight));
  add("half", Scalar::F16, offsetof(Mixed, small));
  for (std::size_t k = 0; k < 3; ++k) {
    add("position." + std::to_string(k), Scalar::F32,
        offsetof(Mixed, position) + k * sizeof(float));
  }
  add("kernel", Scalar::U64, offsetof(Mixed, id));
  return element;
}

Bytes mixed_data(std::size_t count) {
  Bytes bytes(count * sizeof(Mixed));
  for (std::size_t i = 0; i < count; ++i) {
    const Mixed one{static_cast<std::uint8_t>(i % 2),
                    0.25 * static_cast<double>(i),
                    static_cast<std::int16_t>(0x3c00 + i),
                    {static_cast<float>(i), static_cast<float>(i) * 0.1f, -1.0f},
                    0x1234567800000000ull + i,
                    static_cast<std::int8_t>(-static_cast<int>(i))};
    // Field by field: the padding between stays zero, so that results can be compared whole.
    std::byte* at = bytes.data() + i * sizeof(Mixed);
    std::memcpy(at + offsetof(Mixed, flag), &one.flag, sizeof(one.flag));
    std::memcpy(at + offsetof(Mixed, weight), &one.weight, sizeof(one.weight));
    std::memcpy(at + offsetof(Mixed, small), &one.small, sizeof(one.small));
    std::memcpy(at + offsetof(Mixed, position), &one.position, sizeof(one.position));
    std::memcpy(at + offsetof(Mixed, id), &one.id, sizeof(one.id));
    std::memcpy(at + offsetof(Mixed, tail), &one.tail, sizeof(one.tail));
  }
  return bytes;
}

class Records : public OnDevice {};
SALVO_ON_DEVICES(Records);

/// Every field of x, changed, into the same field of y.
Case record_case(bool with_f64, std::optional<ir::Space> through) {
  constexpr std::uint32_t kCount = 32;
  const ir::Element element = mixed_element(with_f64);
  Shapes kernel("records");
  const auto x = kernel.span_parameter("x", element, true);
  const auto y = kernel.span_parameter("y", element, false);
  auto from = x;
  ValueId i = kernel.position(Op::GlobalIdx, 0);
  ValueId at = i;
  if (through) {
    at = *through == ir::Space::Shared ? kernel.position(Op::ThreadIdx, 0) : kernel.constant_i32(1);
    from = *through == ir::Space::Shared ? kernel.shared_array("kept", element, kCount)
                                         : kernel.local_array("kept", element, 2);
    for (std::uint32_t f = 0; f < element.fields.size(); ++f) {
      kernel.store(from, at, kernel.load(x, i, f), f);
    }
    if (*through == ir::Space::Shared) {
      kernel.statement(Op::Barrier);
      at = kernel.op(Op::Xor, {at, kernel.constant_i32(1)});
    }
  }
  for (std::uint32_t f = 0; f < element.fields.size(); ++f) {
    const ValueId value = kernel.load(from, at, f);
    const Scalar type = ir::compute_type(element.fields[f].type);
    kernel.store(
        y, i,
        type == Scalar::Bool ? kernel.op(Op::Not, {value}) : kernel.op(Op::Add, {value, value}), f);
  }
  Value data{.is_span = true, .bytes = mixed_data(kCount), .shares = {}, .length = kCount};
  return {.kernel = kernel.finish(),
          .shape = {{1, 1, 1}, {kCount, 1, 1}, 0},
          .arguments = {data, zeros(kCount, sizeof(Mixed))},
          .options = {}};
}

TEST_P(Records, KeepTheHostsLayoutInSpans) {
  check(record_case(false, {}));
}
TEST_P(Records, KeepTheHostsLayoutInSpansWithF64) {
  check(record_case(true, {}));
}
TEST_P(Records, LiveInSharedArrays) {
  check(record_case(false, ir::Space::Shared));
}
TEST_P(Records, LiveInLocalArrays) {
  check(record_case(false, ir::Space::Local));
}

}  // namespace
}  // namespace salvo::conformance
