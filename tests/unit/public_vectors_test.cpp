// Vectors, views and pinned memory on the host: const, and operators on elements.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "salvo/salvo.hpp"

namespace salvo::tests {

struct Point {
  float x, y;
};

}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::Point>
    : salvo::Fields<&salvo::tests::Point::x, &salvo::tests::Point::y> {};

namespace salvo::tests {
namespace {

using Floats = Vector<float>;
using Points = SoaVector<Point>;

template <class V>
concept can_be_written = requires(V vector) {
  vector.write();
};
template <class V>
concept can_be_filled = requires(V vector) {
  vector[0] = 1.0f;
};

// What a const vector gives is for reading; T says it of views, as it does of std::span.
static_assert(std::is_convertible_v<Floats&, VectorView<float>>);
static_assert(std::is_convertible_v<Floats&, VectorView<const float>>);
static_assert(std::is_convertible_v<const Floats&, VectorView<const float>>);
static_assert(!std::is_convertible_v<const Floats&, VectorView<float>>);
static_assert(!std::is_constructible_v<VectorView<float>, const Floats&>);
static_assert(std::is_convertible_v<VectorView<float>, VectorView<const float>>);
static_assert(!std::is_convertible_v<VectorView<const float>, VectorView<float>>);
static_assert(!std::is_constructible_v<VectorView<float>, VectorView<const float>>);
static_assert(std::is_same_v<decltype(std::declval<Floats&>().view(0, 1)), VectorView<float>>);
static_assert(
    std::is_same_v<decltype(std::declval<const Floats&>().view(0, 1)), VectorView<const float>>);
static_assert(can_be_written<Floats&> && !can_be_written<const Floats&>);
static_assert(can_be_written<const VectorView<float>> && !can_be_written<VectorView<const float>>);
static_assert(can_be_filled<Floats&> && !can_be_filled<const Floats&>);
static_assert(can_be_filled<VectorView<float>> && !can_be_filled<VectorView<const float>>);
static_assert(
    std::is_same_v<decltype(std::declval<Points&>().column(&Point::x)), VectorView<float>>);
static_assert(std::is_same_v<decltype(std::declval<const Points&>().column(&Point::x)),
                             VectorView<const float>>);
static_assert(std::is_same_v<decltype(std::declval<const Pinned<float>&>().data()), const float*>);
static_assert(std::is_same_v<decltype(std::declval<const Pinned<float>&>()[0]), const float&>);
static_assert(std::is_same_v<decltype(std::declval<Pinned<float>&>()[0]), float&>);

std::vector<float> read(const VectorView<const float>& vector) {
  const auto all = vector.read();
  return {all.begin(), all.end()};
}

TEST(ConstVectors, AreArgumentsForSpansOfConst) {
  const auto twice = kernel("twice", [](Span<const float> x, Span<float> y) {
    for_each_thread(y, [&](Int i) { y[i] = x[i] * 2.0f; });
  });
  const Floats whole{1.0f, 2.0f, 3.0f, 4.0f};
  for (const Device& device : Device::all()) {
    Floats y(4), z(std::size_t{2});
    device.launch(twice, over(4), whole, y);
    const VectorView<const float> part = whole.view(1, 2);
    device.launch(twice, over(2), part, z);
    EXPECT_EQ(read(y), (std::vector<float>{2, 4, 6, 8})) << device.id();
    EXPECT_EQ(read(z), (std::vector<float>{4, 6})) << device.id();
    const VectorView<float> first = y.view(0, 2);  // a const view of elements that are not
    device.launch(twice, over(2), part, first);
    EXPECT_EQ(read(y), (std::vector<float>{4, 6, 6, 8})) << device.id();
    EXPECT_EQ(read(part), (std::vector<float>{2, 3})) << device.id();
  }
}

TEST(ConstVectors, OfRecordsInColumnsAreArgumentsForSpansOfConst) {
  const auto sums = kernel("sums", [](Span<const Point> points, Span<float> y) {
    for_each_thread(y, [&](Int i) { y[i] = points[i][&Point::x] + points[i][&Point::y]; });
  });
  const std::vector<Point> values{{1.0f, 2.0f}, {3.0f, 4.0f}};
  const Points points{std::span<const Point>(values)};
  Floats y(std::size_t{2});
  Device::get("Interpreter:0").launch(sums, over(2), points, y);
  EXPECT_EQ(read(y), (std::vector<float>{3, 7}));
  EXPECT_EQ(points.column(&Point::y)[1], 4.0f);
}

TEST(ConstVectors, AreReadByCopies) {
  const Floats from{1.0f, 2.0f, 3.0f};
  Floats to(3);
  copy(from, 1, to, 0, 2);
  EXPECT_EQ(read(to), (std::vector<float>{2, 3, 0}));
  copy(from.view(0, 1), 0, to.view(2, 1), 0, 1);
  EXPECT_EQ(read(to), (std::vector<float>{2, 3, 1}));
  std::vector<float> host(2);
  copy_to_host(from, 1, std::span<float>(host));
  EXPECT_EQ(host, (std::vector<float>{2, 3}));
  fill(Device::get("Interpreter:0"), to.view(1, 2), 9.0f);
  EXPECT_EQ(read(to), (std::vector<float>{2, 9, 9}));
  EXPECT_EQ(read(from.clone()), read(from));
}

TEST(Views, ShareTheirVectorAndCheckTheirRange) {
  Floats vector{1.0f, 2.0f, 3.0f, 4.0f};
  VectorView<float> whole = vector, part = whole.view(1, 3), end = part.view(2, 1);
  end[0] = 5.0f;
  part.write()[0] = 6.0f;
  EXPECT_EQ(read(vector), (std::vector<float>{1, 6, 3, 5}));
  const VectorView<const float> seen = std::as_const(vector).view(1, 2);
  EXPECT_EQ(seen[0], 6.0f);
  EXPECT_THROW(seen[2], Error);
  EXPECT_THROW(part[3], Error);
  EXPECT_THROW(part.view(2, 2), Error);
  EXPECT_THROW(std::as_const(vector).view(4, 1), Error);
}

TEST(Elements, HaveTheOperatorsOfTheirType) {
  Vector<std::int32_t> x{23};
  const auto after = [&](const auto& change) {
    x[0] = 23;
    change(x[0]);
    return x[0].get();
  };
  EXPECT_EQ(after([](auto e) { e += 3; }), 23 + 3);
  EXPECT_EQ(after([](auto e) { e -= 3; }), 23 - 3);
  EXPECT_EQ(after([](auto e) { e *= 3; }), 23 * 3);
  EXPECT_EQ(after([](auto e) { e /= 3; }), 23 / 3);
  EXPECT_EQ(after([](auto e) { e %= 3; }), 23 % 3);
  EXPECT_EQ(after([](auto e) { e &= 3; }), 23 & 3);
  EXPECT_EQ(after([](auto e) { e |= 3; }), 23 | 3);
  EXPECT_EQ(after([](auto e) { e ^= 3; }), 23 ^ 3);
  EXPECT_EQ(after([](auto e) { e <<= 3; }), 23 << 3);
  EXPECT_EQ(after([](auto e) { e >>= 3; }), 23 >> 3);
  EXPECT_EQ(after([](auto e) { EXPECT_EQ((++e).get(), 24); }), 24);
  EXPECT_EQ(after([](auto e) { EXPECT_EQ((--e).get(), 22); }), 22);
  EXPECT_EQ(after([](auto e) { EXPECT_EQ(e++, 23); }), 24);
  EXPECT_EQ(after([](auto e) { EXPECT_EQ(e--, 23); }), 22);

  Floats f{2.5f};
  f[0] -= 0.5f;
  f[0] *= 3.0f;
  f[0] /= 4.0f;
  EXPECT_EQ(f[0], 1.5f);
  Vector<half> h{half(2.0f)};
  h[0] *= half(1.5f);
  EXPECT_EQ(h[0].get(), half(3.0f));
}

}  // namespace
}  // namespace salvo::tests
