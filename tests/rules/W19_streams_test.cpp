// W19, W20: stream, event, timer and copy operations issue what is held, on all devices.
// SPDX-License-Identifier: MIT
#include <functional>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

using Calls = std::vector<std::pair<const char*, std::function<void()>>>;

/// Two devices; what is held on the second must be issued by operations on the first.
class W19Streams : public ::testing::Test {
 protected:
  static constexpr int kCount = 100;

  void expect_each_issues(const Calls& calls) {
    for (const auto& [name, call] : calls) {
      other.launch(twice, over(kCount), held_x, held_y, kCount);
      EXPECT_EQ(fake.window().stats().held, 1U) << name;
      call();
      EXPECT_EQ(fake.window().stats().held, 0U) << name;
    }
  }

  FakeRuntime fake{FakeOptions{.devices = 2}};
  Device device = fake.device(0), other = fake.device(1);
  Floats twice = scaled("twice", 2.0f);
  Vector<float> held_x{std::vector<float>(kCount, 3.0f)}, held_y = Vector<float>(kCount);
  Vector<float> x{std::vector<float>(kCount, 5.0f)}, y = Vector<float>(kCount);
};

TEST_F(W19Streams, W19_EveryStreamAndEventOperationIssuesWhatIsHeld) {
  const Stream stream(device);
  Event event(device), later(device);
  stream.record(event);
  stream.record(later);
  expect_each_issues({
      {"create a stream", [&] { const Stream made(device); }},
      {"default stream", [&] { Stream::default_of(device); }},
      {"launch", [&] { stream.launch(twice, over(kCount), x, y, kCount); }},
      {"synchronize", [&] { stream.synchronize(); }},
      {"record", [&] { stream.record(event); }},
      {"record a new event", [&] { stream.record(); }},
      {"wait in a stream", [&] { stream.wait(event); }},
      {"create an event", [&] { const Event made(device); }},
      {"wait", [&] { event.wait(); }},
      {"query", [&] { event.query(); }},
      {"elapsed", [&] { Event::elapsed_ms(event, later); }},
  });
}

TEST_F(W19Streams, W19_DestroyingAStreamIssuesWhatIsHeld) {
  auto stream = std::make_unique<Stream>(device);
  other.launch(twice, over(kCount), held_x, held_y, kCount);
  stream.reset();
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(W19Streams, W19_EveryRangedCopyIssuesWhatIsHeld) {
  const Stream stream(device);
  std::vector<float> host(10);
  to_device(device, x);
  to_device(device, y);
  expect_each_issues({
      {"copy_to_host of what the host has", [&] { copy_to_host(y, 5, host); }},
      {"copy_to_device", [&] { copy_to_device(device, x, 5, host); }},
      {"copy_to_host", [&] { copy_to_host(x, 5, host); }},
      {"copy", [&] { copy(x, 0, y, 10, 10); }},
      {"copy on a stream", [&] { copy(stream, x, 0, y, 10, 10); }},
  });
}

TEST_F(W19Streams, W19_StagingRegisteringAndFreeingPinnedMemoryIssueWhatIsHeld) {
  const Stream stream(device);
  std::vector<float> host(10);
  Pinned<float> pinned = alloc_pinned<float>(device, 10), registered;
  expect_each_issues({
      {"stage_to_device", [&] { stage_to_device(device, x, 0, pinned, 0, 10); }},
      {"stage_to_device on a stream", [&] { stage_to_device(stream, x, 0, pinned, 0, 10); }},
      {"stage_to_host", [&] { stage_to_host(stream, x, 0, pinned, 0, 10); }},
      {"register_host", [&] { registered = register_host(device, std::span<float>(host)); }},
      {"unregister_host", [&] { unregister_host(registered); }},
      {"free_pinned", [&] { free_pinned(pinned); }},
      {"free_on_device", [&] { free_on_device(x); }},
  });
}

TEST_F(W19Streams, W7_AStreamLaunchIsNeverHeldAndIssuesWhatWasHeldFirst) {
  const Stream stream(device);
  const auto negate = scaled("negate", -1.0f);
  device.launch(twice, over(kCount), held_x, held_y, kCount);
  stream.launch(negate, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.control->launched(), (std::vector<std::string>{"twice", "negate"}));
  Stream::default_of(device).launch(negate, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.control->count(Driver::launch), 3U);
  EXPECT_EQ(fake.window().stats().refusals.at(Reason::on_stream), 2U);
  EXPECT_EQ(fake.window().stats().submitted, 3U);
  EXPECT_EQ(fake.window().stats().issued, 3U);
}

TEST_F(W19Streams, W19_AFlushThatFailsStopsTheOperation) {
  const Stream stream(device);
  Event event(device);
  fake.control->clear();
  other.launch(twice, over(kCount), held_x, held_y, kCount);
  fake.control->fail(Driver::launch);
  EXPECT_THROW(stream.record(event), Error);
  EXPECT_EQ(fake.control->count(Driver::record), 0U);
}

TEST_F(W19Streams, W20_TheBracketHoldsExactlyTheLaunchesMadeInsideIt) {
  Timer timer(device);
  // The clock counts launches; unlike blocks keep these from becoming one.
  const auto some = [&](int launches) {
    for (int i = 0; i < launches; ++i)
      device.launch(twice, grid(1 + i).block(32 << i), x, y, kCount);
  };
  some(2);
  timer.start();
  some(3);
  timer.stop();
  some(1);
  EXPECT_EQ(fake.window().stats().held, 1U);
  EXPECT_EQ(timer.elapsed_ms(), 3.0);
  EXPECT_EQ(fake.window().stats().held, 0U);
}

TEST_F(W19Streams, W20_ATimerOfAStreamTimesThatStream) {
  const Stream stream(device);
  Timer timer(stream);
  timer.start();
  for (int i = 0; i < 4; ++i) stream.launch(twice, over(kCount), x, y, kCount);
  timer.stop();
  EXPECT_EQ(timer.elapsed_ms(), 4.0);
}

TEST_F(W19Streams, W20_ATimerThatWasNotStoppedHasNoTime) {
  Timer timer(device);
  timer.start();
  try {
    timer.elapsed_ms();
    FAIL() << "a time was told";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    EXPECT_EQ(error.message(), "elapsed time needs two events that were recorded");
  }
}

}  // namespace
}  // namespace salvo::tests
