// R7: streams are ordered by events; what the library does comes after what streams do.
// SPDX-License-Identifier: MIT
#include <atomic>
#include <optional>
#include <thread>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

/// The fake device does a stream's work as late as it may: an order that is missing shows.
class R7Streams : public ::testing::Test {
 protected:
  static constexpr int kCount = 100;

  void launch_on(const Stream& stream, const Floats& kernel, Vector<float>& from,
                 Vector<float>& to) {
    stream.launch(kernel, over(kCount), from, to, kCount);
  }
  std::size_t count(Driver what) const { return fake.control->count(what); }

  FakeRuntime fake{FakeOptions{.devices = 2}};
  Device device = fake.device(0);
  Floats twice = scaled("twice", 2.0f), negate = scaled("negate", -1.0f);
  Vector<float> x{std::vector<float>(kCount, 3.0f)}, y = Vector<float>(kCount),
                                                     z = Vector<float>(kCount);
};

TEST_F(R7Streams, R7_AStreamsLaunchesRunInOrder) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  launch_on(stream, negate, y, z);
  stream.synchronize();
  EXPECT_EQ(z[7], -6.0f);
}

TEST_F(R7Streams, R7_AStreamLaunchComesAfterTheUploadsItNeeds) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  EXPECT_EQ(y[0], 6.0f);
  x[0] = 50.0f;
  launch_on(stream, twice, x, y);
  EXPECT_EQ(y[0], 100.0f);
}

TEST_F(R7Streams, R7_AStreamWaitsOnceForUploadsOfTheDefaultQueue) {
  const Stream stream(device);
  fake.control->clear();
  launch_on(stream, twice, x, y);
  launch_on(stream, twice, x, y);
  std::vector<std::pair<Driver, std::uint32_t>> order;
  for (const auto& call : fake.control->calls()) {
    if (call.what != Driver::allocate && call.what != Driver::build) {
      order.emplace_back(call.what, call.queue);
    }
  }
  EXPECT_EQ(order, (std::vector<std::pair<Driver, std::uint32_t>>{{Driver::write, 0U},
                                                                  {Driver::write, 0U},
                                                                  {Driver::record, 0U},
                                                                  {Driver::wait_in_queue, 1U},
                                                                  {Driver::launch, 1U},
                                                                  {Driver::launch, 1U}}));
}

TEST_F(R7Streams, R7_ReadingBackWaitsForTheLastWriterOnAnyStream) {
  const Stream first(device), second(device);
  launch_on(first, twice, x, y);
  launch_on(second, negate, x, z);
  EXPECT_EQ(z[3], -3.0f);
  EXPECT_EQ(y[3], 6.0f);
}

TEST_F(R7Streams, R7_ReadingARangeBackWaitsForTheLastWriter) {
  const Stream stream(device);
  std::vector<float> part(4);
  launch_on(stream, twice, x, y);
  copy_to_host(y, 10, part);
  EXPECT_EQ(part, std::vector<float>(4, 6.0f));
}

TEST_F(R7Streams, R7_ReadingBackDoesNotWaitForReaders) {
  const Stream stream(device);
  device.launch(twice, over(kCount), x, y, kCount);
  device.synchronize();
  launch_on(stream, negate, y, z);
  fake.control->clear();
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(count(Driver::wait_in_queue), 0U);
  EXPECT_EQ(z[0], -6.0f);
  EXPECT_EQ(count(Driver::wait_in_queue), 1U);
}

TEST_F(R7Streams, R7_AnUploadWaitsForTheReadersOfTheOldBytes) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  x[0] = 50.0f;
  device.launch(negate, over(kCount), x, z, kCount);  // uploads x again
  EXPECT_EQ(z[0], -50.0f);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(R7Streams, R7_ARangedUploadWaitsForTheReadersOfTheOldBytes) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  copy_to_device(device, x, 0, std::vector<float>{50.0f});
  EXPECT_EQ(y[0], 6.0f);
  launch_on(stream, negate, x, z);
  EXPECT_EQ(z[0], -50.0f);
}

TEST_F(R7Streams, R7_AFreedBlockIsNotReusedBeforeTheStreamsWorkOnItIsDone) {
  const Stream stream(device);
  std::optional<Vector<float>> source(std::vector<float>(kCount, 3.0f));
  launch_on(stream, twice, *source, y);
  source.reset();  // its block is the next one of its size
  Vector<float> next{std::vector<float>(kCount, 50.0f)};
  device.launch(negate, over(kCount), next, z, kCount);
  EXPECT_EQ(fake.control->count(Driver::allocate), 3U);
  EXPECT_EQ(z[0], -50.0f);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(R7Streams, R7_ABlockThatIsFilledWithoutAnUploadIsNotReusedTooEarlyEither) {
  const Stream stream(device);
  std::optional<Vector<float>> source(std::vector<float>(kCount, 3.0f));
  launch_on(stream, twice, *source, y);
  source.reset();
  Vector<float> next(kCount);
  fill(device, next, 50.0f);
  device.synchronize();
  EXPECT_EQ(fake.control->count(Driver::allocate), 2U);
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(next[0], 50.0f);
}

TEST_F(R7Streams, R7_AVectorMayBeDestroyedWhileAStreamUsesIt) {
  const Stream stream(device);
  {
    Vector<float> source{std::vector<float>(kCount, 3.0f)};
    launch_on(stream, twice, source, y);
  }
  EXPECT_EQ(count(Driver::release), 0U);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(R7Streams, R7_MovingAVectorToAnotherDeviceWaitsForStreams) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  fake.device(1).launch(negate, over(kCount), y, z, kCount);
  EXPECT_EQ(z[0], -6.0f);
}

TEST_F(R7Streams, R7_EventsOrderStreams) {
  const Stream first(device), second(device);
  launch_on(first, twice, x, y);
  const Event done = first.record();
  second.wait(done);
  launch_on(second, negate, y, z);
  EXPECT_EQ(z[0], -6.0f);
}

TEST_F(R7Streams, R7_EventsOrderLaunchesOnNoStreamAfterAStream) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  Stream::default_of(device).wait(stream.record());
  device.launch(negate, over(kCount), y, z, kCount);
  EXPECT_EQ(z[0], -6.0f);
}

TEST_F(R7Streams, R7_WithoutAnEventStreamsOverlap) {
  const Stream first(device), second(device);
  to_device(device, x);
  to_device(device, y);
  to_device(device, z);
  launch_on(first, twice, x, y);
  launch_on(second, twice, x, z);
  fake.control->clear();
  for (int i = 0; i < 5; ++i) {
    launch_on(first, twice, x, y);
    launch_on(second, negate, x, z);
  }
  device.launch(twice, over(kCount), x, y, kCount);
  fake.window().flush();
  EXPECT_EQ(count(Driver::wait_in_queue), 0U);
  EXPECT_EQ(count(Driver::record), 0U);
  EXPECT_EQ(count(Driver::finish), 0U);
}

TEST_F(R7Streams, R7_AnOrderOnceMadeIsNotMadeAgain) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  launch_on(stream, negate, x, z);
  fake.control->clear();
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(z[0], -3.0f);
  EXPECT_EQ(count(Driver::wait_in_queue), 1U);
}

TEST_F(R7Streams, R7_AnEventIsReachedOnceItsWorkIsDone) {
  const Stream stream(device);
  Event event(device);
  EXPECT_TRUE(event.query());  // never recorded
  event.wait();
  launch_on(stream, twice, x, y);
  stream.record(event);
  EXPECT_FALSE(event.query());
  event.wait();
  EXPECT_TRUE(event.query());
}

TEST_F(R7Streams, R7_ElapsedTimeIsTheDevicesAndSigned) {
  const Stream stream(device);
  const Event first = stream.record();
  launch_on(stream, twice, x, y);
  launch_on(stream, twice, x, y);
  const Event last = stream.record();
  EXPECT_EQ(Event::elapsed_ms(first, last), 2.0);
  EXPECT_EQ(Event::elapsed_ms(last, first), -2.0);
  EXPECT_EQ(Event::elapsed_ms(last, last), 0.0);
}

TEST_F(R7Streams, R7_AStreamMayWaitForAnEventOfAnotherDevice) {
  const Stream here(device), there(fake.device(1));
  launch_on(there, twice, x, y);
  const Event done = there.record();
  here.wait(done);
  EXPECT_TRUE(done.query());
}

TEST_F(R7Streams, R7_AnEventIsRecordedOnItsOwnDeviceOnly) {
  const Stream there(fake.device(1));
  EXPECT_THROW(there.record(Event(device)), Error);
}

TEST_F(R7Streams, R7_DestroyingAStreamWaitsForItsWork) {
  {
    const Stream stream(device);
    launch_on(stream, twice, x, y);
    EXPECT_EQ(count(Driver::finish), 0U);
  }
  EXPECT_EQ(count(Driver::finish), 1U);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(R7Streams, R7_AFailureThatOnlyTheLastHandleMeetsIsThrownByTheNextCall) {
  {
    const Stream stream(device);
    launch_on(stream, twice, x, y);
    fake.control->fail(Driver::finish);
  }
  EXPECT_TRUE(fake.control->all_faults_struck());
  EXPECT_THROW(device.launch(negate, over(kCount), x, z, kCount), Error);
  EXPECT_NO_THROW(device.launch(negate, over(kCount), x, z, kCount));
}

TEST_F(R7Streams, R7_DeviceSynchronizeWaitsForItsStreams) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  const Event done = stream.record();
  EXPECT_FALSE(done.query());
  device.synchronize();
  EXPECT_TRUE(done.query());
}

TEST_F(R7Streams, R7_FlushMakesStreamsStart) {
  const Stream stream(device);
  launch_on(stream, twice, x, y);
  fake.control->clear();
  fake.window().flush();
  ASSERT_EQ(count(Driver::submit), 1U);
  EXPECT_EQ(fake.control->calls().front().queue, 1U);
  fake.window().flush();
  EXPECT_EQ(count(Driver::submit), 1U);
}

TEST_F(R7Streams, R7_AStreamLaunchThatTheDriverRefusesLeavesTheOutputAsItWas) {
  const Stream stream(device);
  Vector<float> sevens(kCount, 7.0f);
  fake.control->fail(Driver::launch);
  EXPECT_THROW(stream.launch(twice, over(kCount), x, sevens, kCount), Error);
  EXPECT_EQ(sevens[0], 7.0f);
  EXPECT_EQ(fake.window().stats().failed, 1U);
}

TEST_F(R7Streams, R13_ThreadsWithStreamsOfTheirOwnShareADevice) {
  constexpr int kThreads = 4, kRounds = 20;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const Stream stream(device);
      Vector<float> own{std::vector<float>(kCount, 1.0f)}, from_stream(kCount), from_none(kCount);
      const Event point(device);
      for (int round = 0; round < kRounds; ++round) {
        const auto start = static_cast<float>(t * kRounds + round);
        own[0] = start;
        launch_on(stream, twice, own, from_stream);
        stream.record(point);
        device.launch(negate, over(kCount), own, from_none, kCount);
        if (round % 3 == 0) point.wait();
        if (from_stream[0] != 2 * start || from_none[0] != -start) ++wrong;
        Vector<float> brief(kCount);
        fill(device, brief, start);
        launch_on(stream, twice, brief, from_stream);  // not ordered, and so not looked at
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace salvo::tests
