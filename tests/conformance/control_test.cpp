// Structured control: loops, branches, variables and early returns.
// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

class Control : public OnDevice {
 protected:
  static constexpr std::uint32_t kCount = 200;

  using Body = std::function<void(Shapes&, ValueId i, std::uint32_t accumulator)>;

  /// y[i] = accumulator, which `body` has changed; it starts as x[i].
  void accumulate(const Body& body) {
    Shapes kernel("accumulate");
    const auto x = kernel.span_parameter("x", ir::Element::scalar(Scalar::I32), true);
    const auto y = kernel.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
    const auto n = kernel.scalar_parameter("n", Scalar::I32);
    const auto sum = kernel.variable("sum", Scalar::I32);
    guarded(kernel, n, [&](ValueId i) {
      kernel.var_set(sum, kernel.load(x, i));
      body(kernel, i, sum);
      kernel.store(y, i, kernel.var_get(sum));
    });
    std::vector<std::int32_t> data(kCount);
    for (std::uint32_t i = 0; i < kCount; ++i)
      data[i] = static_cast<std::int32_t>(i * 7919 % 101) - 50;
    check({.kernel = kernel.finish(),
           .shape = over(kCount),
           .arguments = {span(data), zeros(kCount, 4), scalar(kCount)},
           .options = {}});
  }

  static void add(Shapes& kernel, std::uint32_t variable, ValueId value) {
    kernel.var_set(variable, kernel.op(Op::Add, {kernel.var_get(variable), value}));
  }
  /// variable = variable * 31 + value: the order of steps shows in the result.
  static void mix(Shapes& kernel, std::uint32_t variable, ValueId value) {
    const ValueId scaled = kernel.op(Op::Mul, {kernel.var_get(variable), kernel.constant_i32(31)});
    kernel.var_set(variable, kernel.op(Op::Add, {scaled, value}));
  }
  static void break_(Shapes& kernel) { kernel.statement(Op::Break); }
  static void continue_(Shapes& kernel) { kernel.statement(Op::Continue); }
  static ValueId number(Shapes& kernel, std::int32_t value) { return kernel.constant_i32(value); }
};
SALVO_ON_DEVICES(Control);

TEST_P(Control, ForCountsUpToItsLimit) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    k.for_up(number(k, 0), i, number(k, 1), [&](ValueId j) { mix(k, sum, j); });
  });
}

TEST_P(Control, ForTakesStrides) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    k.for_up(number(k, -5), i, number(k, 7), [&](ValueId j) { mix(k, sum, j); });
  });
}

TEST_P(Control, ForCountsDown) {
  for (std::int32_t step : {1, 3}) {
    accumulate([&](Shapes& k, ValueId i, std::uint32_t sum) {
      const ValueId loop =
          k.for_up(i, number(k, 3), number(k, step), [&](ValueId j) { mix(k, sum, j); });
      k.kernel().nodes[loop].literal = 1;
    });
  }
}

TEST_P(Control, ForReadsLimitAndStepOnce) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    const auto limit = k.variable("limit", Scalar::I32);
    k.var_set(limit, i);
    k.for_up(number(k, 0), k.var_get(limit), number(k, 1), [&](ValueId j) {
      k.var_set(limit, number(k, 0));
      mix(k, sum, j);
    });
  });
}

TEST_P(Control, ForCountersThatPassTheLargestNumberGoOn) {
  // The last step before the limit wraps, once or more often, until one lands beyond the limit.
  for (std::int32_t step : {0x0dedbeef, 0x09abcdef}) {
    accumulate([&](Shapes& k, ValueId i, std::uint32_t sum) {
      const ValueId start = k.op(Op::And, {i, number(k, 3)});
      k.for_up(k.op(Op::Add, {number(k, 0x60000000), start}), number(k, 0x7e000000),
               number(k, step), [&](ValueId j) { mix(k, sum, j); });
    });
  }
}

TEST_P(Control, ForCountersThatPassTheLowestNumberGoOn) {
  for (std::int32_t step : {0x0dedbeef, 0x09abcdef}) {
    accumulate([&](Shapes& k, ValueId i, std::uint32_t sum) {
      const ValueId start = k.op(Op::And, {i, number(k, 3)});
      const ValueId loop =
          k.for_up(k.op(Op::Sub, {number(k, -0x60000000), start}), number(k, -0x7e000000),
                   number(k, step), [&](ValueId j) { mix(k, sum, j); });
      k.kernel().nodes[loop].literal = 1;
    });
  }
}

TEST_P(Control, ForStepsMayBeKnownToTheLaunchAlone) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    const ValueId odd = k.op(Op::And, {i, number(k, 1)});
    const auto sum_up = [&](std::int32_t first, std::int32_t limit, ValueId step) {
      k.for_up(number(k, first), number(k, limit), step, [&](ValueId j) { mix(k, sum, j); });
    };
    sum_up(-5, 40, k.op(Op::Add, {odd, number(k, 3)}));
    sum_up(0x60000000, 0x7e000000, k.op(Op::Add, {odd, number(k, 0x0dedbeef)}));
    // Upwards by less than nothing, until the counter passes the lowest number.
    sum_up(10, 20, k.op(Op::Sub, {odd, number(k, 0x40000000)}));
  });
}

TEST_P(Control, BreakAndContinueLeaveStridedLoops) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    k.for_up(number(k, 0), i, number(k, 3), [&](ValueId a) {
      k.for_up(a, k.op(Op::Add, {i, a}), number(k, 2), [&](ValueId b) {
        const ValueId key = k.op(Op::And, {k.op(Op::Add, {a, b}), number(k, 7)});
        k.if_else(k.op(Op::Eq, {key, number(k, 5)}), [&] { continue_(k); });
        k.if_else(k.op(Op::Gt, {k.op(Op::Sub, {b, a}), number(k, 9)}), [&] { break_(k); });
        mix(k, sum, b);
      });
      k.if_else(k.op(Op::Gt, {k.var_get(sum), number(k, 1 << 30)}), [&] { break_(k); });
      mix(k, sum, a);
    });
  });
}

TEST_P(Control, StridedLoopsTouchTheElementsTheyName) {
  for (std::int32_t step : {1, 2, 5}) {
    Shapes k("strided");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::I32), true);
    const auto y = k.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
    const auto n = k.scalar_parameter("n", Scalar::I32);
    guarded(k, n, [&](ValueId i) {
      const ValueId row = k.op(Op::Mul, {i, number(k, 32)});
      const ValueId length = k.op(Op::Rem, {i, number(k, 27)});
      k.for_up(number(k, 0), length, number(k, step), [&](ValueId j) {
        const ValueId at = k.op(Op::Add, {row, j});
        const ValueId mirrored = k.op(Op::Sub, {k.op(Op::Add, {row, number(k, 31)}), j});
        const ValueId wide = k.op(Op::Add, {k.cast(Scalar::I64, j), k.cast(Scalar::I64, row)});
        const ValueId sum =
            k.op(Op::Add, {k.load(x, k.op(Op::Add, {at, number(k, 3)})), k.load(x, mirrored)});
        k.if_else(
            k.op(Op::Ne, {k.op(Op::And, {k.load(x, wide), number(k, 1)}), number(k, 0)}),
            [&] {
              k.store(y, at, k.op(Op::Add, {k.load(y, at), sum}));
            },
            [&] {
              k.store(y, wide, k.op(Op::Mul, {k.load(x, at), j}));
            });
        k.store(y, at, k.op(Op::Add, {k.load(y, at), number(k, 1)}));
      });
    });
    std::vector<std::int32_t> data(40 * 32);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<int>(i * 7919 % 1013);
    check({.kernel = k.finish(),
           .shape = over(40),
           .arguments = {span(data), zeros(data.size(), 4), scalar(40)},
           .options = {.device_contraction = false, .may_alias = 0}});
  }
}

TEST_P(Control, ForCountersTakeEveryIntegerType) {
  for (Scalar type : {Scalar::U32, Scalar::I64, Scalar::U64}) {
    accumulate([&](Shapes& k, ValueId i, std::uint32_t sum) {
      const ValueId limit = k.cast(type, i);
      k.for_up(k.constant(type, 1), limit, k.constant(type, 2),
               [&](ValueId j) { mix(k, sum, k.cast(Scalar::I32, j)); });
    });
  }
}

TEST_P(Control, UnrollHintsChangeNothing) {
  for (std::uint32_t unroll : {1u, 4u}) {
    accumulate([&](Shapes& k, ValueId i, std::uint32_t sum) {
      const ValueId loop =
          k.for_up(number(k, 0), i, number(k, 1), [&](ValueId j) { mix(k, sum, j); });
      k.kernel().nodes[loop].unroll = unroll;
    });
  }
}

TEST_P(Control, BreakAndContinueLeaveTheInnermostLoop) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    k.for_up(number(k, 0), number(k, 6), number(k, 1), [&](ValueId a) {
      k.for_up(number(k, 0), number(k, 9), number(k, 1), [&](ValueId b) {
        const ValueId key = k.op(Op::And, {k.op(Op::Add, {i, b}), number(k, 3)});
        k.if_else(k.op(Op::Eq, {key, number(k, 1)}), [&] { continue_(k); });
        k.if_else(k.op(Op::Gt, {b, a}), [&] { break_(k); });
        mix(k, sum, b);
      });
      k.if_else(k.op(Op::Gt, {k.var_get(sum), number(k, 1 << 29)}), [&] { break_(k); });
      mix(k, sum, a);
    });
  });
}

TEST_P(Control, BreakInsideSwitchLeavesTheLoop) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    k.for_up(number(k, 0), number(k, 12), number(k, 1), [&](ValueId j) {
      const ValueId key = k.op(Op::And, {k.op(Op::Mul, {i, j}), number(k, 7)});
      k.switch_on(key, {6, -1, 2, 5},
                  {[&] { break_(k); }, [&] { mix(k, sum, number(k, 99)); }, [&] { continue_(k); },
                   [&] { mix(k, sum, number(k, 5)); }, [&] { mix(k, sum, j); }});
      mix(k, sum, number(k, 1));
    });
  });
}

TEST_P(Control, SwitchWithoutMatchTakesTheDefault) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    k.switch_on(i, {3, 150}, {[&] { add(k, sum, number(k, 1000)); }, nullptr, nullptr});
    k.switch_on(k.cast(Scalar::I64, i), {1ll << 40, 7},
                {nullptr, [&] { add(k, sum, number(k, 5)); }, [&] { add(k, sum, number(k, 2)); }});
    k.switch_on(i, {}, {[&] { add(k, sum, i); }});
  });
}

TEST_P(Control, WhileTestsBeforeEachRound) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    const auto left = k.variable("left", Scalar::I32);
    k.var_set(left, i);
    k.while_loop(
        [&] {
          return k.op(Op::Gt, {k.var_get(left), number(k, 0)});
        },
        [&] {
          const ValueId odd = k.op(Op::And, {k.var_get(left), number(k, 1)});
          k.var_set(left, k.op(Op::Shr, {k.var_get(left), number(k, 1)}));
          k.if_else(k.op(Op::Eq, {odd, number(k, 0)}), [&] { continue_(k); });
          mix(k, sum, k.var_get(left));
          k.if_else(k.op(Op::Eq, {k.var_get(left), number(k, 12)}), [&] { break_(k); });
        });
  });
}

TEST_P(Control, IfElseChainsNest) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    const ValueId low = k.op(Op::Lt, {i, number(k, 50)});
    const ValueId odd = k.op(Op::Eq, {k.op(Op::And, {i, number(k, 1)}), number(k, 1)});
    k.if_else(
        low,
        [&] {
          k.if_else(
              odd, [&] { add(k, sum, i); }, [&] { mix(k, sum, i); });
        },
        [&] { k.if_else(odd, nullptr, [&] { add(k, sum, number(k, 7)); }); });
  });
}

TEST_P(Control, VariablesCarryValuesRoundLoops) {
  accumulate([](Shapes& k, ValueId, std::uint32_t sum) {
    // Read in the loop before it is set there: the value of the round before.
    const auto previous = k.variable("previous", Scalar::I32);
    k.for_up(number(k, 0), number(k, 10), number(k, 1), [&](ValueId j) {
      k.if_else(k.op(Op::Gt, {j, number(k, 0)}), [&] { mix(k, sum, k.var_get(previous)); });
      k.var_set(previous, k.op(Op::Mul, {j, j}));
    });
  });
}

TEST_P(Control, ValuesKeepWhatTheyReadWhenVariablesChange) {
  accumulate([](Shapes& k, ValueId i, std::uint32_t sum) {
    const ValueId before = k.var_get(sum);
    k.var_set(sum, i);
    k.var_set(sum, k.op(Op::Sub, {before, k.var_get(sum)}));
  });
}

TEST_P(Control, VariablesOfEveryComputeType) {
  for (Scalar type : {Scalar::U32, Scalar::I64, Scalar::U64, Scalar::F32, Scalar::Bool}) {
    accumulate([&](Shapes& k, ValueId i, std::uint32_t sum) {
      const auto kept = k.variable("kept", type);
      k.var_set(kept, k.cast(type, i));
      k.for_up(number(k, 0), number(k, 3), number(k, 1), [&](ValueId j) {
        k.var_set(kept, k.cast(type, k.op(Op::Add, {i, j})));
      });
      add(k, sum, k.cast(Scalar::I32, k.var_get(kept)));
    });
  }
}

TEST_P(Control, EarlyReturnsEndOneThread) {
  Shapes kernel("returns");
  const auto y = kernel.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
  const auto n = kernel.scalar_parameter("n", Scalar::I32);
  const ValueId i = kernel.position(Op::GlobalIdx, 0);
  kernel.if_else(kernel.op(Op::Ge, {i, kernel.param(n)}), [&] { kernel.statement(Op::Return); });
  kernel.store(y, i, kernel.constant_i32(1));
  kernel.for_up(kernel.constant_i32(0), kernel.constant_i32(50), kernel.constant_i32(1),
                [&](ValueId j) {
                  kernel.if_else(kernel.op(Op::Eq, {kernel.op(Op::Mul, {j, j}), i}),
                                 [&] { kernel.statement(Op::Return); });
                  kernel.store(y, i, kernel.op(Op::Add, {kernel.load(y, i), j}));
                });
  kernel.store(y, i, kernel.op(Op::Neg, {kernel.load(y, i)}));
  check({.kernel = kernel.finish(),
         .shape = over(kCount + 20),
         .arguments = {zeros(kCount, 4), scalar(kCount)},
         .options = {}});
}

TEST_P(Control, LoadsHappenWhereTheyStand) {
  Shapes kernel("order");
  const auto y = kernel.span_parameter("y", ir::Element::scalar(Scalar::I32), false);
  const ValueId i = kernel.position(Op::GlobalIdx, 0);
  const ValueId before = kernel.load(y, i);
  kernel.store(y, i, kernel.op(Op::Add, {before, kernel.constant_i32(5)}));
  const ValueId after = kernel.load(y, i);
  kernel.store(y, i, kernel.op(Op::Mul, {before, after}));
  std::vector<std::int32_t> data(64);
  for (std::size_t i_data = 0; i_data < 64; ++i_data)
    data[i_data] = static_cast<std::int32_t>(i_data);
  check({.kernel = kernel.finish(), .shape = over(64), .arguments = {span(data)}, .options = {}});
}

}  // namespace
}  // namespace salvo::conformance
