// W46, W11, W63, W62, W69: what two launches may share beside the element that is stored, what lies
// between them, and what happens when the merged kernel fails.
// SPDX-License-Identifier: MIT
#include <algorithm>

#include "rules/epilogue_fixture.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 1000;

class W11Between : public OnEachSubject {};
SALVO_ON_SUBJECTS(W11Between, kRecording);
class W46Hazards : public OnEachSubject {};
SALVO_ON_SUBJECTS(W46Hazards, kRecording);

Vector<float> inputs(std::size_t count = kCount) {
  return Vector<float>{std::span<const float>(telling_values(count))};
}

/// A kernel of two spans and a count, guarded by it.
template <class Body>
Floats two(const std::string& name, Body body) {
  return kernel(name, [body](Span<float> a, Span<float> b, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { body(a, b, i, n); });
  });
}

template <class Body>
auto three(const std::string& name, Body body) {
  return kernel(name, [body](Span<float> a, Span<float> b, Span<float> c, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { body(a, b, c, i, n); });
  });
}

TEST_P(W46Hazards, W46_InPlaceConsumersMerge) {
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x = inputs();
    Vector<float> y(kCount);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(incremented(), over(kCount), y, kCount);
    return {bytes_of(y)};
  });
  // Twice the same vector: it reads through one parameter and stores through another.
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x = inputs();
    Vector<float> y(kCount);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(two("consumer", [](auto a, auto b, Int i, Int) { b[i] = a[i] + 1.0f; }),
                  over(kCount), y, y, kCount);
    return {bytes_of(y)};
  });
  // It stores and then reads its own store.
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x = inputs();
    Vector<float> y(kCount), z(kCount);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(two("consumer",
                      [](auto a, auto b, Int i, Int) {
                        a[i] = a[i] + 1.0f;
                        b[i] = a[i] * 3.0f;
                      }),
                  over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST_P(W46Hazards, W46_AnInPlaceConsumerOfAnInPlaceProducerMerges) {
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> y = inputs();
    device.launch(kernel("producer",
                         [](Span<float> v, Int n) {
                           auto i = global_thread_id();
                           if_(i < n, [&] { v[i] = v[i] * 1.1f; });
                         }),
                  over(kCount), y, kCount);
    device.launch(incremented(), over(kCount), y, kCount);
    return {bytes_of(y)};
  });
}

TEST_P(W46Hazards, W46_AConsumerOfAVectorThatTheProducerStoresTwiceIsRefused) {
  // y then holds two stores for each element, so a third launch cannot hang on one of them.
  const Program program = [](const Device& device) -> Bytes {
    Vector<float> x = inputs();
    Vector<float> y(kCount);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(incremented("second"), over(kCount), y, kCount);
    device.launch(incremented("third"), over(kCount), y, kCount);
    return {bytes_of(y)};
  };
  const Ran ran = run_program(program, true);
  EXPECT_EQ(ran.stats.epilogue_merges, 1U);
  EXPECT_EQ(ran.launches, 2U);
  EXPECT_EQ(ran.outputs, run_program(program, false).outputs);
}

TEST_P(W46Hazards, W46_AConsumerThatWritesWhatTheProducerReadAtTheSameElementMerges) {
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x = inputs(), y(kCount);
    device.launch(two("producer", [](auto a, auto b, Int i, Int) { b[i] = a[i] * 2.0f; }),
                  over(kCount), x, y, kCount);
    device.launch(two("consumer", [](auto a, auto b, Int i, Int) { b[i] = a[i] + 1.0f; }),
                  over(kCount), y, x, kCount);
    return {bytes_of(x), bytes_of(y)};
  });
}

TEST_P(W46Hazards, W46_AConsumerThatWritesWhatTheProducerReadsElsewhereIsRefused) {
  const auto refused = [](auto body) {
    expect_refused(
        [body](const Device& device) -> Bytes {
          Vector<float> x = inputs(), y(kCount);
          device.launch(two("producer", body), over(kCount), x, y, kCount);
          device.launch(two("consumer", [](auto a, auto b, Int i, Int) { b[i] = a[i] + 1.0f; }),
                        over(kCount), y, x, kCount);
          return {bytes_of(x), bytes_of(y)};
        },
        Reason::hazard);
  };
  refused([](auto a, auto b, Int i, Int n) { b[i] = a[n - 1 - i]; });
  refused([](auto a, auto b, Int i, Int n) { b[i] = a[i] + a[(i + 1) % n]; });
  // In a branch: a thread might read what it does not store.
  refused([](auto a, auto b, Int i, Int) {
    Var<float> sum = 0.0f;
    if_(i > 3, [&] { sum += a[i]; });
    b[i] = sum;
  });
}

TEST_P(W46Hazards, W46_AProducerThatReadsAfterItsStoreIsRefused) {
  // The specification's first example: y[i] = 2 x[i]; z[i] = x[i] with x[i] = y[i] + 1.
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x = inputs(), y(kCount), z(kCount);
        device.launch(three("producer",
                            [](auto a, auto b, auto c, Int i, Int) {
                              b[i] = a[i] * 2.0f;
                              c[i] = a[i];
                            }),
                      over(kCount), x, y, z, kCount);
        device.launch(two("consumer", [](auto a, auto b, Int i, Int) { b[i] = a[i] + 1.0f; }),
                      over(kCount), y, x, kCount);
        return {bytes_of(x), bytes_of(y), bytes_of(z)};
      },
      Reason::hazard);
  // The consumer changes the vector in place, and the producer reads it back after its store.
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x = inputs(), y(kCount), z(kCount);
        device.launch(three("producer",
                            [](auto a, auto b, auto c, Int i, Int) {
                              b[i] = a[i] * 2.0f;
                              c[i] = b[i];
                            }),
                      over(kCount), x, y, z, kCount);
        device.launch(incremented(), over(kCount), y, kCount);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::hazard);
}

TEST_P(W46Hazards, W46_AProducerThatReadsInALoopBackToTheStoreIsRefused) {
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x = inputs(), y(kCount);
        device.launch(kernel("producer",
                             [](Span<float> a, Span<float> b, Int n) {
                               for_(range(global_thread_id(), n, grid_dim_x() * block_dim_x()),
                                    [&](Int i) { b[i] = a[i] * 2.0f; });
                             }),
                      grid(2).block(64), x, y, kCount);
        device.launch(two("consumer", [](auto a, auto b, Int i, Int) { b[i] = a[i] + 1.0f; }),
                      over(kCount), y, x, kCount);
        return {bytes_of(x), bytes_of(y)};
      },
      Reason::hazard);
}

TEST_P(W46Hazards, W46_AConsumerOfAnotherOutputOfTheProducerIsRefused) {
  // The second example: y[i] = a; z[i] = b with z[i] = y[i].
  const auto two_outputs = three("producer", [](auto a, auto b, auto c, Int i, Int) {
    b[i] = a[i] * 2.0f;
    c[i] = a[i] + 5.0f;
  });
  expect_refused(
      [&](const Device& device) -> Bytes {
        Vector<float> x = inputs();
        Vector<float> y(kCount), z(kCount);
        device.launch(two_outputs, over(kCount), x, y, z, kCount);
        device.launch(two("consumer", [](auto a, auto b, Int i, Int) { b[i] = a[i]; }),
                      over(kCount), y, z, kCount);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::hazard);
  expect_refused(
      [&](const Device& device) -> Bytes {
        Vector<float> x = inputs();
        Vector<float> y(kCount), z(kCount), w(kCount);
        device.launch(two_outputs, over(kCount), x, y, z, kCount);
        device.launch(
            three("consumer", [](auto a, auto b, auto c, Int i, Int) { c[i] = a[i] + b[i]; }),
            over(kCount), y, z, w, kCount);
        return {bytes_of(y), bytes_of(z), bytes_of(w)};
      },
      Reason::hazard);
}

TEST_P(W46Hazards, W46_ViewsThatStartElsewhereAreRefused) {
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x = inputs();
        Vector<float> y(kCount), z(kCount);
        device.launch(times("producer"), over(kCount), x, y, kCount);
        device.launch(plus("consumer"), over(900), y.view(10, 900), z, 900);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::hazard);
}

TEST_P(W46Hazards, W46_AViewOfTheSameStartMergesWhereItIsCovered) {
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x = inputs();
    Vector<float> y(kCount), z(kCount);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(kernel("consumer",
                         [](Span<float> from, Span<float> to) {
                           auto i = global_thread_id();
                           // By its own view's length, not by the producer's.
                           if_(cast<std::int64_t>(i) < from.size(),
                               [&] { to[i] = from[i] + 0.5f; });
                         }),
                  over(kCount), y.view(0, 600), z);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST_P(W46Hazards, W46_AnAtomicProducerIsRefused) {
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<std::int32_t> y(kCount), z(kCount);
        device.launch(kernel("producer",
                             [](Span<std::int32_t> v, Int n) {
                               auto i = global_thread_id();
                               if_(i < n, [&] { atomic_add(v[i], i); });
                             }),
                      over(kCount), y, kCount);
        device.launch(kernel("consumer",
                             [](Span<std::int32_t> from, Span<std::int32_t> to, Int n) {
                               auto i = global_thread_id();
                               if_(i < n, [&] { to[i] = from[i] + 1; });
                             }),
                      over(kCount), y, z, kCount);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::hazard);
}

TEST_P(W46Hazards, W46_SeveralStoresEachGetTheConsumerIfTheyNeverMeet) {
  const auto halves = two("producer", [](auto a, auto b, Int i, Int n) {
    b[i] = a[i] * 1.1f;
    b[i + n] = a[i] * 1.3f;
  });
  expect_merged([&](const Device& device) -> Bytes {
    Vector<float> x = inputs();
    Vector<float> y(kCount * 2), z(kCount * 2);
    device.launch(halves, over(kCount), x, y, kCount);
    device.launch(plus("consumer"), over(kCount * 2), y, z, kCount * 2);
    return {bytes_of(y), bytes_of(z)};
  });
  const auto same = two("producer", [](auto a, auto b, Int i, Int) {
    b[i] = a[i] * 1.1f;
    b[i] = a[i] * 1.3f;
  });
  expect_refused(
      [&](const Device& device) -> Bytes {
        Vector<float> x = inputs();
        Vector<float> y(kCount), z(kCount);
        device.launch(same, over(kCount), x, y, kCount);
        device.launch(plus("consumer"), over(kCount), y, z, kCount);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::unproved);
}

TEST_P(W46Hazards, W46_NoFuseIsRespected) {
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x = inputs();
        Vector<float> y(kCount), z(kCount);
        device.launch(times("producer"), over(kCount), x, y, kCount);
        device.launch(two("consumer",
                          [](auto a, auto b, Int i, Int) {
                            no_fuse();
                            b[i] = a[i] + 1.0f;
                          }),
                      over(kCount), y, z, kCount);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::no_fuse);
}

TEST_P(W11Between, W11_ALaunchBetweenThatTouchesTheVectorIsHonoured) {
  for (const bool writes : {false, true}) {
    const Program program = [writes](const Device& device) -> Bytes {
      Vector<float> x = inputs();
      Vector<float> y(kCount), z(kCount), w(kCount);
      device.launch(times("producer"), over(kCount), x, y, kCount);
      if (writes) {
        device.launch(two("between", [](auto a, auto b, Int i, Int n) { b[i] = a[n - 1 - i]; }),
                      over(kCount), x, y, kCount);
      } else {
        device.launch(two("between", [](auto a, auto b, Int i, Int n) { b[i] = a[n - 1 - i]; }),
                      over(kCount), y, w, kCount);
      }
      device.launch(incremented(), over(kCount), y, kCount);
      return {bytes_of(y), bytes_of(z), bytes_of(w)};
    };
    EXPECT_EQ(run_program(program, true).outputs, run_program(program, false).outputs) << writes;
  }
}

TEST_P(W11Between, W11_AnUnrelatedLaunchBetweenDoesNotMatter) {
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x = inputs();
    Vector<float> y(kCount), z(kCount), w(kCount);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(times("unrelated"), grid(16).block(64), x, w, kCount);  // a group of its own
    device.launch(plus("consumer"), over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(z), bytes_of(w)};
  });
}

TEST_P(W11Between, W11_AConsumerOfTwoMembersIsRefused) {
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x = inputs();
        Vector<float> a(kCount), b(kCount), c(kCount);
        device.launch(times("first"), over(kCount), x, a, kCount);
        device.launch(times("second", 1.7f), over(kCount), x, b, kCount);
        device.launch(
            three("consumer", [](auto p, auto q, auto r, Int i, Int) { r[i] = p[i] * q[i]; }),
            over(kCount), a, b, c, kCount);
        return {bytes_of(a), bytes_of(b), bytes_of(c)};
      },
      Reason::dependency);
}

class W63Failure : public ::testing::Test {
 protected:
  FakeRuntime fake;
  Device device = fake.device();
  Vector<float> x{std::vector<float>(kCount, 3.0f)};
  Vector<float> y = Vector<float>(kCount), z = Vector<float>(kCount), w = Vector<float>(kCount);
  Floats producer = times("producer", 2.0f), consumer = plus("consumer", 1.0f);
  Floats other = times("other", 5.0f);

  void launch_pair() {
    device.launch(producer, over(kCount), x, y, kCount);
    device.launch(consumer, over(kCount), y, z, kCount);
  }
};

TEST_F(W63Failure, W62_AMergedKernelThatFailsToBuildFallsBackAndIsNotTriedAgain) {
  fake.control->fail(Driver::build, 1, "producer+consumer", Errc::compile_failed);
  launch_pair();
  fake.window().flush();
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"producer", "consumer"}));
  EXPECT_EQ(z[0], 7.0f);
  EXPECT_EQ(fake.window().stats().fallbacks, 1U);
  EXPECT_EQ(fake.window().stats().issued, 2U);
  EXPECT_EQ(fake.window().stats().epilogue_merges, 0U);
  fake.window().keep_decisions(8);
  launch_pair();
  fake.window().flush();
  const auto decisions = fake.window().decisions();
  EXPECT_TRUE(std::ranges::any_of(decisions, [](const Decision& one) {
    return one.kind == Decision::Kind::epilogue && one.reason == Reason::failed_before;
  }));
  // Until the cache is cleared.
  fake.window().clear_fused_cache();
  fake.control->clear();
  launch_pair();
  fake.window().flush();
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>{"producer+consumer"});
}

TEST_F(W63Failure, W62_AMergedKernelThatTakesSmallerBlocksFallsBack) {
  FakeRuntime small{FakeOptions{.max_threads = [](const ir::Kernel& kernel) {
    return kernel.name.find('+') != std::string::npos ? 64U : 0U;
  }}};
  small.device().launch(producer, over(kCount), x, y, kCount);
  small.device().launch(consumer, over(kCount), y, z, kCount);
  small.window().flush();
  EXPECT_EQ(small.control->launched(), std::vector<std::string>({"producer", "consumer"}));
  EXPECT_EQ(z[kCount - 1], 7.0f);
}

TEST_F(W63Failure, W63_IfTheProducerRaisesItsConsumersAreNotIssued) {
  launch_pair();
  device.launch(other, over(kCount), z, w, kCount);  // a consumer's consumer
  fake.control->fail(Driver::launch, 1, "producer+consumer+other");
  fake.control->fail(Driver::launch, 1, "producer");
  try {
    fake.window().flush();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kernel(), "producer");
    ASSERT_EQ(error.others().size(), 2U);
    EXPECT_EQ(error.others()[0].kernel(), "consumer");
    EXPECT_EQ(error.others()[1].kernel(), "other");
  }
  EXPECT_TRUE(fake.control->launched().empty());
  EXPECT_EQ(fake.window().stats().failed, 3U);
  EXPECT_EQ(fake.window().stats().issued, 0U);
}

TEST_F(W63Failure, W63_IndependentMembersOfTheGroupAreIssued) {
  launch_pair();
  device.launch(other, over(kCount), x, w, kCount);
  fake.control->fail(Driver::launch, 1, "fused");
  fake.control->fail(Driver::launch, 1, "producer+consumer");
  fake.control->fail(Driver::launch, 1, "producer");
  EXPECT_THROW(fake.window().flush(), Error);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>{"other"});
  EXPECT_EQ(w[0], 15.0f);
}

TEST_F(W63Failure, W63_AFailureOfTheConsumerAloneLeavesTheProducer) {
  launch_pair();
  fake.control->fail(Driver::launch, 1, "producer+consumer");
  fake.control->fail(Driver::launch, 1, "consumer");
  EXPECT_THROW(fake.window().flush(), Error);
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>{"producer"});
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(W63Failure, W65_W66_AMergedPairCountsAsOneIssuedLaunchAndNoFusedGroup) {
  launch_pair();
  EXPECT_EQ(fake.window().stats().held, 2U);
  fake.window().flush();
  const WindowStats stats = fake.window().stats();
  EXPECT_EQ(stats.submitted, 2U);
  EXPECT_EQ(stats.issued, 1U);
  EXPECT_EQ(stats.held, 0U);
  EXPECT_EQ(stats.fused_groups, 0U);
  EXPECT_EQ(stats.epilogue_merges, 1U);
}

TEST_F(W63Failure, W68_TheSwitchesTurnEpiloguesOff) {
  fake.window().set_epilogue_enabled(false);
  launch_pair();
  fake.window().set_epilogue_enabled(true);
  EXPECT_EQ(fake.control->count(Driver::launch), 2U);
  fake.window().set_epilogue_backend("HIP", false);
  launch_pair();
  fake.window().set_epilogue_backend("HIP", true);
  EXPECT_EQ(fake.control->count(Driver::launch), 4U);
  launch_pair();
  fake.window().flush();
  EXPECT_EQ(fake.control->count(Driver::launch), 5U);
}

TEST(W69EpilogueOnFake, W69_ExplainSaysWhatWasMergedAndWhatWasNot) {
  FakeRuntime fake{FakeOptions{}, [](const char* variable) {
                     return std::string_view(variable) == "SALVO_EXPLAIN" ? "1" : nullptr;
                   }};
  Vector<float> x = inputs();
  Vector<float> y(kCount), z(kCount), w(kCount);
  const auto producer = times("producer"), consumer = plus("consumer");
  const auto reversed = two("reversed", [](auto a, auto b, Int i, Int n) { b[i] = a[n - 1 - i]; });
  ::testing::internal::CaptureStderr();
  fake.device().launch(producer, over(kCount), x, y, kCount);
  fake.device().launch(consumer, over(kCount), y, z, kCount);
  fake.device().launch(reversed, over(kCount), y, w, kCount);
  fake.window().flush();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("salvo-explain producer+consumer HIP epilogue applied exact\n"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("salvo-explain producer+consumer+reversed HIP epilogue refused the two share "
                      "more bytes than the element that is stored: it reads the vector, or its own "
                      "output, at another element\n"),
            std::string::npos)
      << said;
}

}  // namespace
}  // namespace salvo::tests
