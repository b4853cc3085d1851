// P3, P4, P8, P10-P14: what the Level Zero backend asks of its driver, in which order, and when
// not.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include "backends/level_zero/level_zero_device.hpp"
#include "rules/level_zero_fixture.hpp"
#include "salvo/salvo.hpp"

namespace salvo::tests {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSet = "zeKernelSetArgumentValue";
constexpr const char* kGroup = "zeKernelSetGroupSize";
constexpr const char* kAppend = "zeCommandListAppendLaunchKernel";
constexpr const char* kBarrier = "zeCommandListAppendBarrier";
constexpr const char* kInOneCall = "zeCommandListAppendLaunchKernelWithArguments";

class PLevelZero : public LevelZeroRules {
 protected:
  void SetUp() override {
    LevelZeroRules::SetUp();
    if (IsSkipped()) return;
    keeps_order_ = first_.api_version >= 0x10007;
    in_one_call_ = first_.has_launch_with_arguments && first_.api_version >= 0x1000e;
  }
  template <typename Work>
  std::vector<std::string> log_of(const Work& work) {
    control_->start_log();
    work();
    return control_->stop_log();
  }
  /// The log, without the barriers that stand for order on old drivers.
  template <typename Work>
  std::vector<std::string> launch_log_of(const Work& work) {
    std::vector<std::string> log = log_of(work);
    std::erase(log, kBarrier);
    return log;
  }

  bool keeps_order_ = false;
  bool in_one_call_ = false;
};

TEST_F(PLevelZero, P3_AWarmLaunchSetsWhatChangedAndIsAppended) {
  const auto executable = built(linear());
  const runtime::Buffer one = ones();
  const runtime::Buffer two = ones();
  auto& queue = device_->queue();
  if (in_one_call_) {
    EXPECT_THAT(log_of([&] { launch(queue, *executable, one, 2, 3); }), ElementsAre(kInOneCall));
    EXPECT_THAT(log_of([&] { launch(queue, *executable, two, 4, 5, 32); }),
                ElementsAre(kInOneCall));
  } else {
    EXPECT_THAT(launch_log_of([&] { launch(queue, *executable, one, 2, 3); }),
                ElementsAre(kSet, kSet, kSet, kGroup, kAppend));
    EXPECT_THAT(launch_log_of([&] { launch(queue, *executable, one, 2, 3); }),
                ElementsAre(kAppend));
    EXPECT_THAT(launch_log_of([&] { launch(queue, *executable, one, 4, 3); }),
                ElementsAre(kSet, kAppend));
    EXPECT_THAT(launch_log_of([&] { launch(queue, *executable, two, 4, 3); }),
                ElementsAre(kSet, kAppend));
    EXPECT_THAT(launch_log_of([&] { launch(queue, *executable, two, 4, 5, 32); }),
                ElementsAre(kSet, kGroup, kAppend));
  }
  device_->finish(queue);
  device_->release(one);
  device_->release(two);
}

TEST_F(PLevelZero, P3_AFusedKernelHasOneArgumentForAllMembers) {
  if (in_one_call_) GTEST_SKIP() << "all arguments go in one call";
  Device device = Device::get("LevelZero:0");
  window::current().set_enabled(true);
  window::current().set_planner(Planner::always);
  window::current().set_limits(8, 8);
  const auto scale = kernel("scale", [](Span<float> x, Value<float> by, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] *= by; });
  });
  std::vector<Vector<float>> vectors;
  for (int i = 0; i < 8; ++i) vectors.emplace_back(100, 1.0f);
  const auto round = [&](float by) {
    for (auto& vector : vectors) device.launch(scale, over(100), vector, by, 100);
    flush(device);
  };
  round(1.0f);
  EXPECT_THAT(launch_log_of([&] { round(1.0f); }), ElementsAre(kAppend));
  EXPECT_THAT(launch_log_of([&] { round(3.0f); }), ElementsAre(kSet, kAppend));
  EXPECT_EQ(vectors[7][99], 3.0f);
}

TEST_F(PLevelZero, P4_ThreadsThatShareAKernelKeepTheirArguments) {
  const auto executable = built(linear());
  constexpr int kThreads = 4;
  std::vector<runtime::Buffer> buffers(kThreads);
  std::vector<std::unique_ptr<runtime::Queue>> queues;
  for (auto& buffer : buffers) {
    buffer = ones();
    queues.push_back(device_->make_queue(0));
  }
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < 25; ++i)
          launch(*queues[t], *executable, buffers[t], 1, t, 32U << t % 2);
      });
    }
  }
  for (int t = 0; t < kThreads; ++t) {
    EXPECT_THAT(
        contents(*queues[static_cast<std::size_t>(t)], buffers[static_cast<std::size_t>(t)]),
        Each(1 + 25 * t));
    device_->release(buffers[static_cast<std::size_t>(t)]);
  }
}

TEST_F(PLevelZero, P8_ChainedPropertiesAreAnswered) {
  if (!first_.lists_max_group_size) GTEST_SKIP() << "the driver does not tell";
  control_->knobs().kernel_group_size = 192;
  EXPECT_EQ(built(linear())->max_threads_per_block(), 192U);
}

TEST_F(PLevelZero, P10_OlderDriversGetABarrierAfterEachCommand) {
  const auto executable = built(linear());
  const runtime::Buffer one = ones();
  const runtime::Buffer two = device_->allocate(kCount * 4);
  auto& queue = device_->queue();
  launch(queue, *executable, one, 2, 0);
  const auto log = log_of([&] {
    launch(queue, *executable, one, 3, 0);
    device_->copy(queue, two, 0, one, 0, kCount * 4);
  });
  EXPECT_EQ(std::ranges::count(log, kBarrier), keeps_order_ ? 0 : 2);
  // The driver runs what no barrier orders from the back: order is what makes this right.
  launch(queue, *executable, two, 1, 1);
  EXPECT_THAT(contents(queue, two), Each(7));
  device_->release(one);
  device_->release(two);
}

TEST_F(PLevelZero, P10_TheUserMayVouchForOrder) {
  open({.in_order = true});
  const auto executable = built(linear());
  const runtime::Buffer one = ones();
  const auto log = log_of([&] { launch(device_->queue(), *executable, one, 3, 0); });
  EXPECT_EQ(std::ranges::count(log, kBarrier), 0);
  device_->finish(device_->queue());
  device_->release(one);
}

TEST_F(PLevelZero, P10_WithoutHostSynchronizeABarriersEventIsWaitedFor) {
  control_->knobs().host_synchronize_unsupported = true;
  open({});
  const auto executable = built(linear());
  const runtime::Buffer one = ones();
  launch(device_->queue(), *executable, one, 5, 0);
  const auto synchronized = control_->calls("zeCommandListHostSynchronize");
  const auto waited = control_->calls("zeEventHostSynchronize");
  EXPECT_THAT(contents(device_->queue(), one), Each(5));
  device_->finish(device_->queue());
  EXPECT_EQ(control_->calls("zeCommandListHostSynchronize"), synchronized)
      << "the driver said once that it has no such call";
  EXPECT_EQ(control_->calls("zeEventHostSynchronize"), waited + 2);
  device_->release(one);
}

TEST_F(PLevelZero, P11_ACallThatTheDriverTakesBackIsNotTriedAgain) {
  if (!in_one_call_) GTEST_SKIP() << "the driver has no such call";
  control_->knobs().launch_with_arguments_unsupported = true;
  open({});
  const auto executable = built(linear());
  const runtime::Buffer one = ones();
  EXPECT_THAT(log_of([&] { launch(device_->queue(), *executable, one, 2, 0); }),
              ElementsAre(kInOneCall, kSet, kSet, kSet, kGroup, kAppend));
  EXPECT_THAT(log_of([&] { launch(device_->queue(), *executable, one, 2, 0); }),
              ElementsAre(kAppend));
  EXPECT_THAT(contents(device_->queue(), one), Each(4));
  device_->release(one);
}

TEST_F(PLevelZero, P13_PageableMemoryMayBeReusedWhenTheCallReturns) {
  std::vector<std::int32_t> data(kCount, 7);
  const runtime::Buffer buffer = device_->allocate(kCount * 4);
  device_->write(device_->queue(), buffer, 0, data.data(), kCount * 4);
  std::ranges::fill(data, 8);
  EXPECT_THAT(contents(device_->queue(), buffer), Each(7));
  device_->release(buffer);
}

TEST_F(PLevelZero, P13_ABusyListIsLeftToTheDriverWithOneWarning) {
  const auto executable = built(linear());
  const runtime::Buffer buffer = ones();
  auto first = device_->make_queue(0);
  auto second = device_->make_queue(0);
  launch(*first, *executable, buffer, 2, 0);
  device_->finish(*first);
  control_->knobs().busy = true;
  const auto destroyed = control_->calls("zeCommandListDestroy");
  std::vector<std::string> said;
  const LogSink former =
      set_log_sink([&](LogLevel, std::string_view message) { said.emplace_back(message); });
  testing::internal::CaptureStderr();
  first.reset();
  second.reset();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  set_log_sink(former);
  EXPECT_THAT(said, ElementsAre(HasSubstr("still busy after 10 s")));
  EXPECT_EQ(control_->calls("zeCommandListDestroy"), destroyed);
  control_->knobs().busy = false;
  device_->release(buffer);
}

TEST_F(PLevelZero, P14_MemoryIsMadeResidentOnceAndNeverTakenFromTheHost) {
  const auto resident = control_->calls("zeContextMakeMemoryResident");
  const auto host = control_->calls("zeMemAllocHost");
  const runtime::Buffer one = ones();
  const runtime::Buffer two = device_->allocate(kCount * 4);
  const auto executable = built(linear());
  for (int i = 0; i < 10; ++i) {
    launch(device_->queue(), *executable, one, 1, 1);
    device_->copy(device_->queue(), two, 0, one, 0, kCount * 4);
  }
  const std::int32_t pattern = 9;
  static_cast<backends::level_zero::LevelZeroDevice&>(*device_).fill(device_->queue(), two, 4,
                                                                     &pattern, 4, 8);
  std::vector<std::int32_t> expected(kCount, 11);
  expected[1] = expected[2] = 9;
  EXPECT_EQ(contents(device_->queue(), two), expected);
  EXPECT_EQ(control_->calls("zeContextMakeMemoryResident") - resident, first_.integrated ? 0U : 2U);
  EXPECT_EQ(control_->calls("zeMemAllocHost"), host);
  device_->release(one);
  device_->release(two);
}

TEST_F(PLevelZero, NothingIsLeftBehind) {
  device_.reset();
  const auto objects = control_->objects();
  open({});
  auto executable = built(linear());
  const runtime::Buffer buffer = ones();
  const runtime::HostBlock block = device_->allocate_host(64);
  auto event = device_->make_event();
  auto other = device_->make_queue(1);
  for (int i = 0; i < 100; ++i) {
    launch(*other, *executable, buffer, 1, 1);
    device_->record(*other, *event);
    device_->wait(device_->queue(), *event);
    device_->copy(device_->queue(), buffer, 0, buffer, 512, 4);
    device_->record(device_->queue(), *event);
    device_->wait(*other, *event);
  }
  EXPECT_THAT(contents(*other, buffer), Each(101));
  EXPECT_LE(control_->calls("zeEventCreate"), 500U);
  device_->release_host(block);
  device_->release(buffer);
  executable.reset();
  event.reset();
  other.reset();
  device_.reset();
  EXPECT_EQ(control_->objects(), objects);
}

TEST_F(PLevelZero, MemoryThatRunsOutIsCalledThat) {
  control_->knobs().out_of_memory = true;
  try {
    device_->allocate(64);
    FAIL() << "memory was found";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::out_of_memory);
    EXPECT_EQ(error.operation(), "zeMemAllocDevice");
    EXPECT_THAT(error.what(), HasSubstr("ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"));
  }
}

TEST_F(PLevelZero, ABlockThatIsTooLargeFailsByNameAndTheNextLaunchWorks) {
  control_->knobs().kernel_group_size = 64;
  const auto executable = built(linear());
  const runtime::Buffer buffer = ones();
  try {
    launch(device_->queue(), *executable, buffer, 2, 0, 128);
    FAIL() << "128 threads were taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::launch_failed);
  }
  launch(device_->queue(), *executable, buffer, 2, 0, 64);
  EXPECT_THAT(contents(device_->queue(), buffer), Each(2));
  device_->release(buffer);
}

/// In a process of its own, whose driver does not start: any further call would end it.
TEST(P12FailedInit, P12_NothingElseIsCalledAndTheReasonIsInWords) {
  test::level_zero::Control* control = find_level_zero();
  if (!control || !control->knobs().init_fails) GTEST_SKIP() << "the driver starts here";
  const auto backend = backends::level_zero::make_backend();
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(backend->open().empty());
    ASSERT_TRUE(backend->unavailable());
    EXPECT_THAT(backend->unavailable()->reason, HasSubstr("zeInit answers ZE_RESULT_ERROR"));
  }
}

}  // namespace
}  // namespace salvo::tests
