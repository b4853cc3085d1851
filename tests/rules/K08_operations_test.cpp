// K4, K6, K8, K10, K15: each atomic, position, control and warp function of the language is the
// operation that its name says; and what a kernel is can be read.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "rules/traced_operations.hpp"

namespace salvo::tests {
namespace {

Device interpreter() {
  return Device::get("Interpreter:0");
}

template <class T>
std::vector<T> read(const VectorView<const T>& vector) {
  const auto all = vector.read();
  return {all.begin(), all.end()};
}

// ---- Atomics -----------------------------------------------------------------------------------

template <class T>
struct Atomic {
  std::string name;  // in the language and in the IR
  std::function<Value<T>(const Ref<T>&, Value<T>)> traced;
  std::function<T(T, T)> host;
};

/// Global and shared memory, two operands that no two of the operations treat alike.
template <class T>
void check_atomics(const std::vector<Atomic<T>>& atomics, T start, T operand) {
  for (const Atomic<T>& atomic : atomics) {
    SCOPED_TRACE(atomic.name);
    const auto traced = kernel(atomic.name, [&](Span<T> target, Span<T> old, Value<T> by) {
      Shared<T> shared(1);
      shared[0] = target[0];
      old[0] = atomic.traced(target[0], by);
      old[1] = atomic.traced(shared[0], by);
      target[1] = shared[0];
    });
    EXPECT_EQ(operations(traced), std::vector<std::string>(2, atomic.name));
    Vector<T> target{start, T(0)}, old(std::size_t{2});
    interpreter().launch(traced, grid(1), target, old, operand);
    const T expected = atomic.host(start, operand);
    EXPECT_NE(expected, start) << "the operands show nothing";
    EXPECT_EQ(read(target), (std::vector<T>{expected, expected}));
    EXPECT_EQ(read(old), (std::vector<T>{start, start}));
  }
}

template <class T>
void check_integer_atomics(T start, T operand) {
  using R = const Ref<T>&;
  using V = Value<T>;
  check_atomics<T>(
      {
          {"atomic_add", [](R to, V by) { return atomic_add(to, by); },
           [](T a, T b) { return T(a + b); }},
          {"atomic_sub", [](R to, V by) { return atomic_sub(to, by); },
           [](T a, T b) { return T(a - b); }},
          {"atomic_exchange", [](R to, V by) { return atomic_exchange(to, by); },
           [](T, T b) { return b; }},
          {"atomic_min", [](R to, V by) { return atomic_min(to, by); },
           [](T a, T b) { return std::min(a, b); }},
          {"atomic_and", [](R to, V by) { return atomic_and(to, by); },
           [](T a, T b) { return T(a & b); }},
          {"atomic_or", [](R to, V by) { return atomic_or(to, by); },
           [](T a, T b) { return T(a | b); }},
          {"atomic_xor", [](R to, V by) { return atomic_xor(to, by); },
           [](T a, T b) { return T(a ^ b); }},
      },
      start, operand);
  // The greater operand second, so that something changes.
  check_atomics<T>({{"atomic_max", [](R to, V by) { return atomic_max(to, by); },
                     [](T a, T b) { return std::max(a, b); }}},
                   operand, start);
}

TEST(K08Operations, K8_AtomicsAreWhatTheirNamesSay) {
  check_integer_atomics<std::int32_t>(1000, 0x35);
  check_integer_atomics<std::int32_t>(77, -6);
  check_integer_atomics<std::uint32_t>(0x80000001U, 0x36U);
  check_integer_atomics<std::int64_t>(1LL << 40 | 7, -(3LL << 33));
  check_integer_atomics<std::uint64_t>(1ULL << 63 | 9, 0x36U);
  check_atomics<float>(
      {{"atomic_add", [](const Ref<float>& to, Float by) { return atomic_add(to, by); },
        [](float a, float b) { return a + b; }}},
      1.5f, 0.25f);
  check_atomics<double>(
      {{"atomic_add", [](const Ref<double>& to, Double by) { return atomic_add(to, by); },
        [](double a, double b) { return a + b; }}},
      1.5, 0.25);
}

TEST(K08Operations, K8_CompareExchangeStoresOnlyWhereTheElementIsAsExpected) {
  const auto exchange = kernel("exchange", [](Span<std::int64_t> x, Span<std::int64_t> old) {
    old[0] = atomic_compare_exchange(x[0], 5, 6);
    old[1] = atomic_compare_exchange(x[1], 5, 6);
  });
  EXPECT_EQ(operations(exchange), std::vector<std::string>(2, "atomic_compare_exchange"));
  Vector<std::int64_t> x{5, 7}, old(std::size_t{2});
  interpreter().launch(exchange, grid(1), x, old);
  EXPECT_EQ(read(x), (std::vector<std::int64_t>{6, 7}));
  EXPECT_EQ(read(old), (std::vector<std::int64_t>{5, 7}));
}

// ---- Positions ---------------------------------------------------------------------------------

struct Place {
  std::array<int, 3> thread, block;
};
struct Position {
  std::string name;
  std::function<Int()> traced;
  std::function<int(const Place&)> host;
};

TEST(K08Operations, K6_PositionsAndSizesAreWhatTheirNamesSay) {
  constexpr std::array<int, 3> kBlock{3, 4, 2}, kGrid{2, 3, 5};
  const auto linear = [](const std::array<int, 3>& at, const std::array<int, 3>& size) {
    return (at[2] * size[1] + at[1]) * size[0] + at[0];
  };
  const std::vector<Position> positions{
      {"thread_idx_x", thread_idx_x, [](const Place& p) { return p.thread[0]; }},
      {"thread_idx_y", thread_idx_y, [](const Place& p) { return p.thread[1]; }},
      {"thread_idx_z", thread_idx_z, [](const Place& p) { return p.thread[2]; }},
      {"block_idx_x", block_idx_x, [](const Place& p) { return p.block[0]; }},
      {"block_idx_y", block_idx_y, [](const Place& p) { return p.block[1]; }},
      {"block_idx_z", block_idx_z, [](const Place& p) { return p.block[2]; }},
      {"block_dim_x", block_dim_x, [=](const Place&) { return kBlock[0]; }},
      {"block_dim_y", block_dim_y, [=](const Place&) { return kBlock[1]; }},
      {"block_dim_z", block_dim_z, [=](const Place&) { return kBlock[2]; }},
      {"grid_dim_x", grid_dim_x, [=](const Place&) { return kGrid[0]; }},
      {"grid_dim_y", grid_dim_y, [=](const Place&) { return kGrid[1]; }},
      {"grid_dim_z", grid_dim_z, [=](const Place&) { return kGrid[2]; }},
      {"global_idx_x", global_idx_x,
       [=](const Place& p) { return p.block[0] * kBlock[0] + p.thread[0]; }},
      {"global_idx_y", global_idx_y,
       [=](const Place& p) { return p.block[1] * kBlock[1] + p.thread[1]; }},
      {"global_idx_z", global_idx_z,
       [=](const Place& p) { return p.block[2] * kBlock[2] + p.thread[2]; }},
      {"global_thread_id", global_thread_id,
       [=](const Place& p) { return p.block[0] * kBlock[0] + p.thread[0]; }},
      {"lane_id", lane_id, [=](const Place& p) { return linear(p.thread, kBlock) % 32; }},
      {"warp_size", warp_size, [](const Place&) { return 32; }},
  };
  ASSERT_EQ(interpreter().properties().warp_size, 32U);
  const auto count = static_cast<int>(positions.size());
  const auto traced = kernel("positions", [&](Span<std::int32_t> result) {
    const Int block = (block_idx_z() * kGrid[1] + block_idx_y()) * kGrid[0] + block_idx_x();
    const Int thread = (thread_idx_z() * kBlock[1] + thread_idx_y()) * kBlock[0] + thread_idx_x();
    const Int first = (block * (kBlock[0] * kBlock[1] * kBlock[2]) + thread) * count;
    for (int k = 0; k < count; ++k) {
      result[first + k] = positions[static_cast<std::size_t>(k)].traced();
    }
  });
  const std::size_t threads = 3 * 4 * 2 * 2 * 3 * 5;
  Vector<std::int32_t> result(threads * positions.size());
  interpreter().launch(traced, grid(kGrid[0], kGrid[1], kGrid[2]).block(3, 4, 2), result);
  const std::vector<std::int32_t> got = read(result);
  for (Place at{}; at.block[2] < kGrid[2]; ++at.block[2]) {
    for (at.block[1] = 0; at.block[1] < kGrid[1]; ++at.block[1]) {
      for (at.block[0] = 0; at.block[0] < kGrid[0]; ++at.block[0]) {
        for (int t = 0; t < 24; ++t) {
          at.thread = {t % 3, t / 3 % 4, t / 12};
          const int first = (linear(at.block, kGrid) * 24 + t) * count;
          for (int k = 0; k < count; ++k) {
            const Position& position = positions[static_cast<std::size_t>(k)];
            ASSERT_EQ(got[static_cast<std::size_t>(first + k)], position.host(at))
                << position.name << ", thread " << t << " of block " << linear(at.block, kGrid);
          }
        }
      }
    }
  }
}

// ---- Warp operations ---------------------------------------------------------------------------

struct Warp {
  std::string name;  // in the language and in the IR
  std::function<Value<std::int64_t>(Int)> traced;
  std::function<std::int64_t(const std::vector<int>&, int)> host;
};

TEST(K08Operations, K10_WarpOperationsAreWhatTheirNamesSay) {
  using Lanes = const std::vector<int>&;
  const auto at = [](Lanes lanes, int lane) { return lanes[static_cast<std::size_t>(lane)]; };
  const auto wide = [](Int value) { return Int64(value); };
  const auto flag = [](Bool value) { return Int64(select(value, Int(1), Int(0))); };
  const std::vector<Warp> operations_of_a_warp{
      {"shuffle", [=](Int v) { return wide(shuffle(v, 31 - lane_id())); },
       [=](Lanes v, int lane) { return at(v, 31 - lane); }},
      // A lane that has no partner keeps its own value.
      {"shuffle_up", [=](Int v) { return wide(shuffle_up(v, 3)); },
       [=](Lanes v, int lane) { return at(v, lane < 3 ? lane : lane - 3); }},
      {"shuffle_down", [=](Int v) { return wide(shuffle_down(v, 3)); },
       [=](Lanes v, int lane) { return at(v, lane > 28 ? lane : lane + 3); }},
      {"shuffle_xor", [=](Int v) { return wide(shuffle_xor(v, 5)); },
       [=](Lanes v, int lane) { return at(v, lane ^ 5); }},
      {"warp_add", [=](Int v) { return wide(warp_add(v)); },
       [](Lanes v, int) { return std::accumulate(v.begin(), v.end(), 0); }},
      {"warp_min", [=](Int v) { return wide(warp_min(v)); },
       [](Lanes v, int) { return *std::ranges::min_element(v); }},
      {"warp_max", [=](Int v) { return wide(warp_max(v)); },
       [](Lanes v, int) { return *std::ranges::max_element(v); }},
      {"any", [=](Int v) { return flag(any(v == 17)); },
       [](Lanes v, int) { return std::ranges::count(v, 17) > 0; }},
      {"all", [=](Int v) { return flag(all(v != 17)); },
       [](Lanes v, int) { return std::ranges::count(v, 17) == 0; }},
      {"ballot", [](Int v) { return bitcast<std::int64_t>(ballot(v > 0)); },
       [](Lanes v, int) {
         std::int64_t bits = 0;
         for (std::size_t lane = 0; lane < v.size(); ++lane) {
           if (v[lane] > 0) bits |= std::int64_t{1} << lane;
         }
         return bits;
       }},
  };
  std::vector<int> lanes(32);
  for (int lane = 0; lane < 32; ++lane) lanes[static_cast<std::size_t>(lane)] = lane * 19 % 32 - 9;
  ASSERT_EQ(std::ranges::count(lanes, 17), 1);
  const Vector<std::int32_t> input{std::span<const std::int32_t>(lanes)};
  for (const Warp& warp : operations_of_a_warp) {
    SCOPED_TRACE(warp.name);
    const auto traced =
        kernel(warp.name, [&](Span<const std::int32_t> x, Span<std::int64_t> result) {
          const Int t = thread_idx_x();
          result[t] = warp.traced(x[t]);
        });
    EXPECT_EQ(std::ranges::count(operations(traced), warp.name), 1);
    Vector<std::int64_t> result(std::size_t{32});
    interpreter().launch(traced, grid(1).block(32), input, result);
    for (int lane = 0; lane < 32; ++lane) {
      ASSERT_EQ(result[static_cast<std::size_t>(lane)], warp.host(lanes, lane)) << "lane " << lane;
    }
  }
}

// ---- Control -----------------------------------------------------------------------------------

TEST(K08Operations, K4_StatementsAreWhatTheirNamesSay) {
  struct Statement {
    std::function<void()> traced;
    std::vector<std::string> operations;
  };
  const std::vector<Statement> statements{
      {[] { barrier(); }, {"barrier"}},
      {[] { superstep("step", [] {}); }, {"barrier"}},
      {[] { fence(Scope::block); }, {"fence"}},
      {[] { fence(Scope::device); }, {"fence"}},
      {[] { return_(); }, {"return"}},
      {[] { while_([] { return Bool(true); }, [] { break_(); }); }, {"while", "break"}},
      {[] { for_(range(4), [](Int) { continue_(); }); }, {"for", "for_index", "continue"}},
      {[] { switch_(Int(1), {case_(1, [] { return_(); })}); }, {"switch", "return"}},
  };
  for (const Statement& statement : statements) {
    const auto traced = kernel("statement", [&](Span<float>) { statement.traced(); });
    EXPECT_EQ(operations(traced), statement.operations) << traced.ir();
  }
  const auto text = [](Scope scope) {
    return kernel("fences", [&](Span<float>) { fence(scope); }).ir();
  };
  EXPECT_NE(text(Scope::block).find("fence block"), std::string::npos);
  EXPECT_NE(text(Scope::device).find("fence device"), std::string::npos);
  EXPECT_NE(kernel("alone", [](Span<float>) { no_fuse(); }).ir().find("no_fuse"),
            std::string::npos);
}

TEST(K08Operations, K4_ElseIfConditionsAreEvaluatedOnlyWhereThoseBeforeDidNotHold) {
  const auto chain = kernel("chain", [](Span<std::int32_t> result, Span<std::int32_t> asked) {
    const Int i = thread_idx_x();
    const auto ask = [&](int which, Bool holds) {
      atomic_add(asked[which], 1);
      return holds;
    };
    if_(i < 2, [&] { result[i] = 10; })
        .else_if_([&] { return ask(0, i < 5); }, [&] { result[i] = 20; })
        .else_if_([&] { return ask(1, i < 9); }, [&] { result[i] = 30; })
        .else_([&] { result[i] = 40; });
    // Without a last else, what no condition takes is left alone.
    if_(i == 0, [&] {
      result[i] += 1;
    }).else_if_([&] { return ask(2, i == 3); }, [&] { result[i] += 2; });
  });
  Vector<std::int32_t> result(std::size_t{12}), asked(std::size_t{3});
  interpreter().launch(chain, grid(1).block(12), result, asked);
  EXPECT_EQ(read(result),
            (std::vector<std::int32_t>{11, 10, 20, 22, 20, 30, 30, 30, 30, 40, 40, 40}));
  EXPECT_EQ(read(asked), (std::vector<std::int32_t>{10, 7, 11}));
}

TEST(K08Operations, K4_RangesCountAsTheyAreWritten) {
  const auto count = kernel("count", [](Span<std::int64_t> seen, Span<std::int32_t> length) {
    Var<std::int32_t> next(Int(0));
    const auto note = [&](const auto& counter) {
      seen[next] = Int64(counter);
      next += 1;
    };
    for_(range(3), [&](Int i) { note(i); });
    for_(range(5, 12, 3), [&](Int i) { note(i); });
    for_(down(12, 5, 3), [&](Int i) { note(i); });
    for_(down(2, -1), [&](Int i) { note(i); });
    for_(range(Int64(7), 9).unroll(2), [&](Int64 i) { note(i); });
    for_(range(4, 4), [&](Int i) { note(i); });
    length[0] = next;
  });
  EXPECT_NE(count.ir().find("unroll 2"), std::string::npos);
  const std::vector<std::int64_t> expected{0, 1, 2, 5, 8, 11, 12, 9, 6, 2, 1, 0, 7, 8};
  Vector<std::int64_t> seen(expected.size());
  Vector<std::int32_t> length(std::size_t{1});
  interpreter().launch(count, grid(1), seen, length);
  EXPECT_EQ(length[0], static_cast<std::int32_t>(expected.size()));
  EXPECT_EQ(read(seen), expected);
}

// ---- Text --------------------------------------------------------------------------------------

TEST(K08Operations, K15_IrAndSourceForEachTargetArePrintedWithoutItsDevice) {
  const auto triple = kernel("triple", [](Span<float> x, Int n) {
    const Int i = global_thread_id();
    if_(i < n, [&] { x[i] = x[i] * 3.0f; });
  });
  EXPECT_EQ(triple.ir().find("kernel triple("), 0U) << triple.ir();
  const std::map<std::string, std::string> sources{
      {"CUDA/PTX", ".entry triple"},   {"CUDA/C", "__global__ void"},    {"HIP", "__global__ void"},
      {"Metal", "kernel void triple"}, {"OpenCL", "kernel void triple"}, {"Vulkan", "EntryPoint "},
      {"LevelZero", "EntryPoint "},    {"WebGPU", "fn triple"},          {"Native", "define void"},
  };
  for (const auto& [target, words] : sources) {
    const std::string text = triple.source(target);
    EXPECT_NE(text.find(words), std::string::npos) << target << ":\n" << text;
  }
  try {
    static_cast<void>(triple.source("Abacus"));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    for (const auto& [target, words] : sources) {
      EXPECT_NE(error.message().find(target), std::string::npos) << error.message();
    }
  }
}

}  // namespace
}  // namespace salvo::tests
