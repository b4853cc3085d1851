// K6, K7: the name of a superstep is in what is reported of it, and in nothing else.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "ir/hash.hpp"
#include "salvo/salvo.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "nothing was thrown";
}

void some_threads_wait() {
  if_(thread_idx_x() < 3, [] { barrier(); });
}

TEST(K06Superstep, K7_ADivergenceIsReportedWithTheNameOfItsStep) {
  const std::string within = message_of([] {
    kernel("within", [](Span<float>) {
      superstep("load", [] {});
      superstep("sum", [] { some_threads_wait(); });
    });
  });
  EXPECT_THAT(within, HasSubstr("barrier in superstep 'sum' is reached under a condition"));
  const std::string after = message_of([] {
    kernel("after", [](Span<float>) {
      superstep("load", [] {});
      some_threads_wait();
    });
  });
  EXPECT_THAT(after, HasSubstr("barrier is reached under a condition"));
  EXPECT_THAT(after, Not(HasSubstr("in superstep")));
}

TEST(K06Superstep, K7_TheBarrierAtTheEndBelongsToItsStep) {
  const std::string message = message_of([] {
    kernel("leaves", [](Span<float> x) {
      superstep("load", [&] { if_(x[thread_idx_x()] > 0.0f, [] { return_(); }); });
    });
  });
  EXPECT_THAT(message, HasSubstr("barrier in superstep 'load' comes after a return"));
}

/// What the Interpreter says of 32 threads of one block.
std::string fault_of(const std::function<void(const Shared<std::int32_t>&, Int)>& body) {
  const auto traced = kernel("faulty", [&](Span<std::int32_t> out) {
    Shared<std::int32_t> tile(32);
    const Int t = thread_idx_x();
    superstep("load", [&] { tile[t] = t; });
    body(tile, t);
    out[t] = tile[t];
  });
  Vector<std::int32_t> out(32);
  return message_of([&] {
    Device::get("Interpreter:0").launch(traced, grid(1).block(32), out);
    static_cast<void>(out.read());
  });
}

TEST(K06Superstep, K6_ARaceIsReportedWithTheNameOfItsStep) {
  using Tile = const Shared<std::int32_t>&;
  const std::string within = fault_of(
      [](Tile tile, Int t) { superstep("rotate", [&] { tile[t] = tile[(t + 1) & 31]; }); });
  EXPECT_THAT(within, HasSubstr("race on "));
  EXPECT_THAT(within, HasSubstr(" in superstep 'rotate'"));
  const std::string inner = fault_of([](Tile tile, Int t) {
    superstep("outer", [&] {
      superstep("inner", [&] { tile[t] = 1; });
      tile[0] = t;
    });
  });
  EXPECT_THAT(inner, HasSubstr("race on "));
  EXPECT_THAT(inner, HasSubstr(" in superstep 'outer'"));
  const std::string outside = fault_of([](Tile tile, Int t) { tile[0] = t; });
  EXPECT_THAT(outside, HasSubstr("race on "));
  EXPECT_THAT(outside, Not(HasSubstr("superstep")));
  EXPECT_EQ(fault_of([](Tile tile, Int t) { superstep("write", [&] { tile[31 - t] = t; }); }),
            "nothing was thrown");
}

// Compiled kernels are found by their hash: a name must not have one compiled again.
TEST(K06Superstep, K6_NamesOfStepsDoNotCountInTheHash) {
  const auto hash_with = [](const std::string& name) {
    return ir::hash(
        kernel("steps",
               [&](Span<std::int32_t> x) { superstep(name, [&] { x[thread_idx_x()] = 1; }); })
            .record()
            ->kernel);
  };
  EXPECT_EQ(hash_with("load"), hash_with("store"));
  EXPECT_EQ(hash_with("load"), hash_with(""));
}

}  // namespace
}  // namespace salvo::tests
