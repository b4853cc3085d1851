// K3, K4: the guard of a launch's threads, and operators that change what they stand on.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "ir/hash.hpp"
#include "salvo/salvo.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {
namespace {

template <class T>
std::vector<T> read(const VectorView<const T>& vector) {
  const auto all = vector.read();
  return {all.begin(), all.end()};
}

template <class... P>
ir::Digest hash_of(const Kernel<P...>& kernel) {
  return ir::hash(kernel.record()->kernel);
}

// ---- for_each_thread ---------------------------------------------------------------------------

/// Element i becomes i + 1 where i is below the count.
std::vector<std::int32_t> numbered(std::size_t size, int count) {
  std::vector<std::int32_t> values(size, 0);
  std::iota(values.begin(), values.begin() + count, 1);
  return values;
}

TEST(K04Guard, K4_ForEachThreadRunsTheThreadsBelowTheCountAndNoOthers) {
  const auto below = kernel("below", [](Span<std::int32_t> x, Int n) {
    for_each_thread(n, [&](Int i) { x[i] += i + 1; });
  });
  const auto within = kernel(
      "within", [](Span<std::int32_t> x) { for_each_thread(x, [&](Int i) { x[i] += i + 1; }); });
  constexpr std::size_t kRoom = 400;  // past the count, where a thread too many would write
  for (const Device& device : Device::all()) {
    for (const int block : {32, 64, 128}) {
      for (const int n :
           {1, block - 1, block, block + 1, 2 * block - 1, 2 * block, 2 * block + 1}) {
        SCOPED_TRACE(device.id() + ", " + std::to_string(n) + " in blocks of " +
                     std::to_string(block));
        const auto expected = numbered(kRoom, n);
        Vector<std::int32_t> a(kRoom), b(kRoom), c(kRoom);
        device.launch(below, over(n).block(block), a, n);
        device.launch(within, over(n).block(block), b.view(0, static_cast<std::size_t>(n)));
        device.launch(below, grid(kRoom / 32).block(32), c, n);  // far more threads
        EXPECT_EQ(read<std::int32_t>(a), expected);
        EXPECT_EQ(read<std::int32_t>(b), expected);
        EXPECT_EQ(read<std::int32_t>(c), expected);
      }
    }
    Vector<std::int32_t> by_itself(kRoom);
    device.launch(below, over(301), by_itself, 301);
    EXPECT_EQ(read<std::int32_t>(by_itself), numbered(kRoom, 301)) << device.id();
  }
}

// Fusion proves what it may do from the guard: the two ways to write it must be one to it.
TEST(K04Guard, K4_ForEachThreadIsTheKernelWithTheGuardWrittenOut) {
  const auto brief = kernel("twice", [](Span<const float> x, Span<float> y, Int n) {
    for_each_thread(n, [&](Int i) { y[i] = x[i] * 2.0f; });
  });
  const auto written_out = kernel("twice", [](Span<const float> x, Span<float> y, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] { y[i] = x[i] * 2.0f; });
  });
  EXPECT_EQ(hash_of(brief), hash_of(written_out)) << brief.ir() << written_out.ir();

  const auto by_size = kernel("twice", [](Span<const float> x, Span<float> y) {
    for_each_thread(y, [&](Int i) { y[i] = x[i] * 2.0f; });
  });
  const auto size_written_out = kernel("twice", [](Span<const float> x, Span<float> y) {
    auto i = global_thread_id();
    if_(i < y.size(), [&] { y[i] = x[i] * 2.0f; });
  });
  EXPECT_EQ(hash_of(by_size), hash_of(size_written_out)) << by_size.ir() << size_written_out.ir();
  EXPECT_NE(hash_of(by_size), hash_of(brief));

  const auto fixed =
      kernel("ones", [](Span<float> y) { for_each_thread(100, [&](Int i) { y[i] = 1.0f; }); });
  const auto fixed_written_out = kernel("ones", [](Span<float> y) {
    auto i = global_thread_id();
    if_(i < 100, [&] { y[i] = 1.0f; });
  });
  EXPECT_EQ(hash_of(fixed), hash_of(fixed_written_out)) << fixed.ir() << fixed_written_out.ir();
}

// ---- Compound assignment, increment and decrement ---------------------------------------------

/// What each operator leaves of 23 with 3, and then what x++ and x-- give and leave.
const std::vector<std::int32_t>& integer_results() {
  static const std::vector<std::int32_t> results{23 + 3, 23 - 3, 23 * 3,  23 / 3,  23 % 3, 23 & 3,
                                                 23 | 3, 23 ^ 3, 23 << 3, 23 >> 3, 24,     22,
                                                 23,     24,     23,      22};
  return results;
}

/// `place` gives a reference, which is made anew for each access; `put` takes the results in order.
template <class Place, class Put>
void integer_operators(const Place& place, const Put& put) {
  const auto after = [&](const auto& change) {
    place() = 23;
    change();
    put(place());
  };
  after([&] { place() += 3; });
  after([&] { place() -= 3; });
  after([&] { place() *= 3; });
  after([&] { place() /= 3; });
  after([&] { place() %= 3; });
  after([&] { place() &= 3; });
  after([&] { place() |= 3; });
  after([&] { place() ^= 3; });
  after([&] { place() <<= 3; });
  after([&] { place() >>= 3; });
  after([&] { ++place(); });
  after([&] { --place(); });
  after([&] { put(place()++); });
  after([&] { put(place()--); });
}

struct Pair {
  float weight;
  std::int32_t count;
};

}  // namespace
}  // namespace salvo::tests

template <>
struct salvo::Record<salvo::tests::Pair>
    : salvo::Fields<&salvo::tests::Pair::weight, &salvo::tests::Pair::count> {};

namespace salvo::tests {
namespace {

TEST(K03Operators, K3_CompoundAssignmentAndIncrementWorkOnAllThatCanBeAssigned) {
  const auto operators = kernel("operators", [](Span<std::int32_t> out, Span<std::int32_t> x,
                                                Span<std::int16_t> narrow, Span<Pair> pairs) {
    int next = 0;  // while tracing
    const auto put = [&](const auto& value) { out[next++] = value; };
    Var<std::int32_t> variable = 0;
    Var<Pair> record = Value<Pair>(pairs[0]);
    Shared<std::int32_t> shared(1);
    LocalArray<std::int32_t> local(2);
    integer_operators(
        [&]() -> auto& { return variable; }, put);
    integer_operators([&] { return x[1]; }, put);
    integer_operators([&] { return narrow[1]; }, put);
    integer_operators([&] { return pairs[1][&Pair::count]; }, put);
    integer_operators([&] { return record[&Pair::count]; }, put);
    integer_operators([&] { return shared[0]; }, put);
    integer_operators([&] { return local[1]; }, put);
  });
  std::vector<std::int32_t> expected;
  for (int kind = 0; kind < 7; ++kind) {
    expected.insert(expected.end(), integer_results().begin(), integer_results().end());
  }
  for (const Device& device : Device::all()) {
    Vector<std::int32_t> out(expected.size()), x(3);
    Vector<std::int16_t> narrow(3);
    Vector<Pair> pairs(2);
    device.launch(operators, grid(1), out, x, narrow, pairs);
    EXPECT_EQ(read<std::int32_t>(out), expected) << device.id();
    EXPECT_EQ(read<std::int32_t>(x), (std::vector<std::int32_t>{0, 22, 0})) << device.id();
    EXPECT_EQ(read<std::int16_t>(narrow), (std::vector<std::int16_t>{0, 22, 0})) << device.id();
  }
}

TEST(K03Operators, K3_FloatsCountInOnes) {
  const auto operators = kernel("floats", [](Span<float> out) {
    Var<float> v = 2.5f;
    out[0] = ++v;
    out[1] = v++;
    out[2] = v--;
    out[3] = --v;
    v *= 3.0f;
    v -= 0.5f;
    v /= 2.0f;
    out[4] = v;
    out[5] += v;
    out[5]--;
  });
  for (const Device& device : Device::all()) {
    Vector<float> out(6);
    device.launch(operators, grid(1), out);
    EXPECT_EQ(read<float>(out), (std::vector<float>{3.5f, 3.5f, 4.5f, 2.5f, 3.5f, 2.5f}))
        << device.id();
  }
}

}  // namespace
}  // namespace salvo::tests
