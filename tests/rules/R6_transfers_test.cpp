// R6: copies of ranges, pinned and registered memory, filling; and the states they leave (R3).
// SPDX-License-Identifier: MIT
#include <cmath>
#include <limits>
#include <numeric>

#include "rules/window_fixture.hpp"

namespace salvo::tests {

struct Body {
  float x, y;
  std::uint16_t kind;
};

}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::Body>
    : salvo::Fields<&salvo::tests::Body::x, &salvo::tests::Body::y, &salvo::tests::Body::kind> {};

namespace salvo::tests {
namespace {

class R6Transfers : public ::testing::Test {
 protected:
  static constexpr int kCount = 100;

  static Vector<float> counting() {
    std::vector<float> numbers(kCount);
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    return Vector<float>(std::span<const float>(numbers));
  }
  /// Bytes that went to or came from the devices since the last call.
  std::size_t moved(Driver what) {
    std::size_t bytes = 0;
    for (const auto& call : fake.control->calls()) bytes += call.what == what ? call.bytes : 0;
    fake.control->clear();
    return bytes;
  }

  FakeRuntime fake{FakeOptions{.devices = 2}};
  Device device = fake.device(0), other = fake.device(1);
  Kernel<Span<float>, Int> increment = incremented();
  Vector<float> x = counting(), y = Vector<float>(kCount);
};

TEST_F(R6Transfers, R6_CopyToDeviceWritesItsElementsAndKeepsTheOthers) {
  copy_to_device(device, x, 10, std::vector<float>{-1.0f, -2.0f});
  device.launch(increment, over(kCount), x, kCount);
  EXPECT_EQ(values(x)[9], 10.0f);
  EXPECT_EQ(values(x)[10], 0.0f);
  EXPECT_EQ(values(x)[11], -1.0f);
  EXPECT_EQ(values(x)[12], 13.0f);
}

TEST_F(R6Transfers, R6_ToHostReadsBackOnceAndOnlyWhatIsNewerOnTheDevice) {
  to_host(x);
  EXPECT_EQ(moved(Driver::read), 0U) << "the host's copy is current";
  device.launch(increment, over(kCount), x, kCount);
  EXPECT_EQ(fake.control->count(Driver::launch), 0U) << "held";
  to_host(x);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  EXPECT_EQ(moved(Driver::read), kCount * sizeof(float));
  EXPECT_EQ(values(x)[99], 100.0f);
  EXPECT_EQ(moved(Driver::read), 0U) << "it was brought up to date";
}

TEST_F(R6Transfers, R6_CopyToDeviceOfAWholeVectorUploadsNothingElse) {
  copy_to_device(device, x, 0, std::vector<float>(kCount, 4.0f));
  EXPECT_EQ(moved(Driver::write), kCount * sizeof(float));
  EXPECT_EQ(x[99], 4.0f);
}

TEST_F(R6Transfers, R6_ACopyToDeviceThatFailsLeavesTheVectorAsItWas) {
  fake.control->fail(Driver::write);
  EXPECT_THROW(copy_to_device(device, x, 0, std::vector<float>(kCount, 4.0f)), Error);
  EXPECT_EQ(x[99], 99.0f);
  device.launch(increment, over(kCount), x, kCount);
  EXPECT_EQ(x[99], 100.0f);
}

TEST_F(R6Transfers, R6_CopyToHostMovesItsElementsAloneAndKeepsTheState) {
  device.launch(increment, over(kCount), x, kCount);
  fake.control->clear();
  std::vector<float> part(3);
  copy_to_host(x, 20, part);
  EXPECT_EQ(part, (std::vector<float>{21.0f, 22.0f, 23.0f}));
  EXPECT_EQ(moved(Driver::read), 3 * sizeof(float));
  EXPECT_EQ(x[0], 1.0f);
  EXPECT_EQ(moved(Driver::read), kCount * sizeof(float));
  copy_to_host(x, 20, part);  // the host's copy is current now
  EXPECT_EQ(moved(Driver::read), 0U);
}

TEST_F(R6Transfers, R6_APartialHostWriteOnADeviceNewerVectorFirstBringsItBack) {
  device.launch(increment, over(kCount), x, kCount);
  x[0] = 50.0f;
  device.launch(increment, over(kCount), x, kCount);
  EXPECT_EQ(x[0], 51.0f);
  EXPECT_EQ(x[1], 3.0f);
}

TEST_F(R6Transfers, R6_CopyWithinADeviceMovesNothingToTheHost) {
  to_device(device, x);
  to_device(device, y);
  fake.control->clear();
  copy(x, 30, y, 5, 10);
  EXPECT_EQ(fake.control->count(Driver::copy), 1U);
  EXPECT_EQ(fake.control->count(Driver::read) + fake.control->count(Driver::write), 0U);
  EXPECT_EQ(y[4], 0.0f);
  EXPECT_EQ(y[5], 30.0f);
  EXPECT_EQ(y[14], 39.0f);
  EXPECT_EQ(y[15], 0.0f);
}

TEST_F(R6Transfers, R6_CopyOfAWholeVectorGoesToWhereTheDataIs) {
  device.launch(increment, over(kCount), x, kCount);
  fake.window().flush();
  fake.control->clear();
  copy(x, 0, y, 0, kCount);
  EXPECT_EQ(fake.control->count(Driver::copy), 1U);
  EXPECT_EQ(fake.control->count(Driver::write), 0U);
  EXPECT_EQ(y[99], 100.0f);
}

TEST_F(R6Transfers, R6_CopyBetweenDevicesGoesThroughTheHostAndMovesOnlyTheRange) {
  to_device(other, y);
  device.launch(increment, over(kCount), x, kCount);
  fake.control->clear();
  copy(x, 30, y, 5, 10);
  EXPECT_EQ(moved(Driver::read), 10 * sizeof(float));
  other.launch(increment, over(kCount), y, kCount);
  EXPECT_EQ(y[5], 32.0f);
  EXPECT_EQ(y[15], 1.0f);
}

TEST_F(R6Transfers, R6_CopyOnTheHostNeedsNoDevice) {
  copy(x, 30, y, 5, 10);
  EXPECT_EQ(y[5], 30.0f);
  EXPECT_TRUE(fake.control->calls().empty());
}

TEST_F(R6Transfers, R6_CopyFromTheDeviceToAHostVectorMovesTheRange) {
  device.launch(increment, over(kCount), x, kCount);
  y[0] = -1.0f;
  copy(x, 30, y, 5, 10);
  EXPECT_EQ(moved(Driver::read), 10 * sizeof(float));
  EXPECT_EQ(y[0], -1.0f);
  EXPECT_EQ(y[5], 31.0f);
}

TEST_F(R6Transfers, R6_RangesOfACopyMayOverlap) {
  for (const bool on_device : {false, true}) {
    Vector<float> v = counting();
    if (on_device) to_device(device, v);
    copy(v, 0, v, 3, 50);
    EXPECT_EQ(v[3], 0.0f);
    EXPECT_EQ(v[52], 49.0f);
    EXPECT_EQ(v[53], 53.0f);
  }
  const Stream stream(device);
  EXPECT_THROW(copy(stream, x, 0, x, 3, 50), Error);
}

TEST_F(R6Transfers, R6_CopyOnAStreamIsWorkOfThatStream) {
  const Stream stream(device);
  stream.launch(increment, over(kCount), x, kCount);
  copy(stream, x, 0, y, 50, 50);
  stream.launch(increment, over(kCount), y, kCount);
  EXPECT_EQ(y[50], 2.0f);
  EXPECT_EQ(y[49], 1.0f);
}

TEST_F(R6Transfers, R6_RangesOutsideAVectorAreErrors) {
  std::vector<float> ten(10);
  const auto code = [](auto&& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return Errc::io;
  };
  Pinned<float> pinned = alloc_pinned<float>(device, 10);
  EXPECT_EQ(code([&] { copy_to_device(device, x, 91, ten); }), Errc::invalid_argument);
  EXPECT_EQ(code([&] { copy_to_host(x, 101, ten); }), Errc::invalid_argument);
  EXPECT_EQ(code([&] { copy(x, 0, y, 95, 6); }), Errc::invalid_argument);
  EXPECT_EQ(code([&] { copy(x, std::size_t{0} - 1, y, 0, 2); }), Errc::invalid_argument);
  EXPECT_EQ(code([&] { stage_to_device(device, x, 0, pinned, 5, 6); }), Errc::invalid_argument);
  EXPECT_EQ(code([&] { pinned[10] = 0; }), Errc::invalid_argument);
}

TEST_F(R6Transfers, R6_StagingReturnsAtOnceAndItsEventSaysWhenItIsDone) {
  const Stream stream(device);
  Pinned<float> pinned = alloc_pinned<float>(device, 20);
  EXPECT_EQ(pinned[19], 0.0f);
  for (std::size_t i = 0; i < pinned.size(); ++i) pinned[i] = 100.0f + static_cast<float>(i);
  const Event staged = stage_to_device(stream, x, 5, pinned, 10, 10);
  EXPECT_FALSE(staged.query());
  staged.wait();
  pinned[10] = 0.0f;  // ours again
  stream.launch(increment, over(kCount), x, kCount);
  EXPECT_EQ(x[4], 5.0f);
  EXPECT_EQ(x[5], 111.0f);
  EXPECT_EQ(x[15], 16.0f);
}

TEST_F(R6Transfers, R6_WhatIsStagedOnNoStreamIsThereForTheNextLaunch) {
  Pinned<float> pinned = alloc_pinned<float>(device, kCount);
  std::fill(pinned.begin(), pinned.end(), 7.0f);
  stage_to_device(device, x, 0, pinned, 0, kCount);
  device.launch(increment, over(kCount), x, kCount);
  EXPECT_EQ(x[50], 8.0f);
}

TEST_F(R6Transfers, R6_StagingToTheHostReadsAfterTheStreamsWork) {
  const Stream stream(device);
  Pinned<float> pinned = alloc_pinned<float>(device, 10);
  stream.launch(increment, over(kCount), x, kCount);
  const Event there = stage_to_host(stream, x, 40, pinned, 5, 5);
  there.wait();
  EXPECT_EQ(pinned[4], 0.0f);
  EXPECT_EQ(pinned[5], 41.0f);
}

TEST_F(R6Transfers, R6_FreeingPinnedMemoryWaitsForItsCopies) {
  const Stream stream(device);
  for (const bool by_hand : {true, false}) {
    Pinned<float> pinned = alloc_pinned<float>(device, kCount);
    std::fill(pinned.begin(), pinned.end(), 7.0f);
    const Event staged = stage_to_device(stream, x, 0, pinned, 0, kCount);
    EXPECT_FALSE(staged.query());
    if (by_hand) {
      free_pinned(pinned);
      EXPECT_TRUE(pinned.empty());
    } else {
      pinned = {};
    }
    EXPECT_TRUE(staged.query());
  }
  EXPECT_EQ(fake.control->count(Driver::release_host), 2U);
  EXPECT_EQ(x[0], 7.0f);
}

TEST_F(R6Transfers, R6_RegisteredMemoryIsStagedFromWhereItIs) {
  std::vector<float> own(kCount, 9.0f);
  Pinned<float> registered = register_host(device, std::span<float>(own));
  EXPECT_EQ(registered.data(), own.data());
  stage_to_device(device, x, 0, registered, 0, kCount);
  unregister_host(registered);
  EXPECT_EQ(fake.control->count(Driver::unregister_host), 1U);
  EXPECT_EQ(x[0], 9.0f);
}

TEST_F(R6Transfers, R6_MemoryIsGivenBackTheWayItCame) {
  std::vector<float> own(kCount);
  Pinned<float> pinned = alloc_pinned<float>(device, 1);
  Pinned<float> registered = register_host(device, std::span<float>(own));
  EXPECT_THROW(unregister_host(pinned), Error);
  EXPECT_THROW(free_pinned(registered), Error);
}

TEST_F(R6Transfers, R6_PinnedMemoryIsStagedOnItsOwnDevice) {
  Pinned<float> pinned = alloc_pinned<float>(other, kCount);
  EXPECT_THROW(stage_to_device(device, x, 0, pinned, 0, kCount), Error);
}

TEST_F(R6Transfers, R6_FreeingOnTheDeviceKeepsTheBytes) {
  device.launch(increment, over(kCount), x, kCount);
  free_on_device(x);
  fake.control->clear();
  EXPECT_EQ(x[9], 10.0f);
  EXPECT_TRUE(fake.control->calls().empty());
  device.launch(increment, over(kCount), y, kCount);  // takes the block
  EXPECT_EQ(fake.control->count(Driver::allocate), 0U);
}

TEST_F(R6Transfers, W17_ToDeviceIssuesOnlyIfAHeldLaunchUsesTheVector) {
  device.launch(increment, over(kCount), x, kCount);
  to_device(device, y);
  EXPECT_EQ(fake.window().stats().held, 1U);
  device.launch(increment, over(kCount), y, kCount);
  y[0] = 5.0f;  // reads y back: issues
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(R6Transfers, W18_FlushOfADeviceIssuesAndSubmitsThatDeviceAlone) {
  device.launch(increment, over(kCount), x, kCount);
  other.launch(increment, over(kCount), y, kCount);
  fake.control->clear();
  flush(device);
  EXPECT_EQ(fake.window().stats().held, 1U);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
  EXPECT_EQ(fake.control->count(Driver::submit), 1U);
  EXPECT_EQ(fake.control->count(Driver::finish), 0U);
}

class P9Fill : public R6Transfers {};

TEST_F(P9Fill, P9_FillIsAHeldLaunchThatFusesAndUploadsNothing) {
  Vector<float> z(kCount);
  fill(device, y, 2.5f);
  fill(device, z, -1.0f);
  EXPECT_EQ(fake.window().stats().held, 2U);
  EXPECT_EQ(fake.control->count(Driver::write), 0U);
  EXPECT_EQ(y[99], 2.5f);
  EXPECT_EQ(z[0], -1.0f);
  EXPECT_EQ(fake.window().stats().fused_groups, 1U);
}

TEST_F(P9Fill, P9_FillOfAViewKeepsItsNeighbours) {
  Vector<std::uint8_t> bytes(16, 7);
  fill(device, bytes.view(5, 3), 9);
  const auto read = bytes.read();
  EXPECT_EQ(std::vector<int>(read.begin(), read.end()),
            (std::vector<int>{7, 7, 7, 7, 7, 9, 9, 9, 7, 7, 7, 7, 7, 7, 7, 7}));
}

TEST_F(P9Fill, P9_FillSetsTheBitsOfAnyElement) {
  Vector<half> halves(10);
  Vector<bool> flags(10);
  Vector<double> doubles(10);
  Vector<std::int64_t> longs(10);
  Vector<Body> bodies(10);
  half nan;
  nan.bits = 0x7c01;  // a signalling NaN
  fill(device, halves, nan);
  fill(device, flags, true);
  fill(device, doubles, -0.0);
  fill(device, longs, std::numeric_limits<std::int64_t>::min());
  fill(device, bodies, Body{1.5f, -2.0f, 65535});
  EXPECT_EQ(halves[9].get().bits, 0x7c01);
  EXPECT_TRUE(flags[9].get());
  EXPECT_TRUE(std::signbit(doubles[9].get()));
  EXPECT_EQ(longs[9].get(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(bodies[9].get().y, -2.0f);
  EXPECT_EQ(bodies[9].get().kind, 65535);
}

TEST_F(P9Fill, P9_FillGoesWhereTheVectorIs) {
  to_device(other, x);
  fake.control->clear();
  fill(x, 1.0f);
  EXPECT_EQ(x[0], 1.0f);
  for (const auto& call : fake.control->calls()) EXPECT_EQ(call.device, 1U);
}

TEST_F(P9Fill, P9_AnEmptyFillLaunchesNothing) {
  fill(device, x.view(3, 0), 1.0f);
  EXPECT_EQ(fake.window().stats().submitted, 0U);
}

TEST_F(P9Fill, W81_AFillThatFailsLeavesTheVectorAsItWas) {
  fill(device, x, 1.0f);
  EXPECT_EQ(fake.window().stats().held, 1U);
  fake.control->fail(Driver::launch);
  EXPECT_THROW(x.read(), Error);
  EXPECT_EQ(x[42], 42.0f);

  fake.window().set_enabled(false);
  Vector<float> v = counting();
  fake.control->fail(Driver::launch);
  EXPECT_THROW(fill(device, v, 1.0f), Error);
  EXPECT_EQ(v[42], 42.0f);
}

TEST_F(P9Fill, W81_ALaunchHeldAfterAFillThatFailsSeesTheBytesOfBefore) {
  fake.window().set_epilogue_enabled(false);
  fill(device, x, 1.0f);
  device.launch(increment, over(kCount), x, kCount);
  fake.control->fail(Driver::launch, 1, "fill");
  EXPECT_THROW(x.read(), Error);
  EXPECT_EQ(x[42], 43.0f);
}

}  // namespace
}  // namespace salvo::tests
