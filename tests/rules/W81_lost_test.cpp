// W81: launches that fail on the device are named by the first wait, and what they were to write
// cannot be read until it is written anew.
// SPDX-License-Identifier: MIT
#include "caught.hpp"
#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

class W81Lost : public WindowRules {
 protected:
  /// Leaves y lost.
  void lose_y() {
    fake.control->fail_on_device("twice");
    device.launch(twice, over(kCount), x, y, kCount);
    EXPECT_THROW(device.synchronize(), Error);
  }
};

TEST_F(W81Lost, W81_TheFirstWaitNamesTheKernelAndItsLaunch) {
  fake.control->fail_on_device("twice");
  device.launch(twice, over(kCount), x, y, kCount);
  const unsigned line = __LINE__ - 1;
  fake.window().flush();  // never waits, so it tells nothing
  const Error error = caught([&] { device.synchronize(); });
  EXPECT_EQ(error.code(), Errc::launch_failed);
  EXPECT_EQ(error.kernel(), "twice");
  EXPECT_EQ(error.launch_location().line, line);
  EXPECT_TRUE(error.details().may_have_started);
  EXPECT_TRUE(error.others().empty());
  EXPECT_NO_THROW(device.synchronize());  // told once
}

TEST_F(W81Lost, W81_EveryLaunchThatItMayHaveBeenIsNamedAndNoOther) {
  device.launch(negate, over(kCount), x, z, kCount);
  device.synchronize();  // has finished well: none of them
  fake.control->fail_on_device("twice");
  device.launch(twice, over(kCount), x, y, kCount);
  const unsigned line = __LINE__ - 1;
  device.launch(increment, over(kCount), y, kCount);
  const Error error = caught([&] { device.synchronize(); });
  EXPECT_EQ(error.kernel(), "twice");
  EXPECT_EQ(error.launch_location().line, line);
  EXPECT_NE(error.message().find("one of 2 launches"), std::string::npos) << error.message();
  ASSERT_EQ(error.others().size(), 1U);
  EXPECT_EQ(error.others()[0].kernel(), "increment");
  EXPECT_EQ(error.others()[0].launch_location().line, line + 2);
}

TEST_F(W81Lost, W81_EachMemberOfAFusedLaunchIsNamed) {
  fake.control->fail_on_device("fused");
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  const Error error = caught([&] { device.synchronize(); });
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(error.kernel(), "twice");
  ASSERT_EQ(error.others().size(), 1U);
  EXPECT_EQ(error.others()[0].kernel(), "negate");
}

TEST_F(W81Lost, W81_ReadingBackIsAWaitAndRaisesEachTime) {
  fake.control->fail_on_device("twice");
  device.launch(twice, over(kCount), x, y, kCount);
  for (int round = 0; round < 3; ++round) {
    const Error error = caught([&] { static_cast<void>(values(y)); });
    EXPECT_EQ(error.kernel(), "twice") << round;
  }
  std::vector<float> part(4);
  EXPECT_EQ(caught([&] { copy_to_host(y, 0, part); }).kernel(), "twice");
  EXPECT_EQ(caught([&] { y[3] = 1.0f; }).kernel(), "twice");  // a part is read back first (R3)
  EXPECT_EQ(x[0], 3.0f);                                      // what it only read is there
}

TEST_F(W81Lost, W81_ALaunchThatReadsWhatIsLostIsRefusedAtTheCall) {
  lose_y();
  const Error error = caught([&] { device.launch(negate, over(kCount), y, z, kCount); });
  const unsigned line = __LINE__ - 1;
  EXPECT_EQ(error.kernel(), "negate");
  EXPECT_EQ(error.launch_location().line, line);
  ASSERT_EQ(error.others().size(), 1U);
  EXPECT_EQ(error.others()[0].kernel(), "twice");
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(z[0], 0.0f);
}

TEST_F(W81Lost, W81_SoIsALaunchThatRepeatsAWindow) {
  const auto turn = [&] {
    device.launch(negate, over(kCount), y, z, kCount);
    fake.window().flush();
  };
  for (int k = 0; k < 4; ++k) turn();
  EXPECT_EQ(fake.window().stats().repeated, 2U);
  lose_y();
  EXPECT_EQ(caught(turn).kernel(), "negate");
}

TEST_F(W81Lost, W81_ALaunchThatWritesItAnewBringsItBack) {
  lose_y();
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(y[kCount - 1], 6.0f);
  device.launch(negate, over(kCount), y, z, kCount);
  EXPECT_EQ(z[0], -6.0f);
}

TEST_F(W81Lost, W81_FillingOrCopyingItWholeBringsItBack) {
  lose_y();
  fill(device, y, 7.0f);
  EXPECT_EQ(y[0], 7.0f);
  lose_y();
  const std::vector<float> anew(kCount, 8.0f);
  copy_to_device(device, y, 0, anew);
  EXPECT_EQ(y[kCount - 1], 8.0f);
  lose_y();
  copy(x, 0, y, 0, kCount);
  EXPECT_EQ(y[5], 3.0f);
}

TEST_F(W81Lost, W81_AWaitForOneStreamNamesThatStreamsLaunches) {
  const Stream first(device), second(device);
  first.launch(negate, over(kCount), x, z, kCount);
  fake.control->fail_on_device("twice");
  second.launch(twice, over(kCount), x, y, kCount);
  const Error error = caught([&] { second.synchronize(); });
  EXPECT_EQ(error.kernel(), "twice");
  EXPECT_TRUE(error.others().empty());
  EXPECT_EQ(z[0], -3.0f);
  EXPECT_THROW(static_cast<void>(values(y)), Error);
}

TEST_F(W81Lost, W64_W81_WithTheWindowOffTheWaitTellsToo) {
  fake.window().set_enabled(false);
  fake.control->fail_on_device("twice", Errc::device_lost);
  EXPECT_NO_THROW(device.launch(twice, over(kCount), x, y, kCount));
  const Error error = caught([&] { device.synchronize(); });
  EXPECT_EQ(error.code(), Errc::device_lost);
  EXPECT_EQ(error.kernel(), "twice");
}

TEST_F(W81Lost, W81_AFailedTransferBlamesNoLaunch) {
  device.launch(twice, over(kCount), x, y, kCount);
  fake.control->fail(Driver::read, 1, "", Errc::transfer_failed);
  const Error error = caught([&] { static_cast<void>(values(y)); });
  EXPECT_EQ(error.code(), Errc::transfer_failed);
  EXPECT_EQ(error.kernel(), "");
  EXPECT_EQ(y[0], 6.0f);  // nothing was lost: read again
}

TEST_F(W81Lost, W81_ThousandsOfUnfinishedLaunchesAreNamedAsFarAsTheyAreKept) {
  fake.window().set_enabled(false);
  for (int i = 0; i < 3000; ++i) device.launch(twice, over(1), x, y, 1);
  fake.control->fail_on_device("negate");
  device.launch(negate, over(kCount), x, z, kCount);
  const Error error = caught([&] { device.synchronize(); });
  EXPECT_NE(error.message().find("one of 3001 launches"), std::string::npos) << error.message();
  EXPECT_EQ(error.others().back().kernel(), "negate");
  EXPECT_THROW(static_cast<void>(values(z)), Error);
  EXPECT_THROW(static_cast<void>(values(y)), Error);  // it may have been one of those
}

}  // namespace
}  // namespace salvo::tests
