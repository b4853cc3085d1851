// Batches reach a queue in order, by whichever thread, and none after a failure.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/vulkan_submitter.hpp"

namespace salvo::backends::vulkan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Takes submissions down, and refuses one.
class Recording final : public Progress {
 public:
  VkResult submit(VkQueue, VkCommandBuffer, std::uint64_t serial) override {
    if (serial == slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const VkResult status = serial == refused ? VK_ERROR_DEVICE_LOST : VK_SUCCESS;
    if (status == VK_SUCCESS) serials.push_back(serial);
    by = std::this_thread::get_id();
    ++calls;
    calls.notify_all();
    return status;
  }
  VkResult completed(std::uint64_t&) override { return VK_SUCCESS; }
  VkResult wait(std::uint64_t) override { return VK_SUCCESS; }
  bool other_thread_submits() const noexcept override { return true; }
  const char* waits_by() const noexcept override { return ""; }

  std::uint64_t refused = 0;
  std::uint64_t slow = 0;
  std::vector<std::uint64_t> serials;
  std::thread::id by;
  std::atomic<int> calls{0};
};

class SubmitterTest : public testing::Test {
 protected:
  SubmitterTest() {
    api_.EndCommandBuffer.assign([](VkCommandBuffer) { return VK_SUCCESS; });
  }
  void give(std::initializer_list<std::uint64_t> serials) {
    for (const std::uint64_t serial : serials) submitter_.give(nullptr, serial);
  }

  DeviceApi api_;
  Recording queue_;
  Submitter submitter_{api_, nullptr, queue_, true};
};

TEST_F(SubmitterTest, AThreadSubmitsOnceItIsWoken) {
  give({1});
  EXPECT_EQ(queue_.calls, 0);
  submitter_.wake();
  queue_.calls.wait(0);
  submitter_.flush();
  EXPECT_THAT(queue_.serials, ElementsAre(1));
  EXPECT_NE(queue_.by, std::this_thread::get_id());
}

TEST_F(SubmitterTest, FlushSubmitsByItself) {
  give({1, 2});
  submitter_.flush();
  EXPECT_THAT(queue_.serials, ElementsAre(1, 2));
  EXPECT_EQ(queue_.by, std::this_thread::get_id());
}

TEST_F(SubmitterTest, FlushWaitsForASubmissionOfTheThread) {
  queue_.slow = 1;
  give({1});
  submitter_.wake();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  submitter_.flush();
  EXPECT_THAT(queue_.serials, ElementsAre(1));
}

TEST_F(SubmitterTest, BothThreadsTogetherKeepTheOrder) {
  std::vector<std::uint64_t> expected;
  for (std::uint64_t serial = 1; serial <= 5000; ++serial) {
    expected.push_back(serial);
    give({serial});
    submitter_.wake();
    if (serial % 7 == 0) submitter_.flush();
  }
  submitter_.flush();
  EXPECT_EQ(queue_.serials, expected);
}

TEST_F(SubmitterTest, WithoutAThreadTheCallerSubmits) {
  Submitter alone(api_, nullptr, queue_, false);
  alone.give(nullptr, 1);
  alone.wake();
  EXPECT_THAT(queue_.serials, ElementsAre(1));
  EXPECT_EQ(queue_.by, std::this_thread::get_id());
}

TEST_F(SubmitterTest, NothingIsSubmittedBetweenAFailureAndGoingOn) {
  queue_.refused = 2;
  give({1, 2, 3});
  submitter_.flush();
  give({4});
  submitter_.flush();
  EXPECT_THAT(queue_.serials, ElementsAre(1));
  EXPECT_EQ(queue_.calls, 2);
  const auto failure = submitter_.failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->serial, 2u);
  EXPECT_EQ(failure->status, VK_ERROR_DEVICE_LOST);
  EXPECT_STREQ(failure->operation, "vkQueueSubmit");
  submitter_.go_on();
  EXPECT_FALSE(submitter_.failure());
  give({5});
  submitter_.flush();
  EXPECT_THAT(queue_.serials, ElementsAre(1, 5));
}

TEST_F(SubmitterTest, ABatchThatCannotBeEndedIsNotSubmitted) {
  api_.EndCommandBuffer.assign([](VkCommandBuffer) { return VK_ERROR_OUT_OF_HOST_MEMORY; });
  give({1});
  submitter_.flush();
  EXPECT_THAT(queue_.serials, IsEmpty());
  const auto failure = submitter_.failure();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->status, VK_ERROR_OUT_OF_HOST_MEMORY);
  EXPECT_STREQ(failure->operation, "vkEndCommandBuffer");
}

}  // namespace
}  // namespace salvo::backends::vulkan
