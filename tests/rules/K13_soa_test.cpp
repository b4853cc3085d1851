// K13, W7, W13: structures of arrays under kernels that were written for records.
// SPDX-License-Identifier: MIT
#include "rules/window_fixture.hpp"

namespace salvo::tests {

struct SoaPoint {
  float x, y;
};
struct SoaBody {
  SoaPoint at;
  std::uint8_t kind;
  double mass;
  friend bool operator==(const SoaBody& a, const SoaBody& b) {
    return a.at.x == b.at.x && a.at.y == b.at.y && a.kind == b.kind && a.mass == b.mass;
  }
};

}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::SoaPoint>
    : salvo::Fields<&salvo::tests::SoaPoint::x, &salvo::tests::SoaPoint::y> {};
template <>
struct salvo::Record<salvo::tests::SoaBody>
    : salvo::Fields<&salvo::tests::SoaBody::at, &salvo::tests::SoaBody::kind,
                    &salvo::tests::SoaBody::mass> {};

namespace salvo::tests {
namespace {

/// Reads and writes leaves, a nested record whole, and the length.
Kernel<Span<SoaBody>, Float, Int> moved() {
  return kernel("moved", [](Span<SoaBody> bodies, Float by, Int n) {
    const auto i = global_thread_id();
    if_(i < n, [&] {
      const Value<SoaPoint> at = bodies[i][&SoaBody::at];
      bodies[i][&SoaBody::at][&SoaPoint::x] = at[&SoaPoint::x] + by;
      bodies[i][&SoaBody::at][&SoaPoint::y] = at[&SoaPoint::x];
      bodies[i][&SoaBody::kind] = bodies[i][&SoaBody::kind] + 250;
      bodies[i][&SoaBody::mass] = bodies[i][&SoaBody::mass] * cast<double>(bodies.size());
    });
  });
}

std::vector<SoaBody> some_bodies(int count) {
  std::vector<SoaBody> bodies;
  for (int i = 0; i < count; ++i) {
    const auto f = static_cast<float>(i);
    bodies.push_back({{f, -f}, static_cast<std::uint8_t>(i), i / 3.0});
  }
  return bodies;
}

class K13Soa : public ::testing::Test {
 protected:
  static constexpr int kCount = 300;
  FakeRuntime fake;
  Device device = fake.device();
};

TEST_F(K13Soa, K13_AKernelWrittenForRecordsGivesTheSameBitsOnColumns) {
  const std::vector<SoaBody> bodies = some_bodies(kCount);
  Vector<SoaBody> records{std::span<const SoaBody>(bodies)};
  SoaVector<SoaBody> columns{std::span<const SoaBody>(bodies)};
  const auto move = moved();
  device.launch(move, over(kCount), records, 1.5f, kCount);
  device.launch(move, over(kCount), columns, 1.5f, kCount);
  const auto read = records.read();
  EXPECT_EQ(columns.to_vector(), std::vector<SoaBody>(read.begin(), read.end()));
  EXPECT_EQ(columns[7].at.x, 8.5f);
  EXPECT_EQ(columns[7].kind, 1);  // 257 rounded to a byte
}

TEST_F(K13Soa, K13_EachLeafLiesInAnArrayOfItsOwn) {
  SoaVector<SoaBody> bodies{std::span<const SoaBody>(some_bodies(kCount))};
  const VectorView<float> y = bodies.column(&SoaBody::at, &SoaPoint::y);
  EXPECT_EQ(y.size(), static_cast<std::size_t>(kCount));
  EXPECT_EQ(y[3], -3.0f);
  EXPECT_EQ(bodies.column(&SoaBody::kind)[4], 4);
  // Only what the kernel touches moves: one column up, one back.
  const auto heavier =
      kernel("heavier", [](Span<SoaBody> all) { all[global_thread_id()][&SoaBody::mass] += 1.0; });
  device.launch(heavier, grid(1).block(kCount), bodies);
  EXPECT_EQ(bodies.column(&SoaBody::mass)[6], 3.0);
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
  bodies.set(2, {{9.0f, 8.0f}, 7, 6.0});
  EXPECT_EQ(y[2], 8.0f);
}

TEST_F(K13Soa, W7_SuchALaunchIsNotHeldAndIssuesWhatIs) {
  SoaVector<SoaBody> bodies{std::span<const SoaBody>(some_bodies(kCount))};
  const Floats twice = scaled("twice", 2.0f);
  Vector<float> x(kCount), y(kCount);
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().keep_decisions(4);
  device.launch(moved(), over(kCount), bodies, 1.0f, kCount);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"twice", "moved"}));
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(fake.window().stats().refusals[Reason::structure_of_arrays], 1U);
  ASSERT_EQ(fake.window().decisions().size(), 1U);
  EXPECT_EQ(fake.window().decisions()[0].reason, Reason::structure_of_arrays);
}

TEST_F(K13Soa, W13_ColumnsAliasTheirStructure) {
  SoaVector<SoaBody> bodies{std::span<const SoaBody>(some_bodies(kCount))};
  Vector<float> y(kCount);
  // Held launches on a column are ordered before and after launches on the whole.
  device.launch(incremented(), over(kCount), bodies.column(&SoaBody::at, &SoaPoint::x), kCount);
  EXPECT_EQ(fake.window().stats().held, 1U);
  device.launch(moved(), over(kCount), bodies, 10.0f, kCount);
  device.launch(scaled("twice", 2.0f), over(kCount), bodies.column(&SoaBody::at, &SoaPoint::x), y,
                kCount);
  EXPECT_EQ(y[5], 32.0f);
  EXPECT_EQ(bodies[5].at.y, 6.0f);
}

TEST_F(K13Soa, K13_ShapesThatAreMixedWithVectorsAndScalars) {
  const auto gather = kernel(
      "gather", [](Span<float> to, Span<const SoaPoint> from, Span<const std::int32_t> at, Int n) {
        const auto i = global_thread_id();
        if_(i < n, [&] { to[i] = from[at[i]][&SoaPoint::y]; });
      });
  SoaVector<SoaPoint> points(4);
  for (std::size_t i = 0; i < 4; ++i) points.set(i, {0.0f, static_cast<float>(i) * 10.0f});
  Vector<float> to(3);
  const Vector<std::int32_t> at{3, 0, 2};
  device.launch(gather, over(3), to, points, at, 3);
  EXPECT_EQ(values(to), std::vector<float>({30.0f, 0.0f, 20.0f}));
  const Stream stream(device);
  points.set(3, {0.0f, 5.0f});
  stream.launch(gather, over(3), to, points, at, 3);
  EXPECT_EQ(to[0], 5.0f);
}

TEST_F(K13Soa, K13_TheKernelsFormForColumnsIsMadeOnce) {
  SoaVector<SoaBody> bodies{std::span<const SoaBody>(some_bodies(kCount))};
  const auto move = moved();
  device.launch(move, over(kCount), bodies, 1.0f, kCount);
  const auto before = fake.window().stats();
  device.launch(move, over(kCount), bodies, 1.0f, kCount);
  EXPECT_EQ(fake.window().stats().sources_generated, before.sources_generated);
  EXPECT_EQ(fake.control->count(Driver::build), 1U);
}

TEST_F(K13Soa, K13_LiveValuesFollowTheColumns) {
  float factor = 2.0f;
  const auto scale = kernel("scale", [&factor](Span<SoaPoint> points) {
    const auto i = global_thread_id();
    points[i][&SoaPoint::x] *= live(factor);
  });
  SoaVector<SoaPoint> points(2, {1.0f, 1.0f});
  device.launch(scale, grid(1).block(2), points);
  factor = 5.0f;
  device.launch(scale, grid(1).block(2), points);
  EXPECT_EQ(points[1].x, 10.0f);
}

TEST_F(K13Soa, K13_EmptyOnesLaunchNothingAndAnIndexPastTheEndIsAnError) {
  SoaVector<SoaBody> none(0);
  device.launch(moved(), over(0), none, 1.0f, 0);
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.to_vector().empty());
  EXPECT_EQ(fake.control->count(Driver::launch), 0U);
  EXPECT_THROW(static_cast<void>(none[0]), Error);
}

TEST_F(K13Soa, K13_NativeCodeThatTakesRecordsIsRefused) {
  const auto raw = kernel("raw", [](Span<SoaPoint> points) {
    native({{"HIP", "{0}[0].x = 1;"}}, nullptr, points);
  });
  SoaVector<SoaPoint> points(2);
  try {
    device.launch(raw, over(1), points);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.kernel(), "raw");
  }
}

TEST(K13Devices, K13_EveryDeviceGivesTheBitsOfRecords) {
  const std::vector<SoaBody> bodies = some_bodies(500);
  const auto move = moved();
  for (const Device& device : Device::all()) {
    if (!device.properties().fp64) continue;
    Vector<SoaBody> records{std::span<const SoaBody>(bodies)};
    SoaVector<SoaBody> columns{std::span<const SoaBody>(bodies)};
    device.launch(move, over(500), records, 0.1f, 500);
    device.launch(move, over(500), columns, 0.1f, 500);
    const auto read = records.read();
    EXPECT_EQ(columns.to_vector(), std::vector<SoaBody>(read.begin(), read.end())) << device.id();
  }
}

}  // namespace
}  // namespace salvo::tests
