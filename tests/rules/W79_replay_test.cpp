// W79: a window whose launches cannot fuse is replayed as one sequence when it comes again.
// SPDX-License-Identifier: MIT
#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

class W79Replay : public ::testing::Test {
 protected:
  static constexpr int kCount = 1000;
  static constexpr std::size_t kLaunches = 6;

  static FakeOptions options() {
    FakeOptions made;
    made.shortest_replay = 4;
    return made;
  }
  W79Replay() {
    fake.window().set_epilogue_enabled(false);
    fake.window().set_limits(16, 8);
    for (std::size_t k = 0; k <= kLaunches; ++k) {
      vectors.emplace_back(std::vector<float>(kCount, static_cast<float>(k) + 0.5f));
    }
  }
  /// Each launch reads what the one before it wrote.
  void chain(const Floats& kernel, int n = kCount) {
    for (std::size_t k = 0; k < kLaunches; ++k) {
      device.launch(kernel, over(n), vectors[k], vectors[k + 1], n);
    }
    fake.window().flush();
  }
  std::vector<float> last() { return values(vectors[kLaunches]); }
  std::size_t replays() const { return fake.control->count(Driver::replay); }
  std::size_t launches() const { return fake.control->count(Driver::launch); }

  FakeRuntime fake{options()};
  Device device = fake.device();
  Floats twice = scaled("twice", 2.0f), thrice = scaled("thrice", 3.0f);
  std::vector<Vector<float>> vectors;
};

TEST_F(W79Replay, W79_ASequenceIsReplayedTheSecondTimeWithTheSameBits) {
  chain(twice);
  EXPECT_EQ(replays(), 0U);
  const std::vector<float> once = last();
  EXPECT_FLOAT_EQ(once[0], 0.5f * 64);
  for (int round = 0; round < 3; ++round) chain(twice);
  EXPECT_EQ(replays(), 3U);
  EXPECT_EQ(launches(), 4 * kLaunches);
  EXPECT_TRUE(same_bits(last(), once));
  const WindowStats stats = fake.window().stats();
  EXPECT_EQ(stats.replays, 3U);
  EXPECT_EQ(stats.issued, 4 * kLaunches);
}

TEST_F(W79Replay, W79_ArgumentsOfAReplayAreThoseOfItsLaunches) {
  chain(twice);
  {
    auto first = vectors[0].write();
    for (float& value : first) value = 7.0f;
  }
  std::swap(vectors[1], vectors[2]);
  chain(twice);
  EXPECT_EQ(replays(), 1U);
  EXPECT_EQ(last(), std::vector<float>(kCount, 7.0f * 64));
}

TEST_F(W79Replay, W79_OtherKernelsOrDimsAreAnotherSequence) {
  chain(twice);
  chain(thrice);
  chain(twice, kCount / 4);
  EXPECT_EQ(replays(), 0U);
  chain(thrice);
  EXPECT_EQ(replays(), 1U);
  EXPECT_EQ(last(), std::vector<float>(kCount, 0.5f * 729));
}

TEST_F(W79Replay, W79_AReplayThatFailsIsMadeLaunchByLaunch) {
  chain(twice);
  fake.control->fail(Driver::replay);
  chain(twice);
  EXPECT_TRUE(fake.control->all_faults_struck());
  EXPECT_EQ(fake.window().stats().replays, 0U);
  EXPECT_EQ(fake.window().stats().failed, 0U);
  EXPECT_EQ(launches(), 2 * kLaunches);
  EXPECT_EQ(last(), std::vector<float>(kCount, 0.5f * 64));
}

TEST_F(W79Replay, W79_AKernelThatDoesNotBuildIsToldByItsName) {
  fake.control->fail(Driver::build, 1, "twice", Errc::compile_failed);
  try {
    chain(twice);
    FAIL() << "the failed build was not told";
  } catch (const Error& failure) {
    EXPECT_EQ(failure.code(), Errc::compile_failed);
    EXPECT_EQ(failure.details().kernel, "twice");
    EXPECT_EQ(failure.others().size(), kLaunches - 1);
  }
  EXPECT_EQ(replays(), 0U);
}

TEST_F(W79Replay, W79_ShortSequencesAreNotReplayed) {
  for (int round = 0; round < 3; ++round) {
    for (std::size_t k = 0; k < 3; ++k) {
      device.launch(twice, over(kCount), vectors[k], vectors[k + 1], kCount);
    }
    fake.window().flush();
  }
  EXPECT_EQ(replays(), 0U);
  EXPECT_EQ(launches(), 9U);
}

}  // namespace
}  // namespace salvo::tests
