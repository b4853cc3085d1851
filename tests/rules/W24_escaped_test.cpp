// W24: memory whose raw address was handed out.
// SPDX-License-Identifier: MIT
#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

using W24Escaped = WindowRules;

TEST_F(W24Escaped, W24_HandingOutAnAddressIssuesWhatIsHeldAndMakesItCurrent) {
  device.launch(twice, over(kCount), x, y, kCount);
  const DeviceMemory memory = device_memory(device, y);
  EXPECT_NE(memory.handle, 0U);
  EXPECT_EQ(launches(), 1U);
  EXPECT_EQ(fake.control->count(Driver::finish), 1U);
  EXPECT_EQ(device_memory(device, y).handle, memory.handle);
}

TEST_F(W24Escaped, W24_ALaunchThatTouchesAnEscapedAllocationIsNotHeld) {
  device_memory(device, y);
  device.launch(negate, over(kCount), x, z, kCount);
  EXPECT_EQ(fake.window().stats().held, 1U);
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(fake.control->launched(), (std::vector<std::string>{"negate", "twice"}));
  EXPECT_EQ(fake.window().stats().refusals.at(Reason::escaped), 1U);
  device.launch(twice, over(kCount), y, z, kCount);  // reading is touching
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(W24Escaped, W24_AViewEscapesWithItsAllocation) {
  const DeviceMemory part = device_memory(device, y.view(10, 5));
  EXPECT_EQ(part.byte_offset, 40U);
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(W24Escaped, W24_TheHostReadsWhatWasWrittenThroughTheAddress) {
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(y[0], 6.0f);  // both copies are equal
  device_memory(device, y);
  fake.control->clear();
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
}

TEST_F(W24Escaped, W24_TheMemoryStaysWhereItIsWhileTheHostWrites) {
  const DeviceMemory memory = device_memory(device, y);
  y[0] = 5.0f;
  device.launch(twice, over(kCount), y, z, kCount);
  EXPECT_EQ(device_memory(device, y).handle, memory.handle);
  EXPECT_EQ(z[0], 10.0f);
}

TEST_F(W24Escaped, W24_AnEmptyVectorHasNoMemory) {
  EXPECT_THROW(device_memory(device, Vector<float>()), Error);
}

}  // namespace
}  // namespace salvo::tests
