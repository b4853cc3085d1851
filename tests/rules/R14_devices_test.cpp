// R14: vectors on several devices, straight from one to the other, and other libraries' memory.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 100;

class R14Peers : public ::testing::TestWithParam<bool> {
 protected:
  FakeRuntime fake{FakeOptions{.devices = 2, .peers = GetParam()}};
  Device first = fake.runtime.devices().at(0);
  Device second = fake.runtime.devices().at(1);
  Floats twice = scaled("twice", 2.0f);
  Vector<float> x = Vector<float>(kCount, 3.0f);
  Vector<float> y = Vector<float>(kCount);
  Vector<float> z = Vector<float>(kCount);
};

TEST_P(R14Peers, R14_ANewerCopyGoesStraightToADeviceThatCanReachIt) {
  first.launch(twice, over(kCount), x, y, kCount);
  fake.control->clear();
  second.launch(twice, over(kCount), y, z, kCount);
  EXPECT_EQ(fake.control->count(Driver::copy_from_peer), GetParam() ? 1U : 0U);
  EXPECT_EQ(fake.control->count(Driver::read), GetParam() ? 0U : 1U);
  EXPECT_EQ(values(z), std::vector<float>(kCount, 12.0f));
  EXPECT_EQ(values(y), std::vector<float>(kCount, 6.0f));
}

TEST_P(R14Peers, R14_AVectorGoesBackAndForth) {
  const auto increment = incremented();
  for (int round = 0; round < 3; ++round) {
    first.launch(increment, over(kCount), x, kCount);
    second.launch(increment, over(kCount), x, kCount);
  }
  EXPECT_EQ(values(x), std::vector<float>(kCount, 9.0f));
}

TEST_P(R14Peers, R14_ACopyThatTheHostHasIsUploaded) {
  first.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(y[0], 6.0f);
  fake.control->clear();
  second.launch(twice, over(kCount), y, z, kCount);
  EXPECT_EQ(fake.control->count(Driver::copy_from_peer), 0U);
  EXPECT_EQ(fake.control->count(Driver::read), 0U);
  EXPECT_EQ(z[kCount - 1], 12.0f);
}

TEST_P(R14Peers, R14_WithoutRoomOnTheOtherDeviceTheHostMakesSome) {
  first.launch(twice, over(kCount), x, y, kCount);
  fake.window().flush();
  if (GetParam()) fake.control->fail(Driver::allocate, 1, "", Errc::out_of_memory);
  second.launch(twice, over(kCount), y, z, kCount);
  EXPECT_EQ(values(z), std::vector<float>(kCount, 12.0f));
  EXPECT_TRUE(fake.control->all_faults_struck());
}

TEST_P(R14Peers, R14_ARangeGoesStraightIntoAVectorOnTheOtherDevice) {
  first.launch(twice, over(kCount), x, y, kCount);
  second.launch(scaled("thrice", 3.0f), over(kCount), x, z, kCount);
  fake.window().flush();
  fake.control->clear();
  copy(y, 10, z, 20, 30);
  std::vector<std::size_t> bytes;
  for (const DriverCall& call : fake.control->calls()) {
    if (call.what == Driver::copy_from_peer) bytes.push_back(call.bytes);
  }
  EXPECT_EQ(bytes, std::vector<std::size_t>(GetParam() ? 1 : 0, 30 * sizeof(float)));
  EXPECT_EQ(fake.control->count(Driver::read), GetParam() ? 0U : 1U);
  EXPECT_EQ(fake.control->count(Driver::write), GetParam() ? 0U : 1U);
  std::vector<float> expected(kCount, 9.0f);
  std::fill_n(expected.begin() + 20, 30, 6.0f);
  EXPECT_EQ(values(z), expected);
  EXPECT_EQ(values(y), std::vector<float>(kCount, 6.0f));
}

TEST_P(R14Peers, R14_AWholeVectorGoesStraightOverAStaleCopy) {
  first.launch(twice, over(kCount), x, y, kCount);
  second.launch(twice, over(kCount), x, z, kCount);
  z[0] = 1.0f;  // the host's is newer
  fake.control->clear();
  copy(y, 0, z, 0, kCount);
  EXPECT_EQ(fake.control->count(Driver::copy_from_peer), GetParam() ? 1U : 0U);
  EXPECT_EQ(values(z), std::vector<float>(kCount, 6.0f));
}

TEST_P(R14Peers, R14_APartOfAVectorThatTheHostWroteGoesThroughTheHost) {
  first.launch(twice, over(kCount), x, y, kCount);
  second.launch(twice, over(kCount), x, z, kCount);
  z[0] = 1.0f;
  fake.control->clear();
  copy(y, 1, z, 1, kCount - 1);
  EXPECT_EQ(fake.control->count(Driver::copy_from_peer), 0U);
  std::vector<float> expected(kCount, 6.0f);
  expected[0] = 1.0f;
  EXPECT_EQ(values(z), expected);
}

TEST_P(R14Peers, R14_AFailedLaunchOnTheSourceDoesNotTravel) {
  second.launch(twice, over(kCount), x, z, kCount);
  fake.window().flush();
  fake.control->fail_on_device("broken");
  first.launch(scaled("broken", 2.0f), over(kCount), x, y, kCount);
  EXPECT_THROW(copy(y, 10, z, 20, 30), Error);
  EXPECT_EQ(values(z), std::vector<float>(kCount, 6.0f));
}

INSTANTIATE_TEST_SUITE_P(Drivers, R14Peers, ::testing::Bool(),
                         [](const auto& one) { return one.param ? "Peers" : "Strangers"; });

class R14Foreign : public WindowRules {
 protected:
  /// A view of y's memory as another library would hand it out.
  VectorView<float> wrapped() {
    return wrap_device_memory<float>(device, device_memory(device, y).handle, kCount);
  }
};

TEST_F(R14Foreign, R14_LaunchesWorkOnWrappedMemoryAndAreNotHeld) {
  const VectorView<float> view = wrapped();
  device.launch(twice, over(kCount), x, view, kCount);
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(view[0], 6.0f);
  EXPECT_EQ(y[0], 6.0f);  // the same memory
}

TEST_F(R14Foreign, R14_WrappedMemoryIsNeverReleased) {
  const std::size_t before = fake.control->count(Driver::release);
  { const VectorView<float> view = wrapped(); }
  EXPECT_EQ(fake.control->count(Driver::release), before);
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(R14Foreign, R14_WrappedMemoryStaysOnItsDevice) {
  const VectorView<float> view = wrapped();
  try {
    free_on_device(view);
    FAIL() << "another library's memory was given up";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
  }
  EXPECT_EQ(view.size(), static_cast<std::size_t>(kCount));
}

TEST_F(R14Foreign, R7_AWrappedStreamIsWaitedForAndNotMade) {
  fake.control->clear();
  const Stream stream = Stream::wrap(device, 1);
  stream.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(fake.control->count(Driver::adopt_queue), 1U);
  EXPECT_EQ(fake.control->count(Driver::make_queue), 0U);
}

}  // namespace
}  // namespace salvo::tests
