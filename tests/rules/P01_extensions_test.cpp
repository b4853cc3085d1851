// P1: a driver's extensions are asked once, and its devices found once.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "backends/level_zero/level_zero_backend.hpp"
#include "backends/level_zero/level_zero_extensions.hpp"
#include "rules/level_zero_fixture.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {
namespace {

using backends::level_zero::Api;
using backends::level_zero::ExtensionMemo;
namespace ze = backends::level_zero::ze;

/// A driver that answers one question.
struct Answers {
  std::atomic<int> calls{0};
  std::uint32_t length = 3;
  bool fails = false;
};
Answers answers;

ze::Result answer(ze::Driver, std::uint32_t* count, ze::DriverExtensionProperties* list) {
  ++answers.calls;
  if (answers.fails) return ze::Result::out_of_host_memory;
  if (!list) {
    *count = answers.length;
    return ze::Result::success;
  }
  for (std::uint32_t i = 0; i < *count; ++i) {
    const std::string name = i == 2 ? "ZE_extension_kernel_max_group_size_properties"
                                    : "ZE_extension_" + std::to_string(i);
    std::memcpy(list[i].name.data(), name.c_str(), name.size() + 1);
  }
  return ze::Result::success;
}

class P1Extensions : public testing::Test {
 protected:
  P1Extensions() {
    answers.calls = 0;
    answers.length = 3;
    answers.fails = false;
    api_.DriverGetExtensionProperties.assign(answer);
  }
  static ze::Driver driver(std::uintptr_t number) { return reinterpret_cast<ze::Driver>(number); }

  Api api_;
  ExtensionMemo memo_;
};

TEST_F(P1Extensions, P1_AListIsTwoCallsHoweverOftenItIsAskedFor) {
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(memo_.of(api_, driver(1))->kernel_max_group_size);
  EXPECT_EQ(answers.calls, 2);
  EXPECT_EQ(memo_.of(api_, driver(2))->count, 3U);
  EXPECT_EQ(answers.calls, 4) << "each driver has its own";
}

TEST_F(P1Extensions, P1_NamesBecomeBitsWhenTheListIsRead) {
  answers.length = 2;
  EXPECT_FALSE(memo_.of(api_, driver(1))->kernel_max_group_size);
  answers.length = 60;
  EXPECT_TRUE(memo_.of(api_, driver(2))->kernel_max_group_size);
  EXPECT_EQ(memo_.of(api_, driver(2))->count, 60U);
  answers.length = 0;
  EXPECT_EQ(memo_.of(api_, driver(3))->count, 0U);
}

TEST_F(P1Extensions, P1_RacingThreadsCauseOneQuery) {
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 50; ++k) EXPECT_EQ(memo_.of(api_, driver(1))->count, 3U);
      });
    }
  }
  EXPECT_EQ(answers.calls, 2);
}

TEST_F(P1Extensions, P1_AFailedQueryIsNotKept) {
  answers.fails = true;
  EXPECT_THROW(memo_.of(api_, driver(1)), Error);
  answers.fails = false;
  EXPECT_EQ(memo_.of(api_, driver(1))->count, 3U);
}

TEST_F(P1Extensions, P1_InitialisingTheLibraryEmptiesItAndHoldersKeepTheirs) {
  const auto held = memo_.of(api_, driver(1));
  answers.length = 1;
  memo_.clear();
  EXPECT_EQ(memo_.of(api_, driver(1))->count, 1U);
  EXPECT_EQ(held->count, 3U);
}

class P1Drivers : public LevelZeroRules {};

TEST_F(P1Drivers, P1_AProcessFindsItsDriversOnce) {
  open({});
  open({});
  const auto executable = built(linear());
  const runtime::Buffer buffer = ones();
  for (std::uint32_t i = 0; i < 20; ++i) launch(device_->queue(), *executable, buffer, 2, 1);
  device_->finish(device_->queue());
  device_->release(buffer);
  // The loader calls it once more, to see whether the driver starts.
  EXPECT_EQ(backends::level_zero::shared_api().Init.calls(), 1U);
  for (const char* list :
       {"zeDriverGet", "zeDeviceGet", "zeDriverGetExtensionProperties",
        "zeDeviceGetCommandQueueGroupProperties", "zeDeviceGetMemoryProperties"}) {
    EXPECT_EQ(control_->calls(list), 2U) << list;
  }
  for (const char* once :
       {"zeDeviceGetProperties", "zeDeviceGetComputeProperties", "zeDeviceGetModuleProperties",
        "zeDriverGetProperties", "zeDriverGetApiVersion"}) {
    EXPECT_EQ(control_->calls(once), 1U) << once;
  }
}

}  // namespace
}  // namespace salvo::tests
