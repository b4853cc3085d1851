// How arguments reach a kernel: views, lengths, tables, aliases, and names.
// SPDX-License-Identifier: MIT
#include <functional>
#include <numeric>

#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

class Arguments : public OnDevice {
 protected:
  static std::vector<float> ramp(std::size_t count, float start = 0) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = start + static_cast<float>(i);
    return values;
  }
  static ir::Element floats() { return ir::Element::scalar(Scalar::F32); }
};
SALVO_ON_DEVICES(Arguments);

/// y[i] = 2 x[i] for i below the length of y, which the kernel reads.
ir::Kernel twice() {
  Shapes k("twice");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::F32), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  const ValueId inside = k.op(Op::Lt, {k.cast(Scalar::I64, i), k.length(y)});
  k.if_else(inside, [&] {
    const ValueId value = k.load(x, i);
    k.store(y, i, k.op(Op::Add, {value, value}));
  });
  return k.finish();
}

TEST_P(Arguments, ViewsStartAtAnyElement) {
  for (std::size_t first : {1, 3, 16, 33}) {
    check({.kernel = twice(),
           .shape = over(64),
           .arguments = {view(ramp(100), first, 50), view(ramp(100), 2 * first, 30)},
           .options = {}});
  }
}

TEST_P(Arguments, ViewsOfNarrowElementsStartAtAnyByte) {
  Shapes k("bytes");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::U8), false);
  const auto h = k.span_parameter("h", ir::Element::scalar(Scalar::F16), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(x, i, k.op(Op::Add, {k.load(x, i), k.constant(Scalar::U32, 250)}));
  k.store(h, i, k.op(Op::Add, {k.load(h, i), k.load(h, i)}));
  std::vector<std::uint8_t> bytes(40);
  std::vector<std::uint16_t> halves(40);
  for (std::size_t n = 0; n < 40; ++n) {
    bytes[n] = static_cast<std::uint8_t>(n);
    halves[n] = static_cast<std::uint16_t>(0x3c00 + n);
  }
  check({.kernel = k.finish(),
         .shape = {{1, 1, 1}, {16, 1, 1}, 0},
         .arguments = {view(bytes, 3, 16), view(halves, 5, 16)},
         .options = {}});
}

TEST_P(Arguments, ViewsOfOneBufferMayOverlap) {
  check({.kernel = twice(),
         .shape = over(64),
         .arguments = {span(ramp(100)), view_of(0, 60 * sizeof(float), 30)},
         .options = {}});
  // The same elements, read and written under two names.
  Shapes k("in_place");
  const auto x = k.span_parameter("x", floats(), true);
  const auto y = k.span_parameter("y", floats(), false);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(y, i, k.op(Op::Add, {k.load(x, i), k.constant(Scalar::F32, 0x3f800000)}));
  k.store(y, i, k.op(Op::Mul, {k.load(x, i), k.load(x, i)}));
  check({.kernel = k.finish(),
         .shape = over(64),
         .arguments = {span(ramp(64)), view_of(0, 0, 64)},
         .options = {}});
}

TEST_P(Arguments, ApartSpansMayBeToldApart) {
  for (std::uint64_t may_alias : {0ull, 1ull, 2ull}) {
    check({.kernel = twice(),
           .shape = over(64),
           .arguments = {span(ramp(64)), zeros(64, 4)},
           .options = {.may_alias = may_alias}});
  }
}

TEST_P(Arguments, EmptySpansNeedNoBuffer) {
  check({.kernel = twice(),
         .shape = over(64),
         .arguments = {zeros(0, 4), zeros(0, 4)},
         .options = {}});
  check({.kernel = twice(),
         .shape = over(64),
         .arguments = {span(ramp(8)), view(ramp(8), 8, 0)},
         .options = {}});
}

TEST_P(Arguments, LengthsAreThoseOfTheViews) {
  Shapes k("lengths");
  const auto a = k.span_parameter("a", floats(), true);
  const auto b = k.span_parameter("b", ir::Element::scalar(Scalar::U8), true);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::I64), false);
  k.store(y, k.constant_i32(0), k.length(a));
  k.store(y, k.constant_i32(1), k.length(b));
  k.store(y, k.constant_i32(2), k.length(y));
  check({.kernel = k.finish(),
         .shape = {},
         .arguments = {view(ramp(10), 2, 7), zeros(0, 1), zeros(3, 8)},
         .options = {}});
}

TEST_P(Arguments, ScalarsOfEveryTypeArriveTogether) {
  Shapes k("scalars");
  std::vector<Value> arguments;
  std::vector<std::uint32_t> parameters;
  const Scalar types[] = {Scalar::Bool, Scalar::I8,  Scalar::U8,   Scalar::I16,
                          Scalar::U16,  Scalar::I32, Scalar::U32,  Scalar::I64,
                          Scalar::U64,  Scalar::F16, Scalar::BF16, Scalar::F32};
  for (Scalar type : types) {
    parameters.push_back(k.scalar_parameter(std::string(name(type)), type));
    Value value;
    value.bits = type == Scalar::Bool ? 1
                 : ir::is_float(type) ? edge_bits(type)[1]
                                      : 0x8182838485868788ull >> (64 - 8 * ir::size_of(type));
    arguments.push_back(value);
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const ValueId value = k.param(parameters[i]);
    const Scalar type = k.kernel().nodes[value].type;
    const auto y = k.span_parameter("y", ir::Element::scalar(type), false);
    k.store(y, k.constant_i32(0), value);
    arguments.push_back(zeros(1, ir::size_of(type)));
  }
  check({.kernel = k.finish(), .shape = {}, .arguments = arguments, .options = {}});
}

TEST_P(Arguments, NamesThatTheTargetKeepsAreRenamed) {
  const char* names[] = {"kernel",   "float4", "half",     "global",        "local",
                         "__global", "int",    "x y",      "9lives",        "naïve",
                         "v1",       "v1",     "as_float", "get_global_id", "barrier",
                         "NULL",     "i",      "i_2",      "salvo_min_f32", "",
                         "x_base",   "x",      "constant", "sqrt",          "block_idx_x"};
  Shapes k("while");
  std::vector<Value> arguments;
  std::vector<ir::MemoryId> spans;
  for (const char* name : names) {
    spans.push_back(k.span_parameter(name, floats(), false));
    arguments.push_back(span(ramp(4, static_cast<float>(spans.size()))));
  }
  const auto count = k.scalar_parameter("switch", Scalar::I32);
  arguments.push_back(scalar(std::int32_t{3}));
  const auto local = k.local_array("struct", floats(), 2);
  const auto total = k.variable("return", Scalar::F32);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.store(local, k.constant_i32(0), k.constant(Scalar::F32, 0x40000000));
  k.var_set(total, k.load(local, k.constant_i32(0)));
  k.for_up(k.constant_i32(0), k.param(count), k.constant_i32(1), [&](ValueId j) {
    for (ir::MemoryId span : spans) {
      const ValueId root = k.op(Op::Sqrt, {k.load(span, j)});
      k.var_set(total, k.op(Op::Min, {k.op(Op::Add, {k.var_get(total), root}),
                                      k.constant(Scalar::F32, 0x42c80000)}));
    }
  });
  for (ir::MemoryId span : spans) k.store(span, i, k.var_get(total));
  check({.kernel = k.finish(), .shape = {}, .arguments = arguments, .options = {}});
}

TEST_P(Arguments, AKernelMayHaveNone) {
  Shapes k("nothing");
  check({.kernel = k.finish(), .shape = over(64), .arguments = {}, .options = {}});
}

// Tables of arguments (W38).

/// y_s[i] = x_s[i] * scale_s for slot s of the block, bounded by the slot's own count and length.
Case table_case(std::uint32_t slots, const std::function<ValueId(Shapes&)>& slot_of) {
  Shapes k("table");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), true, slots);
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::F32), false, slots);
  const auto scale = k.scalar_parameter("scale", Scalar::F32, slots);
  const auto narrow = k.scalar_parameter("narrow", Scalar::I8, slots);
  const ValueId slot = slot_of(k);
  const ValueId i = k.position(Op::ThreadIdx, 0);
  const ValueId inside = k.op(Op::Lt, {k.cast(Scalar::I64, i), k.length(y, slot)});
  k.if_else(inside, [&] {
    const ValueId scaled = k.op(Op::Mul, {k.load(x, i, 0, slot), k.param(scale, slot)});
    k.store(y, i, k.op(Op::Add, {scaled, k.cast(Scalar::F32, k.param(narrow, slot))}), 0, slot);
  });
  std::vector<Value> arguments;
  const auto each = [&](const std::function<Value(std::uint32_t)>& make) {
    for (std::uint32_t s = 0; s < slots; ++s) arguments.push_back(make(s));
  };
  std::vector<float> data(40);
  for (std::size_t n = 0; n < data.size(); ++n) data[n] = static_cast<float>(n);
  each([&](std::uint32_t s) { return view(data, s % 8, 32); });
  each([&](std::uint32_t s) { return zeros(s == 1 ? 0 : 32 - s % 5, 4); });
  each([&](std::uint32_t s) { return scalar(0.5f + static_cast<float>(s)); });
  each([&](std::uint32_t s) { return scalar(static_cast<std::int8_t>(-static_cast<int>(s))); });
  return {.kernel = k.finish(),
          .shape = {{slots, 1, 1}, {32, 1, 1}, 0},
          .arguments = arguments,
          .options = {}};
}

TEST_P(Arguments, TablesAreIndexedByTheBlock) {
  for (std::uint32_t slots : {2u, 3u, 8u}) {
    check(table_case(slots, [](Shapes& k) { return k.position(Op::BlockIdx, 0); }));
  }
}

TEST_P(Arguments, TablesAreIndexedByComputedValues) {
  check(table_case(5, [](Shapes& k) {
    return k.op(Op::Sub, {k.constant_i32(4), k.position(Op::BlockIdx, 0)});
  }));
}

TEST_P(Arguments, TablesAreIndexedByConstants) {
  Case what = table_case(4, [](Shapes& k) { return k.constant_i32(2); });
  what.shape.grid = {1, 1, 1};
  check(what);
}

TEST_P(Arguments, TablesAreIndexedByLoopCounters) {
  Shapes k("all_slots");
  const auto x = k.span_parameter("x", floats(), true, 3);
  const auto weight = k.scalar_parameter("weight", Scalar::F32, 3);
  const auto y = k.span_parameter("y", floats(), false);
  const auto sum = k.variable("sum", Scalar::F32);
  const ValueId i = k.position(Op::GlobalIdx, 0);
  k.var_set(sum, k.constant(Scalar::F32, 0));
  k.for_up(k.constant_i32(0), k.constant_i32(3), k.constant_i32(1), [&](ValueId slot) {
    const ValueId term = k.op(Op::Mul, {k.load(x, i, 0, slot), k.param(weight, slot)});
    k.var_set(sum, k.op(Op::Add, {k.var_get(sum), term}));
  });
  k.store(y, i, k.var_get(sum));
  check({.kernel = k.finish(),
         .shape = over(64),
         .arguments = {span(ramp(64)), span(ramp(64, 100)), span(ramp(64, 7)), scalar(0.5f),
                       scalar(0.25f), scalar(3.0f), zeros(64, 4)},
         .options = {}});
}

TEST_P(Arguments, TablesServeAtomics) {
  Shapes k("counts");
  const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::I32), false, 4);
  const ValueId slot = k.op(Op::And, {k.position(Op::BlockIdx, 0), k.constant_i32(3)});
  ir::Node add = test::make_node(Op::AtomicAdd, Scalar::I32,
                                 {k.constant_i32(0), k.position(Op::ThreadIdx, 0), slot});
  add.memory = y;
  add.field = 0;
  k.append(add);
  check({.kernel = k.finish(),
         .shape = {{9, 1, 1}, {32, 1, 1}, 0},
         .arguments = {zeros(1, 4), zeros(1, 4), zeros(1, 4), zeros(1, 4)},
         .options = {}});
}

/// x[i] = x[i] * scale + length of x, of one block's slot.
ir::Kernel scaled_through_a_table(std::uint32_t slots) {
  Shapes k("full");
  const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false, slots);
  const auto scale = k.scalar_parameter("scale", Scalar::F32, slots);
  const ValueId slot = k.position(Op::BlockIdx, 0);
  const ValueId i = k.position(Op::ThreadIdx, 0);
  const ValueId product = k.op(Op::Mul, {k.load(x, i, 0, slot), k.param(scale, slot)});
  const ValueId length = k.cast(Scalar::F32, k.length(x, slot));
  k.store(x, i, k.op(Op::Add, {product, length}), 0, slot);
  return k.finish();
}

constexpr std::uint32_t kEach = 32;

/// The largest table of those that fit, over one buffer of whole numbers.
Case full_table(const std::function<bool(std::uint32_t slots)>& fits) {
  std::uint32_t slots = 1;
  while (fits(slots + 64)) slots += 64;
  while (fits(slots + 1)) ++slots;
  std::vector<float> numbers(slots * kEach);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  std::vector<Value> arguments{view(numbers, 0, kEach)};
  for (std::uint32_t s = 1; s < slots; ++s) {
    arguments.push_back(view_of(0, std::uint64_t{s} * kEach * sizeof(float), kEach));
  }
  for (std::uint32_t s = 0; s < slots; ++s) {
    arguments.push_back(scalar(static_cast<float>(s % 19) - 9.0f));
  }
  return {.kernel = scaled_through_a_table(slots),
          .shape = {{slots, 1, 1}, {kEach, 1, 1}, 0},
          .arguments = arguments,
          .options = {}};
}

TEST_P(Arguments, W31_TablesMayFillTheParametersThatTheDeviceTakes) {
  const std::uint64_t limit = driver().properties().parameter_bytes;
  if (limit < 4096 || limit > 40'000) GTEST_SKIP() << "the device states no such limit";
  check(full_table([&](std::uint32_t slots) {
    return driver().parameter_cost(scaled_through_a_table(slots)).bytes <= limit;
  }));
}

TEST_P(Arguments, W36_TablesMayFillTheArgumentSlotsThatTheDeviceHas) {
  const std::uint32_t limit = driver().properties().argument_slots;
  if (limit == 0) GTEST_SKIP() << "the device states no such limit";
  const Case full = full_table([&](std::uint32_t slots) {
    return driver().parameter_cost(scaled_through_a_table(slots)).slots <= limit;
  });
  EXPECT_GT(full.kernel.parameters[0].slots, 1U);
  check(full);
}

}  // namespace
}  // namespace salvo::conformance
