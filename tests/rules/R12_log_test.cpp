// R12, W25: the library prints nothing; who listens is told, while no lock is held.
// SPDX-License-Identifier: MIT
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "rules/window_fixture.hpp"
#include "runtime/log.hpp"

namespace salvo::tests {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class R12Log : public WindowRules {
 protected:
  ~R12Log() override { set_log_sink({}); }

  void listen() {
    set_log_sink([this](LogLevel level, std::string_view message) {
      said.push_back(std::string(name(level)) + ": " + std::string(message));
    });
  }
  /// Two launches whose fused kernel does not build.
  void fall_back() {
    fake.control->fail(Driver::build, 1, "fused");
    device.launch(twice, over(kCount), x, y, kCount);
    device.launch(negate, over(kCount), x, z, kCount);
    fake.window().flush();
    EXPECT_EQ(fake.window().stats().fallbacks, 1U);
  }

  std::vector<std::string> said;
};

TEST_F(R12Log, R12_NothingIsPrintedWhereNobodyListens) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  fall_back();
  FakeRuntime none(FakeOptions{.missing = "no such library"});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(R12Log, R12_AGroupThatIsLaunchedOneByOneIsToldOnce) {
  listen();
  fall_back();
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), x, z, kCount);
  fake.window().flush();
  EXPECT_THAT(said, ElementsAre(AllOf(HasSubstr("warning: twice+negate is launched one by one on "),
                                      HasSubstr("because as one launch it failed: "))));
}

TEST_F(R12Log, R12_AMergedPairThatIsLaunchedApartIsToldToo) {
  listen();
  fake.window().set_epilogue_enabled(true);
  fake.control->fail(Driver::build, 1, "twice+negate");
  device.launch(twice, over(kCount), x, y, kCount);
  device.launch(negate, over(kCount), y, z, kCount);
  fake.window().flush();
  EXPECT_EQ(fake.window().stats().fallbacks, 1U);
  EXPECT_THAT(said, ElementsAre(HasSubstr("twice+negate is launched one by one")));
}

TEST_F(R12Log, R12_ABackendThatIsMissingIsANoteAndAHiddenOneIsNot) {
  listen();
  FakeRuntime none(FakeOptions{.backend = "Vulkan", .missing = "no such library"});
  EXPECT_THAT(said, ElementsAre("note: Vulkan is not available: no such library"));
  said.clear();
  FakeRuntime hidden(FakeOptions{.backend = "Vulkan"}, [](const char* name) {
    return std::string_view(name) == "SALVO_DISABLE_VULKAN" ? "1" : nullptr;
  });
  EXPECT_THAT(said, IsEmpty());
}

TEST_F(R12Log, R12_AFolderThatCannotBeWrittenIsToldOnceAndFailsNothing) {
  FakeRuntime kept(
      FakeOptions{.backend = "Vulkan"}, [](const char*) { return nullptr; }, "/dev/null/cache");
  listen();
  for (const Floats& one : {twice, negate}) {
    kept.device().launch(one, over(kCount), x, y, kCount);
    EXPECT_EQ(std::abs(y[0]), one.record() == twice.record() ? 6.0f : 3.0f);
  }
  EXPECT_THAT(said, ElementsAre("warning: compiled kernels cannot be kept in /dev/null/cache"));
}

TEST_F(R12Log, W25_TheSinkHoldsNoLockOfSalvos) {
  bool called = false;
  set_log_sink([&](LogLevel, std::string_view) {
    called = true;
    // Another thread would wait for ever for a lock that this one holds.
    std::jthread([&] {
      device.launch(increment, over(kCount), z, kCount);
      device.synchronize();
      set_log_sink({});
    }).join();
    device.synchronize();
  });
  fall_back();
  EXPECT_TRUE(called);
  EXPECT_EQ(z[0], -2.0f) << "told once both had been launched";
}

TEST_F(R12Log, R12_WhatTheSinkThrowsIsDropped) {
  int calls = 0;
  set_log_sink([&](LogLevel, std::string_view) {
    ++calls;
    throw std::runtime_error("the sink's own");
  });
  EXPECT_NO_THROW(fall_back());
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(z[0], -3.0f);
}

TEST_F(R12Log, R12_TheFormerSinkIsHandedBack) {
  EXPECT_FALSE(set_log_sink([&](LogLevel, std::string_view) { said.emplace_back("first"); }));
  LogSink first = set_log_sink([&](LogLevel, std::string_view) { said.emplace_back("second"); });
  runtime::log(LogLevel::note, "a");
  ASSERT_TRUE(first);
  EXPECT_TRUE(set_log_sink(std::move(first)));
  runtime::log(LogLevel::note, "b");
  EXPECT_THAT(said, ElementsAre("second", "first"));
}

TEST_F(R12Log, W25_AMessageWaitsUntilTheLastLockIsLetGo) {
  listen();
  runtime::QuietMutex one, two;
  {
    const std::scoped_lock both(one, two);
    runtime::log(LogLevel::warning, "first");
    runtime::log(LogLevel::note, "second");
    EXPECT_THAT(said, IsEmpty());
    std::jthread([] { runtime::log(LogLevel::note, "of a thread without one"); }).join();
    EXPECT_THAT(said, ElementsAre("note: of a thread without one"));
    said.clear();
  }
  EXPECT_THAT(said, ElementsAre("warning: first", "note: second"));
}

}  // namespace
}  // namespace salvo::tests
