// Streams, events, pinned memory and user source: what a backend may lack, with a reason.
// SPDX-License-Identifier: MIT
#include <functional>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/exceptions.hpp"
#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

using runtime::Argument;
using runtime::Buffer;
using runtime::HostBlock;

class Streams : public OnDevice {
 protected:
  static constexpr std::uint32_t kCount = 4096;

  void SetUp() override {
    buffer_ = driver().allocate(kCount * 4);
    const std::vector<std::int32_t> zero(kCount, 0);
    driver().write(driver().queue(), buffer_, 0, zero.data(), kCount * 4);
    driver().finish(driver().queue());
  }
  void TearDown() override { driver().release(buffer_); }

  /// Runs a test of an optional operation; a backend that lacks it must be listed.
  void optional(const std::function<void()>& body) {
    try {
      body();
    } catch (const Error& error) {
      if (error.code() != Errc::unsupported) throw;
      const std::string_view reason = expected_failure(subject(), test_name(subject()));
      ASSERT_FALSE(reason.empty()) << error.what();
      GTEST_SKIP() << reason;
    }
    ASSERT_TRUE(expected_failure(subject(), test_name(subject())).empty())
        << "works, though listed as lacking";
  }

  std::unique_ptr<runtime::Executable> increments(std::int32_t rounds) {
    Shapes k("increments");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::I32), false);
    const ValueId i = k.position(Op::GlobalIdx, 0);
    k.for_up(k.constant_i32(0), k.constant_i32(rounds), k.constant_i32(1), [&](ValueId) {
      k.store(x, i, k.op(Op::Add, {k.load(x, i), k.constant_i32(1)}));
    });
    const ir::Kernel kernel = k.finish();
    return driver().build(kernel, driver().translate(kernel, {}), {});
  }
  void launch(runtime::Queue& queue, runtime::Executable& executable) {
    const Argument arguments[] = {{.buffer = buffer_, .length = kCount}};
    driver().launch(queue, executable, over(kCount), arguments);
  }
  std::vector<std::int32_t> contents(runtime::Queue& queue) {
    std::vector<std::int32_t> data(kCount);
    driver().read(queue, data.data(), buffer_, 0, kCount * 4);
    return data;
  }

  Buffer buffer_;
};
SALVO_ON_DEVICES(Streams);

TEST_P(Streams, EventsOrderQueues) {
  optional([&] {
    const auto first = driver().make_queue(0);
    const auto second = driver().make_queue(0);
    const auto event = driver().make_event();
    const auto slow = increments(200);
    const auto quick = increments(1);
    for (int i = 0; i < 5; ++i) {
      launch(*first, *slow);
      driver().record(*first, *event);
      driver().wait(*second, *event);
      launch(*second, *quick);
      driver().record(*second, *event);
      driver().wait(*first, *event);
    }
    driver().finish(*first);
    EXPECT_THAT(contents(*second), testing::Each(5 * 201));
  });
}

TEST_P(Streams, EventsAreReachedOnceWaitedFor) {
  optional([&] {
    const auto event = driver().make_event();
    const auto work = increments(50);
    launch(driver().queue(), *work);
    driver().record(driver().queue(), *event);
    driver().wait(*event);
    EXPECT_TRUE(driver().reached(*event));
    EXPECT_THAT(contents(driver().queue()), testing::Each(50));
  });
}

TEST_P(Streams, ElapsedTimeIsOnTheDevicesClock) {
  optional([&] {
    const auto before = driver().make_event();
    const auto after = driver().make_event();
    const auto work = increments(100);
    driver().record(driver().queue(), *before);
    launch(driver().queue(), *work);
    driver().record(driver().queue(), *after);
    const double forward = driver().elapsed_ms(*before, *after);
    EXPECT_GT(forward, 0);
    EXPECT_DOUBLE_EQ(driver().elapsed_ms(*after, *before), -forward);
  });
}

TEST_P(Streams, PinnedMemoryIsCopiedAsynchronously) {
  optional([&] {
    const HostBlock block = driver().allocate_host(kCount * 4);
    auto* numbers = static_cast<std::int32_t*>(block.data);
    std::iota(numbers, numbers + kCount, 0);
    const auto event = driver().make_event();
    driver().write_async(driver().queue(), buffer_, 400, block, 800, 1200);
    driver().record(driver().queue(), *event);
    driver().wait(*event);
    std::vector<std::int32_t> data = contents(driver().queue());
    EXPECT_EQ(data[99], 0);
    EXPECT_EQ(data[100], 200);
    EXPECT_EQ(data[399], 499);
    EXPECT_EQ(data[400], 0);
    driver().read_async(driver().queue(), block, 0, buffer_, 400, 8);
    driver().finish(driver().queue());
    EXPECT_EQ(numbers[0], 200);
    EXPECT_EQ(numbers[2], 2);
    driver().release_host(block);
  });
}

TEST_P(Streams, RegisteredMemoryIsCopiedAsynchronously) {
  optional([&] {
    std::vector<std::int32_t> data(kCount, 7);
    const HostBlock block = driver().register_host(data.data(), kCount * 4);
    driver().write_async(driver().queue(), buffer_, 0, block, 0, kCount * 4);
    driver().finish(driver().queue());
    driver().unregister_host(block);
    EXPECT_THAT(contents(driver().queue()), testing::Each(7));
  });
}

TEST_P(Streams, UserSourceRunsWithItsOwnArguments) {
  optional([&] {
    const auto executable = driver().build_source(user_source(subject()));
    const Argument arguments[] = {{.buffer = buffer_, .length = kCount},
                                  {.bits = std::bit_cast<std::uint32_t>(2.5f)},
                                  {.bits = 3}};
    driver().launch(driver().queue(), *executable, over(kCount), arguments);
    std::vector<std::int32_t> data = contents(driver().queue());
    for (std::uint32_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(data[i], static_cast<std::int32_t>(2.5f * static_cast<float>(i)) + 3) << i;
    }
  });
}

TEST_P(Streams, UserSourceInAnotherLanguageIsRefusedByName) {
  try {
    driver().build_source({"COBOL", "", "main", {}});
    FAIL() << "COBOL was compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported) << error.what();
  }
}

}  // namespace
}  // namespace salvo::conformance
