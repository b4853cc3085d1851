// P9: filling a vector is one ordinary launch, on every device.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device_state.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {

/// Elements of 3, 12 and 16 bytes.
struct Colour {
  std::uint8_t red, green, blue;
  friend bool operator==(const Colour&, const Colour&) = default;
};
struct Point {
  float x, y, z;
  friend bool operator==(const Point&, const Point&) = default;
};
struct Tagged {
  float value;
  std::int32_t tag;
  std::int64_t count;
  friend bool operator==(const Tagged&, const Tagged&) = default;
};

}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::Colour>
    : salvo::Fields<&salvo::tests::Colour::red, &salvo::tests::Colour::green,
                    &salvo::tests::Colour::blue> {};
template <>
struct salvo::Record<salvo::tests::Point>
    : salvo::Fields<&salvo::tests::Point::x, &salvo::tests::Point::y, &salvo::tests::Point::z> {};
template <>
struct salvo::Record<salvo::tests::Tagged>
    : salvo::Fields<&salvo::tests::Tagged::value, &salvo::tests::Tagged::tag,
                    &salvo::tests::Tagged::count> {};

namespace salvo::tests {
namespace {

std::vector<std::string> device_ids() {
  std::vector<std::string> ids;
  for (const Device& device : Device::all()) ids.push_back(device.id());
  return ids;
}

/// Parts of the names of functions that get host memory, wait, or fill by the driver's own means.
constexpr std::string_view kForbidden[] = {
    "MemAllocHost", "HostAlloc", "MapBuffer", "MapMemory",  "Synchronize", "clFinish",
    "WaitFor",      "WaitSem",   "WaitIdle",  "MemoryFill", "FillBuffer",  "WriteBuffer",
    "MemoryCopy",   "Memcpy",    "Memset",    "Resident"};

class P9Fill : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    window::current().set_enabled(true);
    window::current().set_cpu_devices(true);
    window::current().set_planner(Planner::always);
    window::current().set_limits(8, 8);
  }

  /// Fills the middle of `count` elements on the device, and compares with the same on the host.
  template <typename T>
  void check(std::size_t count, std::size_t first, std::size_t length, T before, T value) {
    Vector<T> filled(count, before);
    std::vector<T> expected(count, before);
    to_device(device_, filled);
    fill(device_, filled.view(first, length), value);
    std::fill_n(expected.begin() + static_cast<std::ptrdiff_t>(first), length, value);
    const auto got = filled.read();
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), got.begin(), got.end()))
        << sizeof(T) << " bytes an element, " << length << " from " << first;
  }
  template <typename T>
  void check_everywhere(T before, T value) {
    for (std::size_t first : {0, 1, 2, 3, 5, 8}) {
      for (std::size_t length : {1, 2, 3, 7, 64, 1001})
        check<T>(1024, first, length, before, value);
    }
  }

  Device device_ = Device::get(GetParam());
};

TEST_P(P9Fill, P9_AnyElementSizeAtAnyOffsetKeepsItsNeighbours) {
  check_everywhere<std::uint8_t>(0x11, 0xee);
  check_everywhere<std::int16_t>(1, -2);
  check_everywhere<std::int32_t>(1, -2);
  check_everywhere<float>(1.0f, -0.25f);
  check_everywhere<std::int64_t>(1, std::int64_t{-1} << 40);
  check_everywhere<half>(half(1.0f), half(-0.5f));
  check_everywhere<bfloat16>(bfloat16(1.0f), bfloat16(-0.5f));
  check_everywhere<Colour>({1, 2, 3}, {0xfd, 0xfe, 0xff});
  check_everywhere<Point>({1.0f, 2.0f, 3.0f}, {-1.0f, 0.5f, 1e30f});
  check_everywhere<Tagged>({1.0f, 2, 3}, {-1.0f, 7, std::int64_t{1} << 50});
}

TEST_P(P9Fill, P9_NoHostMemoryNoCopyAndNoWait) {
  Vector<float> x(1000, 1.0f);
  to_device(device_, x);
  fill(device_, x, 2.0f);
  device_.synchronize();
  const runtime::CallCounts before = device_.state()->driver().driver_calls();
  fill(device_, x, 3.0f);
  device_.state()->held_work()->issue(*device_.state());
  for (const auto& [function, count] :
       runtime::calls_between(before, device_.state()->driver().driver_calls())) {
    for (std::string_view part : kForbidden) {
      EXPECT_EQ(function.find(part), std::string_view::npos) << function;
    }
  }
  EXPECT_EQ(x[999], 3.0f);
}

TEST_P(P9Fill, P9_TenFillsAreOneOrTwoLaunches) {
  if (!window::current().defers(device_.backend())) GTEST_SKIP() << "launches are not held here";
  std::vector<Vector<float>> vectors;
  for (int i = 0; i < 10; ++i) vectors.emplace_back(100 + i);
  window::current().reset_stats();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    fill(device_, vectors[i], static_cast<float>(i));
  }
  EXPECT_EQ(window::current().stats().held, 10U);
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    EXPECT_EQ(vectors[i][0], static_cast<float>(i));
    EXPECT_EQ(vectors[i][99], static_cast<float>(i));
  }
  EXPECT_LE(window::current().stats().issued, 2U);
  EXPECT_EQ(window::current().stats().fallbacks, 0U);
}

TEST_P(P9Fill, P9_AFillTakesAnEpilogue) {
  if (!window::current().defers(device_.backend())) GTEST_SKIP() << "launches are not held here";
  const auto increment = kernel("increment", [](Span<float> x, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] += 1.0f; });
  });
  Vector<float> x(1000);
  window::current().reset_stats();
  fill(device_, x, 41.0f);
  device_.launch(increment, over(1000), x, 1000);
  EXPECT_EQ(x[999], 42.0f);
  EXPECT_EQ(window::current().stats().issued, 1U);
  EXPECT_EQ(window::current().stats().epilogue_merges, 1U);
}

TEST_P(P9Fill, P9_AnEmptyFillIsNothing) {
  Vector<float> x(8, 1.0f);
  Vector<float> none(std::size_t{0});
  window::current().reset_stats();
  fill(device_, x.view(3, 0), 2.0f);
  fill(device_, none, 2.0f);
  EXPECT_EQ(window::current().stats().submitted, 0U);
  EXPECT_EQ(x[3], 1.0f);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(P9Fill);
INSTANTIATE_TEST_SUITE_P(On, P9Fill, testing::ValuesIn(device_ids()), [](const auto& one) {
  std::string name = one.param;
  std::erase_if(name, [](char c) { return c == ':' || c == '/'; });
  return name;
});

}  // namespace
}  // namespace salvo::tests
