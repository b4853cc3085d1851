// Backends on drivers: what a search finds, and what is said of devices that cannot be used.
// SPDX-License-Identifier: MIT
#include "runtime/driver_backend.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fake/silent_backend.hpp"

namespace salvo::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Facts {
  DeviceProperties properties;
  std::string obstacle;
};

Facts facts(std::string name, std::string obstacle = "") {
  Facts made;
  made.properties.name = std::move(name);
  made.obstacle = std::move(obstacle);
  return made;
}

std::vector<std::string> names(const Found<Facts>& found) {
  std::vector<std::string> all;
  for (const auto& device : found.devices) all.push_back(device->properties.name);
  return all;
}

TEST(DriverSearch, ADeviceWithAnObstacleIsNamedWithIt) {
  FoundOnce<Facts> once;
  const Found<Facts> found = once.get([](Found<Facts>& to) {
    to.add(facts("old", "it has no 64-bit integers"));
    to.add(facts("new"));
  });
  EXPECT_THAT(names(found), ElementsAre("new"));
  EXPECT_THAT(found.obstacles, ElementsAre("old: it has no 64-bit integers"));
}

TEST(DriverSearch, IsMadeAgainUntilItFindsADevice) {
  FoundOnce<Facts> once;
  int searches = 0;
  const auto search = [&](Found<Facts>& to) {
    if (++searches < 3) return to.obstacles.push_back("search " + std::to_string(searches));
    to.add(facts("device"));
  };
  EXPECT_THAT(once.get(search).obstacles, ElementsAre("search 1"));
  EXPECT_THAT(once.get(search).obstacles, ElementsAre("search 2"));
  const Found<Facts> third = once.get(search);
  const Found<Facts> fourth = once.get(search);
  EXPECT_EQ(searches, 3);
  EXPECT_THAT(third.obstacles, IsEmpty());
  ASSERT_THAT(names(fourth), ElementsAre("device"));
  EXPECT_EQ(third.devices.front(), fourth.devices.front());
}

TEST(DriverSearch, AFailureKeepsWhatWasFoundBefore) {
  FoundOnce<Facts> once;
  const Found<Facts> found = once.get([](Found<Facts>& to) {
    to.add(facts("device"));
    throw Error(Errc::backend_unavailable, "the second does not answer");
  });
  EXPECT_THAT(names(found), ElementsAre("device"));
  ASSERT_EQ(found.obstacles.size(), 1U);
  EXPECT_THAT(found.obstacles[0], ::testing::HasSubstr("the second does not answer"));
}

/// A backend that finds `present` and `obstacles`; a device named "broken" cannot be opened.
class DriverBackendTest : public ::testing::Test {
 protected:
  std::vector<std::string> present_;
  std::vector<std::string> obstacles_;
  std::vector<std::string> opened_;
  DriverBackend<Facts> backend_{"Driven",
                                [this] {
                                  Found<Facts> found;
                                  for (const std::string& name : present_) found.add(facts(name));
                                  found.obstacles = obstacles_;
                                  return found;
                                },
                                [this](const Facts& one) -> std::unique_ptr<DeviceDriver> {
                                  if (one.properties.name == "broken")
                                    throw Error(Errc::backend_unavailable, "no queue");
                                  opened_.push_back(one.properties.name);
                                  return std::make_unique<tests::SilentDevice>();
                                },
                                ". Buy one"};
};

TEST_F(DriverBackendTest, ADeviceThatCannotBeOpenedDoesNotHideTheOthers) {
  present_ = {"first", "broken", "last"};
  EXPECT_EQ(backend_.open().size(), 2U);
  EXPECT_THAT(opened_, ElementsAre("first", "last"));
  EXPECT_FALSE(backend_.unavailable());
}

TEST_F(DriverBackendTest, WithoutADeviceItSaysEveryReasonAndTheAdvice) {
  present_ = {"broken"};
  obstacles_ = {"the loader is missing"};
  EXPECT_TRUE(backend_.open().empty());
  ASSERT_TRUE(backend_.unavailable());
  const std::string failure = Error(Errc::backend_unavailable, "no queue").what();
  EXPECT_EQ(backend_.unavailable()->reason,
            "the loader is missing; broken: " + failure + ". Buy one");
}

TEST_F(DriverBackendTest, AReasonIsForgottenOnceADeviceOpens) {
  obstacles_ = {"the loader is missing"};
  EXPECT_TRUE(backend_.open().empty());
  EXPECT_TRUE(backend_.unavailable());
  present_ = {"late"};
  EXPECT_EQ(backend_.open().size(), 1U);
  EXPECT_FALSE(backend_.unavailable());
}

}  // namespace
}  // namespace salvo::runtime
