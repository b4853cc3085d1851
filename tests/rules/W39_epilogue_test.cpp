// W39-W45, W47, W48, W11: which consumers run at their producer's store, and that bytes stay the
// same.
// SPDX-License-Identifier: MIT
#include <numeric>

#include "rules/epilogue_fixture.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 1000;

class W39Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W39Epilogue, kRecording);
class W40Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W40Epilogue, kRecording);
class W41Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W41Epilogue, kRecording);
class W42Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W42Epilogue, kRecording);
class W43Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W43Epilogue, kRecording);
class W44Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W44Epilogue, kRecording);
class W45Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W45Epilogue, kRecording);
class W48Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W48Epilogue, kRecording);
class W47Epilogue : public OnEachSubject {};
SALVO_ON_SUBJECTS(W47Epilogue, kRecording);

/// y = producer(x), z = consumer(y); both bytes.
template <class P, class C>
Program pair(P producer, C consumer, int produced = kCount, int consumed = kCount) {
  return [=](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> y(kCount, 7.0f), z(kCount, 9.0f);
    device.launch(producer, over(produced), x, y, produced);
    device.launch(consumer, over(consumed), y, z, consumed);
    return {bytes_of(y), bytes_of(z)};
  };
}

template <class Body>
Floats consumer(Body body) {
  return kernel("consumer", [body](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { body(from, to, n, i); });
  });
}

TEST_P(W39Epilogue, W39_AnElementWiseConsumerMerges) {
  expect_merged(pair(times("producer"), plus("consumer")));
}

TEST_P(W39Epilogue, W39_AConsumerWithLoopsBranchesAndOtherInputsMerges) {
  const auto body = [](Span<float> from, Span<float> bias, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      Var<float> sum = from[i];
      for_(range(4), [&](Int k) { sum += bias[(i + k) % 10] * from[i]; });
      if_(sum > 0.0f, [&] { to[i] = sum; }).else_([&] { to[i] = -sum; });
    });
  };
  const auto busy = kernel("busy", body);
  expect_merged([&](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> bias{std::span<const float>(telling_values(10))};
    Vector<float> y(kCount), z(kCount);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(busy, over(kCount), y, bias, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST_P(W39Epilogue, W39_WhatIsNotElementWiseIsRefused) {
  const auto refused = [](auto body) {
    expect_refused(pair(times("producer"), kernel("consumer", body)), Reason::not_element_wise);
  };
  using F = Span<float>;
  refused([](F from, F to, Int n) {  // a barrier
    auto i = global_thread_id();
    barrier();
    if_(i < n, [&] { to[i] = from[i]; });
  });
  refused([](F from, F to, Int n) {  // an atomic
    auto i = global_thread_id();
    if_(i < n, [&] { atomic_add(to[i], from[i]); });
  });
  refused([](F from, F to, Int n) {  // a shared array
    Shared<float> tile(256);
    auto i = global_thread_id();
    tile[thread_idx_x()] = 1.0f;
    if_(i < n, [&] { to[i] = from[i] + tile[thread_idx_x()]; });
  });
  refused([](F from, F to, Int n) {  // a local array
    LocalArray<float> own(2);
    auto i = global_thread_id();
    own[0] = 1.0f;
    if_(i < n, [&] { to[i] = from[i] + own[0]; });
  });
  refused([](F from, F to, Int n) {  // stores elsewhere
    auto i = global_thread_id();
    if_(i < n, [&] { to[n - 1 - i] = from[i]; });
  });
  refused([](F from, F to, Int n) {  // reads another position
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] + cast<float>(thread_idx_x()); });
  });
  refused([](F from, F to, Int n) {  // and a dimension
    auto i = global_thread_id();
    if_(i < n * grid_dim_x(), [&] { if_(i < n, [&] { to[i] = from[i]; }); });
  });
}

TEST_P(W39Epilogue, W39_AConsumerThatReadsTheVectorElsewhereIsRefused) {
  expect_refused(pair(times("producer"),
                      consumer([](auto from, auto to, Int n, Int i) { to[i] = from[n - 1 - i]; })),
                 Reason::hazard);
  expect_refused(pair(times("producer"),
                      consumer([](auto from, auto to, Int, Int i) { to[i] = from[i] + from[0]; })),
                 Reason::hazard);
}

TEST_P(W39Epilogue, W39_ATwoDimensionalConsumerIsRefused) {
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x{std::span<const float>(telling_values(512))};
        Vector<float> y(512), z(512);
        device.launch(times("producer"), over(512), x, y, 512);
        // With a count of 0, because threads of other rows have the same global id.
        device.launch(plus("consumer"), grid(4).block(64, 2), y, z, 0);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::not_element_wise);
}

TEST_P(W39Epilogue, W39_ALaunchThatOnlyOverwritesIsNoConsumer) {
  const Ran ran = run_program(
      [](const Device& device) -> Bytes {
        Vector<float> x(kCount, 1.0f), y(kCount);
        device.launch(times("producer"), over(kCount), x, y, kCount);
        device.launch(plus("other"), over(kCount), x, y, kCount);
        return {bytes_of(y)};
      },
      true);
  EXPECT_EQ(ran.launches, 2U);
  EXPECT_EQ(ran.stats.epilogue_merges, 0U);
}

TEST_P(W40Epilogue, W40_TheConsumersOwnGuardIsKept) {
  expect_merged(pair(times("producer"), plus("consumer"), kCount, 300));
  expect_merged(pair(times("producer"), consumer([](auto from, auto to, Int, Int i) {
                       if_(i % 3 == 1, [&] { to[i] = from[i] * 5.0f; });
                     })));
  expect_merged(pair(times("producer"), consumer([](auto from, auto to, Int, Int i) {
                       if_(from[i] > 0.0f, [&] { to[i] = from[i] * 5.0f; });
                     })));
}

TEST_P(W40Epilogue, W40_TheConsumersLaunchedRangeIsKept) {
  // It has no guard of its own: its launch ends at 512, in blocks of 64.
  const auto unguarded = kernel("unguarded", [](Span<float> from, Span<float> to) {
    to[global_thread_id()] = from[global_thread_id()] + 1.0f;
  });
  expect_merged([&](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> y(kCount), z(kCount, 9.0f);
    device.launch(times("producer"), over(kCount), x, y, kCount);
    device.launch(unguarded, grid(8).block(64), y, z);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST_P(W40Epilogue, W40_AReturnLeavesOnlyTheConsumer) {
  const auto leaves = kernel("leaves", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i >= n, [&] { return_(); });
    if_(from[i] < 0.0f, [&] { return_(); });
    to[i] = from[i] + 10.0f;
  });
  const auto stores_twice =
      kernel("stores", [](Span<float> from, Span<float> to, Span<float> more, Int n) {
        auto i = global_thread_id();
        if_(i >= n, [&] { return_(); });
        to[i] = from[i] * 1.1f;
        more[i] = from[i];  // after the store that the consumer hangs on
      });
  expect_merged([&](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> y(kCount), w(kCount), z(kCount, 9.0f);
    device.launch(stores_twice, over(kCount), x, y, w, kCount);
    device.launch(leaves, over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(w), bytes_of(z)};
  });
}

/// One sum a block, stored by its first thread at the block's index.
Kernel<Span<float>, Span<float>> block_sums() {
  return kernel("block_sums", [](Span<float> from, Span<float> to) {
    Shared<float> tile(64);
    auto t = thread_idx_x();
    tile[t] = from[global_thread_id()];
    barrier();
    Var<std::int32_t> width = 32;
    while_([&] { return width > 0; },
           [&] {
             if_(t < width, [&] { tile[t] += tile[t + width]; });
             barrier();
             width = width / 2;
           });
    if_(t == 0, [&] { to[block_idx_x()] = tile[0]; });
  });
}

TEST_P(W40Epilogue, W40_AReductionTakesAnEpilogueAfterItsBarriers) {
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(2048))};
    Vector<float> sums(32), z(32, 9.0f);
    device.launch(block_sums(), grid(32).block(64), x, sums);
    device.launch(plus("consumer"), over(32), sums, z, 32);
    return {bytes_of(sums), bytes_of(z)};
  });
}

TEST_P(W40Epilogue, W40_ATiledMatrixProductTakesAnEpilogue) {
  constexpr int kSize = 48, kTile = 16;
  const auto product = kernel("product", [=](Span<float> a, Span<float> b, Span<float> c, Int n) {
    Shared<float> left(kTile * kTile), right(kTile * kTile);
    auto row = block_idx_y() * kTile + thread_idx_y();
    auto column = block_idx_x() * kTile + thread_idx_x();
    auto place = thread_idx_y() * kTile + thread_idx_x();
    Var<float> sum = 0.0f;
    for_(range(n / kTile), [&](Int step) {
      left[place] = a[row * n + step * kTile + thread_idx_x()];
      right[place] = b[(step * kTile + thread_idx_y()) * n + column];
      barrier();
      for_(range(kTile), [&](Int k) {
        sum += left[thread_idx_y() * kTile + k] * right[k * kTile + thread_idx_x()];
      });
      barrier();
    });
    c[row * n + column] = sum;
  });
  const auto bias_relu =
      kernel("bias_relu", [](Span<float> c, Span<float> bias, Int columns, Int n) {
        auto i = global_thread_id();
        if_(i < n, [&] { c[i] = max(c[i] + bias[i % columns], 0.0f); });
      });
  expect_merged([&](const Device& device) -> Bytes {
    std::vector<float> values = telling_values(kSize * kSize);
    for (float& value : values)
      if (!(value < 2.0f && value > -2.0f)) value = 0.5f;
    Vector<float> a{std::span<const float>(values)}, b{std::span<const float>(values)};
    Vector<float> bias{std::span<const float>(values).first(kSize)};
    Vector<float> c(kSize * kSize);
    device.launch(product, grid(kSize / kTile, kSize / kTile).block(kTile, kTile), a, b, c, kSize);
    device.launch(bias_relu, over(kSize * kSize), c, bias, kSize, kSize * kSize);
    return {bytes_of(c)};
  });
}

TEST_P(W40Epilogue, W40_AStencilInTwoDimensionsTakesAnEpilogue) {
  const auto blur = kernel("blur", [](Span<float> from, Span<float> to, Int width, Int height) {
    auto x = global_idx_x(), y = global_idx_y();
    if_(x < width && y < height, [&] {
      auto at = [&](auto dx) { return from[y * width + min(max(x + dx, 0), width - 1)]; };
      to[y * width + x] = (at(-1) + at(0) + at(1)) / 3.0f;
    });
  });
  expect_merged([&](const Device& device) -> Bytes {
    constexpr int kWidth = 50, kHeight = 21;
    Vector<float> x{std::span<const float>(telling_values(kWidth * kHeight))};
    Vector<float> y(kWidth * kHeight), z(kWidth * kHeight);
    device.launch(blur, grid(4, 3).block(16, 8), x, y, kWidth, kHeight);
    device.launch(plus("consumer"), over(kWidth * kHeight), y, z, kWidth * kHeight);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST_P(W40Epilogue, W40_AStoreInALoopTakesAnEpilogueAtEachTurn) {
  const auto strided = kernel("strided", [](Span<float> from, Span<float> to, Int n) {
    for_(range(global_thread_id(), n, grid_dim_x() * block_dim_x()),
         [&](Int i) { to[i] = from[i] * 1.1f; });
  });
  expect_merged([&](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> y(kCount), z(kCount);
    device.launch(strided, grid(2).block(64), x, y, kCount);
    device.launch(plus("consumer"), over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST_P(W40Epilogue, W40_TheProducersDynamicSharedMemoryIsKept) {
  const auto shifted = kernel("shifted", [](Span<float> from, Span<float> to) {
    DynamicShared<float> tile;
    tile[thread_idx_x()] = from[global_thread_id()];
    barrier();
    to[global_thread_id()] = tile[block_dim_x() - 1 - thread_idx_x()];
  });
  expect_merged([&](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(512))};
    Vector<float> y(512), z(512);
    device.launch(shifted, grid(8).block(64).shared(256), x, y);
    device.launch(plus("consumer"), over(512), y, z, 512);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST(W41EpilogueOnFake, W41_AnElementStoredTwiceIsRefused) {
  const auto halves = kernel("halves", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i / 2] = from[0]; });
  });
  // Two threads store the same value, which the interpreter's race check rightly refuses: the proof
  // alone is looked at, and nothing is issued.
  FakeRuntime fake;
  fake.window().keep_decisions(8);
  fake.control->fail(Driver::launch, 1, "halves");
  Vector<float> x(kCount, 1.0f), y(kCount), z(kCount);
  fake.device().launch(halves, over(kCount), x, y, kCount);
  fake.device().launch(plus("consumer"), over(kCount / 2), y, z, kCount / 2);
  EXPECT_EQ(name(fake.window().decisions().back().reason), name(Reason::dependency));
  bool refused = false;
  for (const Decision& one : fake.window().decisions()) {
    refused = refused || (one.kind == Decision::Kind::epilogue && one.reason == Reason::unproved);
  }
  EXPECT_TRUE(refused);
  EXPECT_THROW(fake.window().flush(), Error);
}

TEST_P(W41Epilogue, W41_AConsumerThatWritesMoreIsRefusedAndOneThatWritesLessMerges) {
  expect_refused(pair(times("producer"), plus("consumer"), 300, kCount), Reason::unproved);
  expect_refused(pair(times("producer"), plus("consumer"), kCount - 1, kCount), Reason::unproved);
  expect_merged(pair(times("producer"), plus("consumer"), kCount, kCount - 1));
}

TEST_P(W41Epilogue, W41_AStrideIsCoveredOnlyWhereTheConsumerHasItToo) {
  const auto every_second = kernel("every_second", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id() * 2;
    if_(i < n, [&] { to[i] = from[i] * 1.1f; });
  });
  expect_refused(pair(every_second, plus("consumer")), Reason::unproved);
  expect_merged(pair(every_second, consumer([](auto from, auto to, Int, Int i) {
                       if_(i % 2 == 0, [&] { to[i] = from[i] + 1.0f; });
                     })));
}

TEST_P(W41Epilogue, W41_ABackwardProducerMerges) {
  expect_merged(pair(kernel("backward",
                            [](Span<float> from, Span<float> to, Int n) {
                              auto i = global_thread_id();
                              if_(i < n, [&] { to[n - 1 - i] = from[i] * 1.1f; });
                            }),
                     plus("consumer")));
}

TEST_P(W42Epilogue, W42_AnIndexThatDependsOnDataIsRefused) {
  expect_refused(
      [](const Device& device) -> Bytes {
        const auto scatter = kernel(
            "scatter", [](Span<float> from, Span<std::int32_t> where, Span<float> to, Int n) {
              auto i = global_thread_id();
              if_(i < n, [&] { to[where[i]] = from[i]; });
            });
        std::vector<std::int32_t> order(kCount);
        std::iota(order.rbegin(), order.rend(), 0);
        Vector<float> x{std::span<const float>(telling_values(kCount))};
        Vector<std::int32_t> where{std::span<const std::int32_t>(order)};
        Vector<float> y(kCount), z(kCount);
        device.launch(scatter, over(kCount), x, where, y, kCount);
        device.launch(plus("consumer"), over(kCount), y, z, kCount);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::unproved);
}

TEST_P(W42Epilogue, W42_AStoreBehindAGuardOnDataIsRefused) {
  expect_refused(pair(kernel("sparse",
                             [](Span<float> from, Span<float> to, Int n) {
                               auto i = global_thread_id();
                               if_(i < n, [&] { if_(from[i] > 0.0f, [&] { to[i] = from[i]; }); });
                             }),
                      plus("consumer")),
                 Reason::unproved);
}

TEST_P(W43Epilogue, W43_IndexesWithoutAClosedFormAreEnumerated) {
  const auto swizzled = kernel("swizzled", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i ^ 5] = from[i] * 1.1f; });
  });
  expect_merged(pair(swizzled, plus("consumer"), 1000, 992));
  const auto transposed = kernel("transposed", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[(i % 40) * 25 + i / 40] = from[i] * 1.1f; });
  });
  expect_merged(pair(transposed, plus("consumer")));
}

TEST_P(W43Epilogue, W43_AnEnumeratedProducerThatStoresLessThanTheConsumerWritesIsRefused) {
  const auto swizzled = kernel("swizzled", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i ^ 5] = from[i] * 1.1f; });
  });
  expect_refused(pair(swizzled, plus("consumer"), 496, 504), Reason::unproved);
}

TEST_P(W43Epilogue, W43_AProofIsOfTheScalarsOfBothToo) {
  const auto producer = times("producer"), consumer = plus("consumer");
  const Program program = [&](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(1024))};
    Vector<float> y(1024), z(1024);
    const Dims dims = grid(16).block(64);  // the same for all
    const auto launch = [&](int produced, int consumed) {
      device.launch(producer, dims, x, y, produced);
      device.launch(consumer, dims, y, z, consumed);
      device.synchronize();
    };
    launch(1000, 1000);  // merges
    launch(500, 1000);   // does not: less is stored
    launch(500, 300);    // merges
    launch(500, 501);    // does not: more is written
    return {bytes_of(y), bytes_of(z)};
  };
  const Ran ran = run_program(program, true);
  EXPECT_EQ(ran.stats.epilogue_merges, 2U);
  EXPECT_EQ(ran.launches, 6U);
  EXPECT_EQ(ran.outputs, run_program(program, false).outputs);
}

TEST_P(W44Epilogue, W44_TheProducersOutputIsWritten) {
  const Ran merged = run_program(pair(times("producer"), plus("consumer")), true);
  EXPECT_EQ(merged.stats.epilogue_merges, 1U);
  const Ran alone = run_program(
      [](const Device& device) -> Bytes {
        Vector<float> x{std::span<const float>(telling_values(kCount))};
        Vector<float> y(kCount, 7.0f);
        device.launch(times("producer"), over(kCount), x, y, kCount);
        return {bytes_of(y)};
      },
      true);
  EXPECT_EQ(merged.outputs.front(), alone.outputs.front());
}

TEST(W44EpilogueOnFake, W44_TheProducersOutputIsWrittenAlsoIfOnlyTheConsumerReadsIt) {
  FakeRuntime fake;
  const auto producer = times("producer", 2.0f);
  const auto last = plus("consumer", 1.0f);
  Vector<float> x(kCount, 3.0f), y(kCount), z(kCount);
  fake.device().launch(producer, over(kCount), x, y, kCount);
  fake.device().launch(last, over(kCount), y, z, kCount);
  fake.window().flush();
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>{"producer+consumer"});
  EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(y[kCount - 1], 6.0f);
  EXPECT_EQ(z[kCount - 1], 7.0f);
}

template <class T>
void narrowed() {
  const auto store = kernel("store", [](Span<float> from, Span<T> to, Int n) {
    auto i = global_thread_id();
    if constexpr (std::is_integral_v<T>) {
      if_(i < n, [&] { to[i] = cast<detail::computed_t<T>>(i * 77 - 20000); });
      static_cast<void>(from);
    } else {
      if_(i < n, [&] { to[i] = from[i] * 1.1f; });
    }
  });
  const auto widen = kernel("widen", [](Span<T> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = cast<float>(from[i]) + 0.25f; });
  });
  expect_merged([&](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<T> y(kCount);
    Vector<float> z(kCount);
    device.launch(store, over(kCount), x, y, kCount);
    device.launch(widen, over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST_P(W45Epilogue, W45_NarrowValuesAreRoundedBeforeTheConsumerUsesThem) {
  narrowed<half>();
  narrowed<bfloat16>();
  narrowed<std::int8_t>();
  narrowed<std::uint8_t>();
  narrowed<std::int16_t>();
  narrowed<std::uint16_t>();
  narrowed<std::int32_t>();
}

TEST_P(W47Epilogue, W47_AMergedPairTakesFurtherConsumers) {
  const Program chain = [](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> a(kCount), b(kCount), c(kCount), d(kCount);
    device.launch(times("first"), over(kCount), x, a, kCount);
    device.launch(plus("second"), over(kCount), a, b, kCount);
    device.launch(times("third"), over(900), b, c, 900);
    device.launch(plus("fourth"), over(kCount), a, d, kCount);  // of the first one again
    return {bytes_of(a), bytes_of(b), bytes_of(c), bytes_of(d)};
  };
  const Ran merged = run_program(chain, true);
  EXPECT_EQ(merged.launches, 1U);
  EXPECT_EQ(merged.stats.epilogue_merges, 3U);
  EXPECT_EQ(merged.outputs, run_program(chain, false).outputs);
}

TEST_P(W47Epilogue, W47_AChainStopsAtTheGroupLimit) {
  if (subject() != kRecording && Device::get(subject()).properties().argument_slots > 0) {
    GTEST_SKIP() << "the device's argument slots end a chain before the group's limit does (W48)";
  }
  const Program chain = [](const Device& device) -> Bytes {
    std::vector<Vector<float>> steps;
    steps.emplace_back(std::span<const float>(telling_values(100)));
    for (int k = 0; k < 17; ++k) {
      steps.emplace_back(100);
      device.launch(k % 2 ? plus("step") : times("step"), over(100), steps[k], steps[k + 1], 100);
    }
    Bytes all;
    for (const auto& one : steps) all.push_back(bytes_of(one));
    return all;
  };
  const Ran merged = run_program(chain, true);
  EXPECT_EQ(merged.launches, 3U);  // eight, eight and one
  EXPECT_EQ(merged.stats.epilogue_merges, 14U);
  EXPECT_EQ(name(merged.epilogue_reason()), name(Reason::group_full));
  EXPECT_EQ(merged.outputs, run_program(chain, false).outputs);
}

TEST_P(W47Epilogue, W47_AMergedPairIsAMemberOfAHorizontalGroup) {
  const Program program = [](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> a(kCount), b(kCount), c(kCount), d(kCount);
    const auto producer = times("producer"), other = times("other");
    const auto consumer = plus("consumer");
    device.launch(producer, over(kCount), x, a, kCount);
    device.launch(other, over(kCount), x, c, kCount);  // beside it
    device.launch(consumer, over(kCount), a, b, kCount);
    device.launch(consumer, over(kCount), c, d, kCount);
    return {bytes_of(a), bytes_of(b), bytes_of(c), bytes_of(d)};
  };
  const Ran merged = run_program(program, true);
  EXPECT_EQ(merged.launches, 1U);
  EXPECT_EQ(merged.stats.fused_groups, 1U);
  EXPECT_EQ(merged.stats.epilogue_merges, 2U);
  EXPECT_EQ(merged.outputs, run_program(program, false).outputs);
}

TEST_P(W48Epilogue, W48_AChainEndsWhereTheDevicesOwnLimitIsReached) {
  if (subject() == kRecording) GTEST_SKIP() << "it has no limits of its own";
  const Device device = Device::get(subject());
  const DeviceProperties& limits = device.properties();
  const bool small = (limits.parameter_bytes > 0 && limits.parameter_bytes <= 1024) ||
                     (limits.argument_slots > 0 && limits.argument_slots <= 64) ||
                     (limits.push_constant_bytes > 0 && limits.push_constant_bytes <= 256);
  if (!small) GTEST_SKIP() << "no limit that a chain of 40 would reach";
  const Program chain = [](const Device& on) -> Bytes {
    std::vector<Vector<float>> steps;
    steps.emplace_back(std::span<const float>(telling_values(100)));
    for (int k = 0; k < 40; ++k) {
      steps.emplace_back(100U);
      on.launch(k % 2 ? plus("step") : times("step"), over(100), steps[k], steps[k + 1], 100);
    }
    Bytes all;
    for (const auto& one : steps) all.push_back(bytes_of(one));
    return all;
  };
  window::current().set_limits(64, 64);
  const Ran merged = run_program(chain, true);
  window::current().set_limits(8, 8);
  EXPECT_GT(merged.stats.epilogue_merges, 1U);
  EXPECT_GT(merged.launches, 1U);
  EXPECT_EQ(merged.stats.fallbacks, 0U);
  const Reason reason = merged.epilogue_reason();
  EXPECT_TRUE(reason == Reason::parameter_limit || reason == Reason::push_constant_limit ||
              reason == Reason::slot_limit)
      << name(reason);
  EXPECT_EQ(merged.outputs, run_program(chain, false).outputs);
}

struct Limit {
  const char* name;
  Reason reason;
  void (*adjust)(DeviceProperties&);
};
class W48Limits : public ::testing::TestWithParam<Limit> {};

// By the fake's cost each kernel takes 16+16+8 bytes, 2+2+1 slots, 4+4+4 push-constant bytes; the
// merged one twice that and the range: 88, 11 and 28.
TEST_P(W48Limits, W48_AMergeThatWouldPassALimitIsNotMade) {
  expect_refused(pair(times("producer"), plus("consumer")), GetParam().reason,
                 FakeOptions{.adjust = GetParam().adjust});
}
INSTANTIATE_TEST_SUITE_P(Each, W48Limits,
                         ::testing::Values(Limit{"parameters", Reason::parameter_limit,
                                                 [](auto& d) { d.parameter_bytes = 87; }},
                                           Limit{"slots", Reason::slot_limit,
                                                 [](auto& d) { d.argument_slots = 10; }},
                                           Limit{"push_constants", Reason::push_constant_limit,
                                                 [](auto& d) { d.push_constant_bytes = 27; }}),
                         [](const auto& one) { return one.param.name; });

TEST(W48LimitsOnFake, W48_ExactlyTheLimitFits) {
  expect_merged(pair(times("producer"), plus("consumer")), 1, FakeOptions{.adjust = [](auto& d) {
                  d.parameter_bytes = 88;
                  d.argument_slots = 11;
                  d.push_constant_bytes = 28;
                }});
}

}  // namespace
}  // namespace salvo::tests
