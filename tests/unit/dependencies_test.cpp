// Which launches of a sequence come after which: by hand, and against a walk over all pairs.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "runtime/dependencies.hpp"

namespace salvo::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Use {
  std::uintptr_t buffer;
  AccessMode access;
};

/// Launches that touch buffers as given.
class Launches {
 public:
  explicit Launches(const std::vector<std::vector<Use>>& uses) {
    for (const auto& launch : uses) {
      auto& bound = arguments_.emplace_back();
      for (const Use& use : launch) {
        Argument& argument = bound.emplace_back();
        argument.buffer.handle = use.buffer;
        argument.access = use.access;
      }
    }
    for (const auto& bound : arguments_) commands_.push_back({nullptr, nullptr, bound});
  }
  Dependencies dependencies() const { return Dependencies(commands_); }

 private:
  std::vector<std::vector<Argument>> arguments_;
  std::vector<LaunchCommand> commands_;
};

TEST(Dependencies, OfNothingAreNone) {
  EXPECT_EQ(Launches({}).dependencies(), Dependencies{});
}

TEST(Dependencies, ReadersComeAfterTheLastWriterAlone) {
  const auto found = Launches({{{1, AccessMode::write}},
                               {{1, AccessMode::read_write}},
                               {{1, AccessMode::read}, {2, AccessMode::write}},
                               {{1, AccessMode::read}, {3, AccessMode::write}}})
                         .dependencies();
  EXPECT_THAT(found.of(0), IsEmpty());
  EXPECT_THAT(found.of(1), ElementsAre(0));
  EXPECT_THAT(found.of(2), ElementsAre(1));
  EXPECT_THAT(found.of(3), ElementsAre(1));
}

TEST(Dependencies, AWriterComesAfterAllReadersSinceTheLastWriter) {
  const auto found = Launches({{{1, AccessMode::read}},
                               {{1, AccessMode::read}},
                               {{1, AccessMode::write}},
                               {{1, AccessMode::read}},
                               {{1, AccessMode::write}}})
                         .dependencies();
  EXPECT_THAT(found.of(2), ElementsAre(0, 1));
  EXPECT_THAT(found.of(3), ElementsAre(2));
  EXPECT_THAT(found.of(4), ElementsAre(2, 3));
}

TEST(Dependencies, OfABufferBoundTwiceAreNotOfTheLaunchItself) {
  const auto found = Launches({{{1, AccessMode::read}, {1, AccessMode::write}},
                               {{1, AccessMode::write}, {1, AccessMode::read}},
                               {{1, AccessMode::read}, {1, AccessMode::read}},
                               {{1, AccessMode::write}}})
                         .dependencies();
  EXPECT_THAT(found.of(0), IsEmpty());
  EXPECT_THAT(found.of(1), ElementsAre(0));
  EXPECT_THAT(found.of(2), ElementsAre(1));
  EXPECT_THAT(found.of(3), ElementsAre(1, 2));
}

TEST(Dependencies, ScalarsEmptySpansAndSpansLeftAloneHaveNone) {
  const auto found = Launches({{{1, AccessMode::write}, {0, AccessMode::write}},
                               {{1, AccessMode::none}, {0, AccessMode::write}},
                               {{0, AccessMode::read_write}}})
                         .dependencies();
  EXPECT_THAT(found.of(1), IsEmpty());
  EXPECT_THAT(found.of(2), IsEmpty());
}

/// What must come before what, directly or not.
std::vector<std::set<std::uint32_t>> closure(
    const std::vector<std::vector<std::uint32_t>>& direct) {
  std::vector<std::set<std::uint32_t>> all(direct.size());
  for (std::size_t k = 0; k < direct.size(); ++k) {
    for (const std::uint32_t earlier : direct[k]) {
      all[k].insert(earlier);
      all[k].insert(all[earlier].begin(), all[earlier].end());
    }
  }
  return all;
}

TEST(Dependencies, OrderWhatAnyTwoLaunchesShareAndNothingElse) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::vector<Use>> uses(1 + random() % 24);
    for (auto& launch : uses) {
      launch.resize(1 + random() % 4);
      for (Use& use : launch) {
        use = {1 + random() % 6, static_cast<AccessMode>(random() % 4)};
      }
    }
    std::vector<std::vector<std::uint32_t>> every(uses.size());
    for (std::uint32_t later = 0; later < uses.size(); ++later) {
      for (std::uint32_t earlier = 0; earlier < later; ++earlier) {
        bool conflicts = false;
        for (const Use& a : uses[earlier]) {
          for (const Use& b : uses[later]) {
            const bool touched = a.access != AccessMode::none && b.access != AccessMode::none;
            const bool only_read = a.access == AccessMode::read && b.access == AccessMode::read;
            conflicts = conflicts || (a.buffer == b.buffer && touched && !only_read);
          }
        }
        if (conflicts) every[later].push_back(earlier);
      }
    }
    const Dependencies found = Launches(uses).dependencies();
    std::vector<std::vector<std::uint32_t>> direct;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      direct.emplace_back(found.of(k).begin(), found.of(k).end());
    }
    ASSERT_EQ(closure(direct), closure(every)) << "round " << round;
  }
}

}  // namespace
}  // namespace salvo::runtime
