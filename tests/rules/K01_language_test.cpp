// K1-K10: what kernels written in the language compute, on every device there is.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "rules/window_fixture.hpp"

namespace salvo::tests {

struct Nested {
  float weight;
  std::int16_t rank;
};
struct Padded {
  std::uint8_t flag;
  double value;
  Nested inner;
};

}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::Nested>
    : salvo::Fields<&salvo::tests::Nested::weight, &salvo::tests::Nested::rank> {};
template <>
struct salvo::Record<salvo::tests::Padded>
    : salvo::Fields<&salvo::tests::Padded::flag, &salvo::tests::Padded::value,
                    &salvo::tests::Padded::inner> {};

namespace salvo::tests {
namespace {

/// Devices that the kernel's needs leave; there is always the interpreter.
template <class Needs>
std::vector<Device> devices_with(Needs needs) {
  std::vector<Device> able;
  for (const Device& device : Device::all()) {
    if (needs(device.properties())) able.push_back(device);
  }
  return able;
}
std::vector<Device> devices() {
  return devices_with([](const DeviceProperties&) { return true; });
}

template <class T>
std::vector<T> read(const VectorView<const T>& vector) {
  const auto all = vector.read();
  return {all.begin(), all.end()};
}

TEST(K01Types, K1_NarrowElementsComputeIn32BitsAndAreRoundedOrCutWhenStored) {
  const auto narrow = kernel("narrow", [](Span<std::uint8_t> bytes, Span<std::int16_t> words,
                                          Span<half> halves, Span<bfloat16> brains) {
    bytes[0] = bytes[0] + 200;  // 100 + 200 = 300, cut to 44
    words[0] = words[0] * 2;    // 20000 * 2 = 40000, cut to -25536
    halves[0] = halves[0] + 1.0f / 4096.0f;
    brains[0] = brains[0] + 1.0f / 256.0f;
  });
  for (const Device& device :
       devices_with([](const DeviceProperties& d) { return d.fp16_storage; })) {
    Vector<std::uint8_t> bytes{std::uint8_t{100}};
    Vector<std::int16_t> words{std::int16_t{20000}};
    Vector<half> halves{half(1.0f)};
    Vector<bfloat16> brains{bfloat16(1.0f)};
    device.launch(narrow, grid(1), bytes, words, halves, brains);
    EXPECT_EQ(bytes[0], 44) << device.id();
    EXPECT_EQ(words[0], -25536) << device.id();
    EXPECT_EQ(float(halves[0].get()), 1.0f) << device.id();  // half an ulp: to even
    EXPECT_EQ(float(brains[0].get()), 1.0f) << device.id();
  }
}

TEST(K01Types, K1_SixteenBitFloatsRoundOnTheHostAsInAKernel) {
  const auto store = kernel("store", [](Span<const float> from, Span<half> h, Span<bfloat16> b) {
    const auto i = global_thread_id();
    h[i] = from[i];
    b[i] = from[i];
  });
  std::vector<float> numbers{0.0f,     -0.0f,    65504.0f,   65519.0f,     65520.0f,     1e30f,
                             0x1p-24f, 0x1p-25f, 0x1.8p-25f, 0x1.ffcp-15f, 0x1.fffp-15f, INFINITY};
  for (std::uint32_t i = 0; i < 2036; ++i) {
    const auto number = std::bit_cast<float>(i * 2654435761U);
    numbers.push_back(std::isnan(number) ? 1.0f : number);
  }
  const auto count = static_cast<int>(numbers.size());
  const Vector<float> from{std::span<const float>(numbers)};
  Vector<half> h(numbers.size());
  Vector<bfloat16> b(numbers.size());
  Device::get("Interpreter:0").launch(store, grid(count / 256).block(256), from, h, b);
  const auto halves = h.read();
  const auto brains = b.read();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(half(numbers[i]).bits, halves[i].bits) << numbers[i];
    ASSERT_EQ(bfloat16(numbers[i]).bits, brains[i].bits) << numbers[i];
    if (!std::isnan(float(halves[i]))) {
      ASSERT_EQ(half(float(halves[i])).bits, halves[i].bits);
    }
    ASSERT_EQ(bfloat16(float(brains[i])).bits, brains[i].bits);
  }
  EXPECT_EQ(float(half(0x1p-24f)), 0x1p-24f);
  EXPECT_TRUE(std::isnan(float(half(std::nanf("")))));
}

TEST(K01Types, K1_RecordsHaveTheHostsLayout) {
  const auto touch = kernel("touch", [](Span<Padded> all) {
    all[1][&Padded::value] = all[0][&Padded::value] * 2.0;
    all[1][&Padded::inner][&Nested::rank] = all[0][&Padded::inner][&Nested::rank] - 1;
    all[1][&Padded::flag] = 7;
  });
  for (const Device& device : devices_with([](const DeviceProperties& d) { return d.fp64; })) {
    Vector<Padded> all(2);
    all[0] = Padded{1, 2.5, {3.5f, -4}};
    device.launch(touch, grid(1), all);
    const Padded made = all[1];
    EXPECT_EQ(made.flag, 7) << device.id();
    EXPECT_EQ(made.value, 5.0) << device.id();
    EXPECT_EQ(made.inner.rank, -5) << device.id();
    EXPECT_EQ(made.inner.weight, 0.0f) << device.id();
  }
}

TEST(K02Parameters, K2_LengthIsThatOfTheViewAndCapturesAreFixedWhenTraced) {
  float captured = 3.0f;
  float followed = 1.0f;
  const auto fill = kernel("fill", [captured, &followed](Span<float> v, Int more) {
    v[0] = captured;
    v[1] = live(followed);
    v[2] = cast<float>(v.size() + more);
  });
  captured = 100.0f;
  for (const Device& device : devices()) {
    Vector<float> v(10);
    followed = 5.0f;
    device.launch(fill, grid(1), v.view(4, 6), 1000);
    EXPECT_EQ(v[4], 3.0f) << device.id();
    EXPECT_EQ(v[5], 5.0f) << device.id();
    EXPECT_EQ(v[6], 1006.0f) << device.id();
    followed = 6.0f;
    device.launch(fill, grid(1), v.view(4, 6), 1000);
    EXPECT_EQ(v[5], 6.0f) << device.id();
  }
}

TEST(K02Parameters, K2_AccessSetsAreInferred) {
  // Reading back what a launch only reads costs nothing.
  FakeRuntime fake;
  Vector<float> x(100), y(100);
  fake.device().launch(scaled("twice", 2.0f), over(100), x, y, 100);
  EXPECT_EQ(x[0], 0.0f);
  EXPECT_EQ(fake.control->count(Driver::launch), 0U);  // still held
  EXPECT_EQ(y[0], 0.0f);
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
}

TEST(K03Values, K3_AValueIsWhatWasReadWhateverIsStoredLater) {
  const auto swap = kernel("swap", [](Span<std::int32_t> v) {
    auto first = v[0];
    const Int kept = first;
    v[0] = v[1];
    v[1] = kept;
    Var<std::int32_t> variable(kept);
    Var<std::int32_t> copy(variable);
    variable = variable + 1;
    v[2] = copy;
    v[3] = variable;
  });
  for (const Device& device : devices()) {
    Vector<std::int32_t> v{1, 2, 0, 0};
    device.launch(swap, grid(1), v);
    EXPECT_EQ(read(v), std::vector<std::int32_t>({2, 1, 1, 2})) << device.id();
  }
}

TEST(K03Values, K3_IntegersWrapShiftModuloAndDivideTowardZeroEverywhere) {
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
  const auto edges = kernel("edges", [](Span<const std::int32_t> a, Span<std::int32_t> r) {
    const Int least = a[0], minus = a[1], zero = a[2], seven = a[3];
    r[0] = least - 1;
    r[1] = least / minus;
    r[2] = seven / zero;
    r[3] = seven % zero;
    r[4] = (-seven) / 2;
    r[5] = (-seven) % 2;
    r[6] = seven << 33;
    r[7] = least >> 31;
    r[8] = shift_right_logical(least, 31);
  });
  for (const Device& device : devices()) {
    const Vector<std::int32_t> a{kLeast, -1, 0, 7};
    Vector<std::int32_t> r(std::size_t{9});
    device.launch(edges, grid(1), a, r);
    EXPECT_EQ(read(r), std::vector<std::int32_t>({std::numeric_limits<std::int32_t>::max(), kLeast,
                                                  0, 7, -3, -1, 14, -1, 1}))
        << device.id();
  }
}

TEST(K03Values, K3_NanAndMinusZeroAreIeee) {
  const auto ieee = kernel("ieee", [](Span<const float> a, Span<std::int32_t> r) {
    const Float nan = a[0], minus_zero = a[1];
    const auto flag = [&](int at, Bool holds) { r[at] = select(holds, Int(1), Int(0)); };
    flag(0, nan == nan);
    flag(1, nan != nan);
    flag(2, nan < 1.0f);
    flag(3, minus_zero == 0.0f);
    flag(4, 1.0f / minus_zero < 0.0f);
    flag(5, isnan(nan));
    flag(6, isinf(1.0f / minus_zero));
  });
  for (const Device& device : devices()) {
    const Vector<float> a{std::nanf(""), -0.0f};
    Vector<std::int32_t> r(std::size_t{7});
    device.launch(ieee, grid(1), a, r);
    EXPECT_EQ(read(r), std::vector<std::int32_t>({0, 1, 0, 1, 1, 1, 1})) << device.id();
  }
}

TEST(K04Control, K4_LoopsBranchesSwitchesAndReturns) {
  const auto control = kernel("control", [](Span<std::int32_t> r, Int n) {
    const auto i = global_thread_id();
    if_(i >= n, [&] { return_(); });
    Var<std::int32_t> sum(Int(0));
    for_(range(0, 10), [&](Int k) {
      if_(k == 3, [&] { continue_(); });
      if_(k == 8, [&] { break_(); });
      sum = sum + k;
    });
    for_(down(10, 0, 5), [&](Int k) { sum = sum + k * 100; });
    Var<std::int32_t> rounds(Int(0));
    while_([&] { return rounds < i; }, [&] { rounds = rounds + 1; });
    switch_(i % 3, {case_(0, [&] { sum = sum + 10000; }), case_(1, [&] { sum = sum + 20000; })},
            [&] { sum = sum + 30000; });
    r[i] = sum + rounds * 100000;
  });
  std::vector<std::int32_t> expected;
  for (int i = 0; i < 5; ++i) {
    const int sum = (1 + 2 + 4 + 5 + 6 + 7) + 1500 + (i % 3 + 1) * 10000 + i * 100000;
    expected.push_back(sum);
  }
  expected.push_back(0);  // beyond n
  for (const Device& device : devices()) {
    Vector<std::int32_t> r(std::size_t{6});
    device.launch(control, over(6), r, 5);
    EXPECT_EQ(read(r), expected) << device.id();
  }
}

/// A kernel of so many nested branches, which it makes by recursion.
void nest(int depth, const Span<float>& x) {
  if (depth == 0) {
    x[0] = 1.0f;
    return;
  }
  if_(x[0] < 1.0f, [&] { nest(depth - 1, x); });
}

TEST(K04Control, K4_NestingIsAsDeepAsIsSaidAndDeeperIsRefused) {
  constexpr int kDeepest = 255;  // the body of the kernel is a block too
  const auto deep = kernel("deep", [](Span<float> x) { nest(kDeepest, x); });
  EXPECT_NE(deep.source("OpenCL").find("= 1.0f;"), std::string::npos);
  try {
    kernel("deeper", [](Span<float> x) { nest(2 * kDeepest, x); });
    ADD_FAILURE() << "it was traced";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_kernel);
    EXPECT_EQ(error.message(), "branches and loops nest deeper than 256");
    EXPECT_TRUE(error.kernel_location().known());
  }
}

TEST(K05Helpers, K5_HelpersAreFunctionsAndLocalArraysAreAThreadsOwn) {
  const auto square = [](const auto& value) { return value * value; };
  const auto helped = kernel("helped", [square](Span<float> r) {
    const auto i = thread_idx_x();
    LocalArray<float> local(4);
    for_(range(0, 4), [&](Int k) { local[k] = square(cast<float>(k + i)); });
    Var<float> sum(Float(0.0f));
    for_(range(0, 4), [&](Int k) { sum = sum + local[k]; });
    r[i] = sum;
  });
  for (const Device& device : devices()) {
    Vector<float> r(std::size_t{3});
    device.launch(helped, grid(1).block(3), r);
    EXPECT_EQ(read(r), std::vector<float>({14.0f, 30.0f, 54.0f})) << device.id();
  }
}

TEST(K06Block, K6_PositionsSharedMemoryBarriersAndSupersteps) {
  const auto mirror = kernel("mirror", [](Span<std::int32_t> r) {
    Shared<std::int32_t> tile(8);
    const auto t = thread_idx_x();
    superstep("load", [&] { tile[t] = global_idx_x() * 10 + block_idx_y(); });
    r[block_idx_y() * (grid_dim_x() * block_dim_x()) + global_idx_x()] =
        tile[block_dim_x() - 1 - t];
  });
  std::vector<std::int32_t> expected;
  for (int y = 0; y < 2; ++y) {
    for (int b = 0; b < 3; ++b) {
      for (int t = 0; t < 8; ++t) expected.push_back((b * 8 + 7 - t) * 10 + y);
    }
  }
  for (const Device& device : devices()) {
    Vector<std::int32_t> r(std::size_t{48});
    device.launch(mirror, grid(3, 2).block(8), r);
    EXPECT_EQ(read(r), expected) << device.id();
  }
}

TEST(K06Block, K6_DynamicSharedMemoryTakesItsSizeFromTheLaunch) {
  const auto reverse = kernel("reverse", [](Span<float> v) {
    DynamicShared<float> all;
    const auto t = thread_idx_x();
    all[t] = v[t];
    barrier();
    v[t] = all[block_dim_x() - 1 - t];
  });
  for (const Device& device :
       devices_with([](const DeviceProperties& d) { return d.dynamic_shared; })) {
    std::vector<float> numbers(16);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    Vector<float> v{std::span<const float>(numbers)};
    device.launch(reverse, grid(1).block(16).shared(16 * sizeof(float)), v);
    std::vector<float> back(numbers.rbegin(), numbers.rend());
    EXPECT_EQ(read(v), back) << device.id();
  }
}

TEST(K08Atomics, K8_EachGivesTheOldValueAndNoUpdateIsLost) {
  const auto count = kernel("count", [](Span<std::int32_t> counters, Span<std::int32_t> old) {
    Shared<std::uint32_t> shared(1);
    const auto t = thread_idx_x();
    if_(t == 0, [&] { shared[0] = 0; });
    barrier();
    old[global_thread_id()] = atomic_add(counters[0], 1);
    atomic_max(counters[1], t);
    atomic_xor(counters[2], Int(1) << (t % 31));
    atomic_add(shared[0], 2);
    barrier();
    if_(t == 0, [&] {
      atomic_add(counters[3], cast<std::int32_t>(UInt(shared[0])));
      old[256 + block_idx_x()] = atomic_compare_exchange(counters[4], 0, 9);
    });
  });
  for (const Device& device : devices()) {
    Vector<std::int32_t> counters(std::size_t{5}), old(std::size_t{260});
    device.launch(count, grid(4).block(64), counters, old);
    std::vector<std::int32_t> seen = read(old);
    EXPECT_EQ(counters[0], 256) << device.id();
    EXPECT_EQ(counters[1], 63) << device.id();
    EXPECT_EQ(counters[3], 4 * 128) << device.id();
    EXPECT_EQ(counters[4], 9) << device.id();
    EXPECT_EQ(counters[2], 0) << device.id() << ": four blocks flip each bit evenly";
    EXPECT_EQ(std::count(seen.end() - 4, seen.end(), 0), 1) << device.id() << ": one found 0";
    seen.resize(256);
    std::sort(seen.begin(), seen.end());
    for (int i = 0; i < 256; ++i) ASSERT_EQ(seen[static_cast<std::size_t>(i)], i) << device.id();
  }
}

TEST(K09Math, K9_ExactFunctionsAreExactAndTheOthersWithinTheirBound) {
  const auto math = kernel("math", [](Span<const float> a, Span<float> r, Int n) {
    const auto i = global_thread_id();
    if_(i < n, [&] {
      const Float v = a[i];
      r[i * 8] = fabs(v);
      r[i * 8 + 1] = floor(v);
      r[i * 8 + 2] = round(v);
      r[i * 8 + 3] = fma(v, v, -1.0f);
      r[i * 8 + 4] = copysign(1.0f, v);
      r[i * 8 + 5] = sin(v);
      r[i * 8 + 6] = exp(v);
      r[i * 8 + 7] = hypot(v, Float(3.0f));
    });
  });
  const std::vector<float> inputs{-2.5f, -0.75f, -0.0f, 0.5f, 1.3f, 2.5f, 10.0f};
  const auto count = static_cast<int>(inputs.size());
  for (const Device& device : devices()) {
    const Vector<float> a{std::span<const float>(inputs)};
    Vector<float> r(inputs.size() * 8);
    device.launch(math, over(count), a, r, count);
    const std::vector<float> got = read(r);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const float v = inputs[i];
      const auto at = [&](std::size_t k) { return got[i * 8 + k]; };
      const std::string where = device.id() + " at " + std::to_string(v);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(at(0)), std::bit_cast<std::uint32_t>(std::fabs(v)));
      EXPECT_EQ(at(1), std::floor(v)) << where;
      EXPECT_EQ(at(2), std::round(v)) << where;
      if (device.properties().fast_fma) {
        EXPECT_EQ(at(3), std::fma(v, v, -1.0f)) << where;
      }
      EXPECT_EQ(at(4), std::copysign(1.0f, v)) << where;
      EXPECT_NEAR(at(5), std::sin(v), 4e-7) << where;
      EXPECT_NEAR(at(6) / std::exp(v), 1.0, 4e-7) << where;
      EXPECT_NEAR(at(7) / std::hypot(v, 3.0f), 1.0, 4e-7) << where;
    }
  }
}

TEST(K09Math, K9_IntegerFunctions) {
  const auto bits = kernel("bits", [](Span<const std::uint32_t> a, Span<std::uint32_t> r) {
    const auto i = thread_idx_x();
    const UInt v = a[i];
    r[i] = clz(v) * 100u + popcount(v);
    r[i + 3] = max(min(v, 1000u), 10u);
  });
  for (const Device& device : devices()) {
    const Vector<std::uint32_t> a{0U, 1U, 0xff00U};
    Vector<std::uint32_t> r(std::size_t{6});
    device.launch(bits, grid(1).block(3), a, r);
    EXPECT_EQ(read(r), std::vector<std::uint32_t>({3200, 3101, 1608, 10, 10, 1000})) << device.id();
  }
}

TEST(K10Warps, K10_ReductionsVotesAndShuffles) {
  const auto warps = kernel("warps", [](Span<std::int32_t> r) {
    const auto t = thread_idx_x();
    const Int size = warp_size();
    const Int lane = lane_id();
    r[t * 4] = warp_add(Int(1)) - size;
    r[t * 4 + 1] = shuffle(lane, Int(0));
    r[t * 4 + 2] = select(any(lane == size - 1), Int(1), Int(0));
    r[t * 4 + 3] = select(all(lane < size), Int(1), Int(0));
  });
  for (const Device& device :
       devices_with([](const DeviceProperties& d) { return d.warp_operations; })) {
    const auto threads = static_cast<int>(device.properties().warp_size) * 2;
    Vector<std::int32_t> r(static_cast<std::size_t>(threads) * 4);
    device.launch(warps, grid(1).block(threads), r);
    const auto got = read(r);
    for (std::size_t t = 0; t < got.size(); t += 4) {
      ASSERT_EQ((std::vector<std::int32_t>{got[t], got[t + 1], got[t + 2], got[t + 3]}),
                (std::vector<std::int32_t>{0, 0, 1, 1}))
          << device.id() << " thread " << t / 4;
    }
  }
}

TEST(K10Warps, K10_ADeviceWithoutThemRefusesByName) {
  FakeRuntime fake{FakeOptions{.adjust = [](DeviceProperties& d) { d.warp_operations = false; }}};
  const auto sum = kernel("sum", [](Span<std::int32_t> r) { r[0] = warp_add(Int(1)); });
  Vector<std::int32_t> r{0};
  try {
    fake.device().launch(sum, grid(1), r);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.message(), "Fake lacks warp operations");
  }
}

TEST(K10Warps, K10_W57_TheLanesNumberAloneIsRefusedByWhateverLacksThemInItsApisWords) {
  const auto lanes = kernel("lanes", [](Span<std::int32_t> r) { r[0] = lane_id(); });
  const auto refusal = [&](const Device& device) {
    Vector<std::int32_t> r{0};
    try {
      device.launch(lanes, grid(1), r);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::unsupported);
      EXPECT_EQ(error.kernel(), "lanes");
      EXPECT_NE(error.launch_location().line, 0U);
      return error.message();
    }
    return std::string("accepted");
  };
  FakeRuntime fake{FakeOptions{.adjust = [](DeviceProperties& d) { d.warp_operations = false; }}};
  EXPECT_EQ(refusal(fake.device()), "Fake lacks warp operations");
  for (const Device& device : Device::all()) {
    if (device.properties().warp_operations) {
      EXPECT_EQ(refusal(device), "accepted") << device.id();
    } else if (device.backend() == "OpenCL") {
      EXPECT_EQ(refusal(device),
                device.properties().name +
                    " lacks warp operations (cl_khr_subgroups, _subgroup_ballot and "
                    "_subgroup_shuffle)");
    }
  }
}

}  // namespace
}  // namespace salvo::tests
