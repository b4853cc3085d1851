// W57-W62: a fault at each driver call of a full window loses nothing and does nothing twice. What
// a wait that fails means is W81's.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 64;
constexpr std::size_t kLaunches = 14;

/// Increments a vector for each launch: one that is lost leaves its 1, one made twice gives 3. Two
/// groups of three members are held at most, so that some launches make room for others.
struct Program {
  FakeRuntime fake;
  Device device = fake.device();
  std::vector<Kernel<Span<float>, Int>> kernels{incremented("first"), incremented("second")};
  std::vector<Vector<float>> vectors;

  Program() {
    fake.window().set_epilogue_enabled(false);
    fake.window().set_limits(2, 3);
    for (std::size_t k = 0; k < kLaunches; ++k) {
      vectors.emplace_back(std::vector<float>(kCount, 1.0f));
    }
  }
  /// What every call threw, the attached failures included.
  std::vector<Error> run() {
    std::vector<Error> all;
    const auto attempt = [&](auto&& call) {
      try {
        call();
      } catch (const Error& failure) {
        all.push_back(failure);
        for (const Error& other : failure.others()) all.push_back(other);
      }
    };
    for (std::size_t k = 0; k < kLaunches; ++k) {
      // Blocks of two sizes, which do not fuse.
      const Dims dims = over(kCount).block(k % 4 < 2 ? 32 : 64);
      attempt([&] { device.launch(kernels[k % 2], dims, vectors[k], kCount); });
    }
    attempt([&] { fake.window().flush(); });
    attempt([&] { device.synchronize(); });
    return all;
  }
};

class W60Faults : public ::testing::TestWithParam<Driver> {};

TEST_P(W60Faults, W57_W58_W60_AFaultAtAnyCallIsToldOnceAndNothingIsLostOrDoubled) {
  std::size_t calls = 0;
  {
    Program clean;
    EXPECT_EQ(clean.run().size(), 0U);
    calls = clean.fake.control->count(GetParam());
    for (const auto& vector : clean.vectors) EXPECT_EQ(vector[kCount - 1], 2.0f);
  }
  ASSERT_GT(calls, 0U) << "the program makes no such call";
  for (std::uint32_t nth = 1; nth <= calls; ++nth) {
    SCOPED_TRACE(nth);
    Program program;
    program.fake.control->fail(GetParam(), nth);
    const std::vector<Error> failures = program.run();
    EXPECT_TRUE(program.fake.control->all_faults_struck());
    const WindowStats stats = program.fake.window().stats();
    EXPECT_EQ(stats.held, 0U);
    // A fused launch that fails falls back and tells nobody.
    EXPECT_LE(failures.size(), 2U);
    std::size_t undone = 0;
    for (const auto& vector : program.vectors) {
      const float first = vector[0];
      EXPECT_TRUE(first == 1.0f || first == 2.0f) << first;
      EXPECT_EQ(vector[kCount - 1], first);
      undone += first == 1.0f ? 1 : 0;
    }
    EXPECT_EQ(undone, stats.failed);
    EXPECT_GE(failures.size(), undone);
    // Nothing is left half-marked: the same work goes through.
    for (auto& vector : program.vectors) std::ranges::fill(vector.write(), 1.0f);
    EXPECT_EQ(program.run().size(), 0U);
    for (const auto& vector : program.vectors) EXPECT_EQ(vector[kCount - 1], 2.0f);
  }
}

INSTANTIATE_TEST_SUITE_P(Drivers, W60Faults,
                         ::testing::Values(Driver::allocate, Driver::write, Driver::build,
                                           Driver::launch, Driver::submit),
                         [](const auto& one) {
                           switch (one.param) {
                             case Driver::allocate:
                               return "Allocate";
                             case Driver::write:
                               return "Write";
                             case Driver::build:
                               return "Build";
                             case Driver::launch:
                               return "Launch";
                             default:
                               return "Submit";
                           }
                         });

}  // namespace
}  // namespace salvo::tests
