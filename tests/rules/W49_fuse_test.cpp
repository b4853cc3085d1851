// W49: explicit fusion leaves the intermediate out, keeps the bits, and refuses what is unsound.
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rules/epilogue_fixture.hpp"
#include "rules/on_devices.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {

struct Pixel {
  float value;
  std::int32_t weight;
};
struct Affine {
  float factor;
  float summand;
};

}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::Pixel>
    : salvo::Fields<&salvo::tests::Pixel::value, &salvo::tests::Pixel::weight> {};
template <>
struct salvo::Record<salvo::tests::Affine>
    : salvo::Fields<&salvo::tests::Affine::factor, &salvo::tests::Affine::summand> {};

namespace salvo::tests {
namespace {

constexpr int kCount = 1000;

std::size_t count_of(std::string_view text, std::string_view word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) ++found;
  return found;
}

class W49Fuse : public OnEachSubject {
 protected:
  Device device() const { return Device::get(GetParam()); }

  /// What `z` holds after the producer, then the consumer; and after both in one.
  template <class T, class Apart, class Fused>
  void expect_same(std::size_t count, Apart apart, Fused fused) {
    Vector<T> expected(count), got(count);
    apart(expected);
    fused(got);
    const std::vector<std::byte> a = bytes_of(expected), b = bytes_of(got);
    ASSERT_EQ(a.size(), count * sizeof(T));
    EXPECT_EQ(a, b);
    EXPECT_TRUE(std::ranges::any_of(a, [](std::byte one) { return one != std::byte{0}; }));
  }

  Vector<float> x{std::span<const float>(telling_values(kCount))};
};
SALVO_ON_SUBJECTS(W49Fuse, "Interpreter:0");
INSTANTIATE_TEST_SUITE_P(OnNative, W49Fuse, ::testing::ValuesIn(devices_of("Native")),
                         subject_label);

template <class T>
Vector<T> zeros(int count = kCount) {
  return Vector<T>(static_cast<std::size_t>(count));
}

TEST_P(W49Fuse, W49_MapMap) {
  const auto producer = times("producer"), consumer = plus("consumer");
  const auto fused = fuse(producer, consumer, through<1, 0>);
  static_assert(std::is_same_v<decltype(fused), const Kernel<Span<float>, Int, Span<float>, Int>>);
  EXPECT_EQ(fused.name(), "producer>consumer");
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<float> y = zeros<float>();
        device().launch(producer, over(kCount), x, y, kCount);
        device().launch(consumer, over(kCount), y, z, kCount);
      },
      [&](auto& z) { device().launch(fused, over(kCount), x, kCount, z, kCount); });
}

TEST_P(W49Fuse, W49_TheProducersGuardIsKeptAndWhatItLeavesOutIsZero) {
  const auto producer = times("producer"), consumer = plus("consumer");
  const auto fused = fuse(producer, consumer, through<1, 0>);
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<float> y = zeros<float>();
        device().launch(producer, over(kCount), x, y, 700);
        device().launch(consumer, over(kCount), y, z, 900);
      },
      [&](auto& z) {
        device().launch(fused, over(kCount), x, 700, z, 900);
        EXPECT_EQ(z[800], 0.3f);
        EXPECT_EQ(z[950], 0.0f);
      });
}

TEST_P(W49Fuse, W49_MapReduce) {
  const auto producer = kernel("squares", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * from[i] + 0.1f; });
  });
  const auto sums = kernel("sums", [](Span<float> from, Span<float> to, Int n) {
    Shared<float> tile(64);
    auto t = thread_idx_x();
    Var<float> own = 0.0f;
    for_(range(global_thread_id(), n, grid_dim_x() * block_dim_x()),
         [&](Int i) { own += from[i]; });
    tile[t] = own;
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
  std::vector<float> plain(kCount);
  for (int i = 0; i < kCount; ++i)
    plain[static_cast<std::size_t>(i)] = 0.37f * float(i % 91) - 9.0f;
  Vector<float> values{std::span<const float>(plain)};
  const auto fused = fuse(producer, sums, through<1, 0>);
  expect_same<float>(
      5,
      [&](auto& z) {
        Vector<float> y = zeros<float>();
        device().launch(producer, over(kCount), values, y, kCount);
        device().launch(sums, grid(5).block(64), y, z, kCount);
      },
      [&](auto& z) { device().launch(fused, grid(5).block(64), values, kCount, z, kCount); });
}

TEST_P(W49Fuse, W49_Stencil) {
  const auto producer = times("producer");
  const auto smooth = kernel("smooth", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i > 0 && i < n - 1,
        [&] { to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1]; });
  });
  const auto fused = fuse(producer, smooth, through<1, 0>);
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<float> y = zeros<float>();
        device().launch(producer, over(kCount), x, y, kCount);
        device().launch(smooth, over(kCount), y, z, kCount);
      },
      [&](auto& z) { device().launch(fused, over(kCount), x, kCount, z, kCount); });
}

TEST_P(W49Fuse, W49_StencilInTwoDimensions) {
  constexpr int kWidth = 40, kHeight = 25;
  const auto producer = times("producer");
  const auto blur = kernel("blur", [](Span<float> from, Span<float> to, Int width, Int height) {
    auto column = global_idx_x(), row = global_idx_y();
    if_(column < width && row < height, [&] {
      Var<float> sum = 0.0f;
      for_(range(-1, 2), [&](Int dy) {
        for_(range(-1, 2), [&](Int dx) {
          sum +=
              from[min(max(row + dy, 0), height - 1) * width + min(max(column + dx, 0), width - 1)];
        });
      });
      to[row * width + column] = sum / 9.0f;
    });
  });
  const auto fused = fuse(producer, blur, through<1, 0>);
  const Dims dims = grid(3, 4).block(16, 8);
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<float> y = zeros<float>();
        device().launch(producer, over(kCount), x, y, kCount);
        device().launch(blur, dims, y, z, kWidth, kHeight);
      },
      [&](auto& z) { device().launch(fused, dims, x, kCount, z, kWidth, kHeight); });
}

TEST_P(W49Fuse, W49_AProducerWithLoopsBranchesAndReturns) {
  const auto producer = kernel("busy", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i >= n, [&] { return_(); });
    Var<float> sum = 0.0f;
    for_(range(8), [&](Int k) {
      if_(from[(i + k) % n] > 0.5f, [&] { break_(); });
      sum += from[(i + k) % n];
    });
    if_(i % 3 == 0, [&] { to[i] = sum; }).else_([&] { to[i] = -sum; });
  });
  const auto consumer = kernel("both", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i >= n / 2, [&] { return_(); });
    to[i] = from[i] - from[n - 1 - i];
  });
  const auto fused = fuse(producer, consumer, through<1, 0>);
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<float> y = zeros<float>();
        device().launch(producer, over(kCount), x, y, kCount);
        device().launch(consumer, over(kCount), y, z, kCount);
      },
      [&](auto& z) { device().launch(fused, over(kCount), x, kCount, z, kCount); });
}

template <class T>
std::pair<Kernel<Span<float>, Span<T>, Int>, Kernel<Span<T>, Span<float>, Int>> narrowing() {
  const auto store = kernel("store", [](Span<float> from, Span<T> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      if constexpr (std::is_same_v<T, bool>) {
        to[i] = from[i] > 0.0f;
      } else if constexpr (std::is_integral_v<T>) {
        to[i] = cast<detail::computed_t<T>>(i * 77 - 20000) + cast<detail::computed_t<T>>(from[i]);
      } else {
        to[i] = cast<detail::computed_t<T>>(from[i]) * detail::computed_t<T>(1.1f);
      }
    });
  });
  const auto widen = kernel("widen", [](Span<T> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      if constexpr (std::is_same_v<T, bool>) {
        to[i] = select(from[i], Float(2.0f), Float(3.0f));
      } else {
        to[i] = cast<float>(from[i]) + 0.25f;
      }
    });
  });
  return {store, widen};
}

TEST_P(W49Fuse, W49_AnElementIsRoundedAsIfItHadBeenStored) {
  const auto check = [&]<class T>(std::type_identity<T>) {
    const auto [store, widen] = narrowing<T>();
    const auto fused = fuse(store, widen, through<1, 0>);
    SCOPED_TRACE(fused.ir());
    expect_same<float>(
        kCount,
        [&](auto& z) {
          Vector<T> y = zeros<T>();
          device().launch(store, over(kCount), x, y, kCount);
          device().launch(widen, over(kCount), y, z, kCount);
        },
        [&](auto& z) { device().launch(fused, over(kCount), x, kCount, z, kCount); });
  };
  check(std::type_identity<half>{});
  check(std::type_identity<bfloat16>{});
  check(std::type_identity<std::int8_t>{});
  check(std::type_identity<std::uint16_t>{});
  check(std::type_identity<std::int64_t>{});
  check(std::type_identity<bool>{});
  if (device().properties().fp64) check(std::type_identity<double>{});
}

TEST_P(W49Fuse, W49_RecordsBetweenAndByValue) {
  const auto producer =
      kernel("pixels", [](Value<Affine> map, Span<float> from, Span<Pixel> to, Int n) {
        auto i = global_thread_id();
        if_(i < n, [&] {
          to[i][&Pixel::weight] = i % 7;
          to[i][&Pixel::value] = from[i] * map[&Affine::factor] + map[&Affine::summand];
        });
      });
  const auto consumer =
      kernel("weigh", [](Value<Affine> map, Span<Pixel> from, Span<float> to, Int n) {
        auto i = global_thread_id();
        if_(i < n, [&] {
          to[i] =
              from[i][&Pixel::value] * cast<float>(from[i][&Pixel::weight]) + map[&Affine::summand];
        });
      });
  const auto fused = fuse(producer, consumer, through<2, 1>);
  const Affine first{1.3f, 0.2f}, second{9.0f, 0.7f};
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<Pixel> y = zeros<Pixel>();
        device().launch(producer, over(kCount), first, x, y, kCount);
        device().launch(consumer, over(kCount), second, y, z, kCount);
      },
      [&](auto& z) { device().launch(fused, over(kCount), first, x, kCount, second, z, kCount); });
}

TEST_P(W49Fuse, W49_LiveValuesOfBothAreReadAtEachLaunch) {
  float factor = 2.0f, summand = 0.5f;
  const auto producer = kernel("producer", [&](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] * live(factor); });
  });
  const auto consumer = kernel("consumer", [&](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i] + live(summand); });
  });
  const auto fused = fuse(producer, consumer, through<1, 0>);
  Vector<float> ones(kCount, 1.0f);
  Vector<float> z(kCount);
  device().launch(fused, over(kCount), ones, kCount, z, kCount);
  EXPECT_EQ(z[17], 2.5f);
  factor = 3.0f;
  summand = 10.0f;
  device().launch(fused, over(kCount), ones, kCount, z, kCount);
  EXPECT_EQ(z[17], 13.0f);
}

TEST_P(W49Fuse, W49_AFusedKernelIsFusedAgain) {
  const auto a = times("a"), b = plus("b"), c = times("c", 0.7f);
  const auto fused = fuse(fuse(a, b, through<1, 0>), c, through<2, 0>);
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<float> y = zeros<float>(), w = zeros<float>();
        device().launch(a, over(kCount), x, y, kCount);
        device().launch(b, over(kCount), y, w, kCount);
        device().launch(c, over(kCount), w, z, kCount);
      },
      [&](auto& z) { device().launch(fused, over(kCount), x, kCount, kCount, z, kCount); });
}

TEST_P(W49Fuse, W49_NothingIsContractedAcross) {
  // A product of the producer's meets a sum of the consumer's: fused across, the bits would differ.
  const auto producer = times("producer", 1.1f), consumer = plus("consumer", 0.3f);
  for (const Contraction mode : {Contraction::fixed, Contraction::off}) {
    const auto fused = fuse(producer.contraction(mode), consumer.contraction(mode), through<1, 0>);
    EXPECT_EQ(fused.contraction(), mode);
    EXPECT_EQ(fused.source("OpenCL").find("fma("), std::string::npos) << fused.source("OpenCL");
    expect_same<float>(
        kCount,
        [&](auto& z) {
          Vector<float> y = zeros<float>();
          device().launch(producer.contraction(mode), over(kCount), x, y, kCount);
          device().launch(consumer.contraction(mode), over(kCount), y, z, kCount);
        },
        [&](auto& z) { device().launch(fused, over(kCount), x, kCount, z, kCount); });
  }
}

TEST_P(W49Fuse, W49_EachKeepsTheMultiplyAddsItHas) {
  const auto two = [](const char* name, float factor) {
    return kernel(name, [factor](Span<float> from, Span<float> to, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] { to[i] = from[i] * factor + 0.37f; });
    });
  };
  const auto producer = two("producer", 1.1f), consumer = two("consumer", 0.9f);
  const auto fused = fuse(producer, consumer, through<1, 0>);
  const std::string code = fused.source("OpenCL");
  EXPECT_EQ(count_of(code, "fma("), 2U) << code;
  EXPECT_EQ(fused.contraction(Contraction::off).source("OpenCL").find("fma("), std::string::npos);
  EXPECT_EQ(fused.contraction(Contraction::off).contraction(Contraction::fixed).source("OpenCL"),
            code);
  expect_same<float>(
      kCount,
      [&](auto& z) {
        Vector<float> y = zeros<float>();
        device().launch(producer, over(kCount), x, y, kCount);
        device().launch(consumer, over(kCount), y, z, kCount);
      },
      [&](auto& z) { device().launch(fused, over(kCount), x, kCount, z, kCount); });
}

TEST_P(W49Fuse, W49_InPlaceIsSoundWhereEachThreadStaysAtItsElement) {
  const auto producer = times("producer"), consumer = plus("consumer");
  const auto fused = fuse(producer, consumer, through<1, 0>);
  Vector<float> apart = x.clone(), together = x.clone(), y = zeros<float>();
  device().launch(producer, over(kCount), apart, y, kCount);
  device().launch(consumer, over(kCount), y, apart, kCount);
  device().launch(fused, over(kCount), together, kCount, together, kCount);
  EXPECT_EQ(bytes_of(apart), bytes_of(together));
}

TEST(W49Form, W49_AnElementReadTwiceIsComputedOnce) {
  const auto producer = kernel("root", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { to[i] = sqrt(from[i]); });
  });
  const auto consumer = kernel("twice", [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      to[i] = from[i] * from[i];
      if_(from[i] > 1.0f, [&] { to[i] = from[i] + from[i + 1]; });
    });
  });
  const std::string ir = fuse(producer, consumer, through<1, 0>).ir();
  EXPECT_EQ(count_of(ir, "sqrt"), 2U) << ir;
}

TEST(W49Form, W49_TheIntermediateIsGone) {
  const auto fused = fuse(times("producer"), plus("consumer"), through<1, 0>);
  EXPECT_EQ(fused.record()->kernel.parameters.size(), 4U);
  EXPECT_EQ(count_of(fused.ir(), "store"), 1U) << fused.ir();
  EXPECT_EQ(count_of(fused.ir(), "load"), 1U) << fused.ir();
}

using Two = Kernel<Span<float>, Span<float>, Int>;

template <class Body>
Two made(const std::string& name, Body body) {
  return kernel(name, [body](Span<float> a, Span<float> b, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { body(a, b, i, n); });
  });
}

/// Fusing throws with `words`, and with a line of this file.
template <class Fuse>
void expect_obstacle(const std::string& words, Fuse fuse_them) {
  try {
    fuse_them();
    ADD_FAILURE() << "fused in spite of: " << words;
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(Errc::invalid_kernel));
    EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    EXPECT_EQ(error.operation(), "fuse");
    EXPECT_NE(error.kernel_location().file.find("W49_fuse_test.cpp"), std::string::npos);
    EXPECT_GT(error.kernel_location().line, 0U);
  }
}
void expect_producer_refused(const std::string& words, const Two& producer) {
  expect_obstacle(producer.name() + " " + words,
                  [&] { return fuse(producer, plus("consumer"), through<1, 0>); });
}
void expect_consumer_refused(const std::string& words, const Two& consumer) {
  expect_obstacle(consumer.name() + " " + words,
                  [&] { return fuse(times("producer"), consumer, through<1, 0>); });
}

TEST(W49Obstacles, W49_AtomicsOfTheProducer) {
  expect_producer_refused("has an atomic operation", made("p", [](auto a, auto b, Int i, Int) {
                            b[i] = a[i];
                            atomic_add(b[i], 1.0f);
                          }));
}

TEST(W49Obstacles, W49_BarriersFencesArraysAndWarpsOfTheProducer) {
  expect_producer_refused("has a barrier or fence",
                          kernel("p", [](Span<float> a, Span<float> b, Int) {
                            barrier();
                            b[global_thread_id()] = a[global_thread_id()];
                          }));
  expect_producer_refused("has a barrier or fence", made("p", [](auto a, auto b, Int i, Int) {
                            fence(Scope::device);
                            b[i] = a[i];
                          }));
  expect_producer_refused("has a shared or local array", made("p", [](auto a, auto b, Int i, Int) {
                            LocalArray<float> own(2);
                            own[0] = a[i];
                            b[i] = own[0];
                          }));
  expect_producer_refused("has a warp operation",
                          kernel("p", [](Span<float> a, Span<float> b, Int) {
                            b[global_thread_id()] = warp_add(a[global_thread_id()]);
                          }));
}

TEST(W49Obstacles, W49_PositionsAndIndexShiftsOfTheProducer) {
  expect_producer_refused(
      "reads a position or dimension other than its global thread id",
      made("p", [](auto a, auto b, Int i, Int) { b[i] = a[i] * cast<float>(thread_idx_x()); }));
  expect_producer_refused("stores at another element than that of its thread",
                          made("p", [](auto a, auto b, Int i, Int) { b[i + 1] = a[i]; }));
  expect_producer_refused("stores at another element than that of its thread",
                          made("p", [](auto a, auto b, Int i, Int n) { b[n - 1 - i] = a[i]; }));
}

TEST(W49Obstacles, W49_OtherStoresAndReadsOfTheProducer) {
  expect_producer_refused("stores to another vector too", made("p", [](auto a, auto b, Int i, Int) {
                            b[i] = a[i];
                            a[i] = 0.0f;
                          }));
  expect_producer_refused("reads the intermediate",
                          made("p", [](auto a, auto b, Int i, Int) { b[i] += a[i]; }));
  expect_producer_refused("does not store to the intermediate",
                          made("p", [](auto, auto, Int, Int) {}));
}

TEST(W49Obstacles, W49_GuardsThatDependOnData) {
  expect_producer_refused(
      "stores to the intermediate or not as its data say",
      made("p", [](auto a, auto b, Int i, Int) { if_(a[i] > 0.0f, [&] { b[i] = a[i]; }); }));
  expect_producer_refused("stores to the intermediate or not as its data say",
                          made("p", [](auto a, auto b, Int i, Int) {
                            if_(a[i] > 0.0f, [&] { return_(); });
                            b[i] = a[i];
                          }));
}

TEST(W49Obstacles, W49_LengthsOfTheIntermediate) {
  expect_producer_refused(
      "asks for the length of the intermediate",
      made("p", [](auto a, auto b, Int i, Int) { b[i] = a[i] * cast<float>(b.size()); }));
  expect_consumer_refused(
      "asks for the length of the intermediate",
      made("c", [](auto a, auto b, Int i, Int) { b[i] = a[i] * cast<float>(a.size()); }));
}

TEST(W49Obstacles, W49_TheConsumerOnlyReadsTheIntermediate) {
  expect_consumer_refused("stores to the intermediate", made("c", [](auto a, auto b, Int i, Int) {
                            b[i] = a[i];
                            a[i] = 0.0f;
                          }));
  expect_consumer_refused("stores to the intermediate", made("c", [](auto a, auto b, Int i, Int) {
                            b[i] = atomic_add(a[i], 1.0f);
                          }));
  expect_consumer_refused("does not read the intermediate",
                          made("c", [](auto, auto b, Int i, Int) { b[i] = 1.0f; }));
}

TEST(W49Obstacles, W49_NoFuseAndContractionModes) {
  expect_producer_refused("is marked no_fuse", made("p", [](auto a, auto b, Int i, Int) {
                            no_fuse();
                            b[i] = a[i];
                          }));
  expect_obstacle("their contraction modes differ", [] {
    return fuse(times("p").contraction(Contraction::off), plus("c"), through<1, 0>);
  });
}

void expect_overlap(const std::function<void()>& launch) {
  try {
    launch();
    ADD_FAILURE() << "launched although the consumer writes what the producer reads";
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(Errc::invalid_argument));
    EXPECT_NE(error.message().find("argument 0 overlaps argument 2"), std::string::npos)
        << error.message();
  }
}

TEST(W49Overlap, W49_ALaunchThatWouldReadWhatItHasWrittenIsRefused) {
  const Device device = Device::get("Interpreter:0");
  const auto shifted = made("shifted", [](auto a, auto b, Int i, Int) { b[i] = a[i + 1]; });
  const auto map = fuse(times("producer"), plus("consumer"), through<1, 0>);
  const auto stencil = fuse(times("producer"), shifted, through<1, 0>);
  Vector<float> x(kCount), z(kCount);
  expect_overlap([&] { device.launch(stencil, over(10), x, kCount, x, 10); });
  expect_overlap([&] {
    auto from = x.view(0, 100), to = x.view(99, 100);
    device.launch(map, over(100), from, 100, to, 100);
  });
  // Rows repeat each element.
  expect_overlap([&] { device.launch(map, grid(4, 2).block(64), x, 100, x, 100); });
  // A second read of the element, after it was written.
  const auto again = made("again", [](auto a, auto b, Int i, Int n) {
    if_(i < n, [&] { b[i] = a[i]; });
    if_(i < n - 1, [&] { b[i] = a[i] + 1.0f; });
  });
  const auto late = fuse(times("producer"), again, through<1, 0>);
  expect_overlap([&] { device.launch(late, over(100), x, 100, x, 100); });
  auto low = x.view(0, 100), high = x.view(100, 100);
  EXPECT_NO_THROW(device.launch(map, over(100), low, 100, high, 100));
  EXPECT_NO_THROW(device.launch(stencil, over(10), x, kCount, z, 10));
}

}  // namespace
}  // namespace salvo::tests
