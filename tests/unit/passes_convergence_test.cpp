// Which barriers and warp operations are refused, with what words, and that no wrong one passes.
// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/print.hpp"
#include "ir/verify.hpp"
#include "passes/convergence.hpp"
#include "passes/lower_returns.hpp"
#include "unit/control_evaluator.hpp"
#include "unit/random_control.hpp"

namespace salvo::passes {
namespace {

using ir::Op;
using ir::Scalar;
using ir::ValueId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A kernel with one uniform and one divergent condition.
struct Sample : test::Shapes {
  Sample() : Shapes("k") {}
  ir::MemoryId x = span_parameter("x", ir::Element::scalar(Scalar::I32), false);
  std::uint32_t n = scalar_parameter("n", Scalar::I32);
  std::uint32_t v = variable("v", Scalar::I32);
  ValueId zero = constant_i32(0);
  ValueId one = constant_i32(1);
  ValueId size = param(n);
  ValueId thread = position(Op::ThreadIdx, 0);
  ValueId alike = op(Op::Lt, {zero, size});
  ValueId unlike = op(Op::Lt, {thread, size});

  void barrier() { statement(Op::Barrier); }
  ValueId test(ValueId value) { return op(Op::Lt, {value, size}); }
  /// A barrier under the condition that `value` is below a uniform one.
  void barrier_if(ValueId value) {
    if_else(test(value), [&] { barrier(); });
  }
  /// Each with the line of its node in front, where that is known.
  std::vector<std::string> messages() {
    EXPECT_THAT(ir::verify(kernel()), IsEmpty());
    std::vector<std::string> result;
    for (const Divergence& d : check_convergence(kernel())) {
      const std::uint32_t at = kernel().node(d.node).location;
      const auto& locations = kernel().locations;
      result.push_back(at < locations.size()
                           ? locations[at].file + ":" + std::to_string(locations[at].line) + ": " +
                                 d.message
                           : d.message);
    }
    return result;
  }
  bool accepted() { return messages().empty(); }
};

TEST(PassesConvergence, NamesBothLines) {
  Sample b;
  b.at("stencil.cpp", 10);
  b.if_else(b.unlike, [&] {
    b.at("stencil.cpp", 12);
    b.barrier();
  });
  EXPECT_THAT(b.messages(),
              ElementsAre("stencil.cpp:12: barrier is reached under a condition that differs "
                          "between threads (stencil.cpp:10)"));
}

TEST(PassesConvergence, NamesTheReturnThatPartsThreads) {
  Sample b;
  b.at("k.cpp", 3);
  b.if_else(b.unlike, [&] { b.statement(Op::Return); });
  b.at("k.cpp", 5);
  b.barrier();
  EXPECT_THAT(b.messages(),
              ElementsAre("k.cpp:5: barrier comes after a return that only some threads take "
                          "(k.cpp:3)"));
}

TEST(PassesConvergence, NamesNodesWhereLinesAreUnknown) {
  Sample b;
  const ValueId any = b.constant_bool(true);
  b.if_else(b.unlike, [&] { b.op(Op::Any, {any}); });
  const Divergence found = check_convergence(b.kernel()).at(0);
  EXPECT_EQ(b.kernel().node(found.node).op, Op::Any);
  EXPECT_THAT(found.message,
              HasSubstr("any is reached under a condition that differs between threads (%"));
}

TEST(PassesConvergence, AcceptsUniformControl) {
  Sample b;
  b.barrier();
  b.if_else(
      b.alike, [&] { b.barrier(); }, [&] { b.barrier(); });
  b.switch_on(b.size, {1}, {[&] { b.barrier(); }, [&] { b.barrier(); }});
  b.for_up(b.zero, b.size, b.one, [&](ValueId counter) {
    b.barrier();
    b.barrier_if(counter);
    b.if_else(b.alike, [&] { b.statement(Op::Continue); });
    b.if_else(b.alike, [&] { b.statement(Op::Break); });
    b.barrier();
  });
  b.if_else(b.alike, [&] { b.statement(Op::Return); });
  b.if_else(b.unlike, [&] { b.store(b.x, b.thread, b.one); });
  b.barrier();
  EXPECT_TRUE(b.accepted());
}

TEST(PassesConvergence, KnowsWhichValuesDiffer) {
  const auto refused = [](const std::function<ValueId(Sample&)>& value) {
    Sample b;
    b.barrier_if(value(b));
    return !b.accepted();
  };
  EXPECT_TRUE(refused([](Sample& b) { return b.position(Op::ThreadIdx, 2); }));
  EXPECT_TRUE(refused([](Sample& b) { return b.position(Op::GlobalIdx, 0); }));
  EXPECT_TRUE(refused([](Sample& b) { return b.position(Op::LaneId, 0); }));
  EXPECT_TRUE(refused([](Sample& b) { return b.op(Op::Mul, {b.size, b.thread}); }));
  EXPECT_TRUE(refused([](Sample& b) { return b.load(b.x, b.thread); }));
  EXPECT_TRUE(refused([](Sample& b) { return b.atomic(Op::AtomicAdd, b.x, {b.zero, b.one}); }));
  EXPECT_TRUE(refused([](Sample& b) { return b.op(Op::Shuffle, {b.one, b.zero}); }));
  EXPECT_TRUE(refused([](Sample& b) { return b.op(Op::WarpAdd, {b.one}); }));
  EXPECT_TRUE(refused([](Sample& b) {
    return b.load(b.local_array("l", ir::Element::scalar(Scalar::I32), 4), b.zero);
  }));

  EXPECT_FALSE(refused([](Sample& b) { return b.size; }));
  EXPECT_FALSE(refused([](Sample& b) { return b.position(Op::BlockIdx, 0); }));
  EXPECT_FALSE(refused([](Sample& b) { return b.position(Op::BlockDim, 0); }));
  EXPECT_FALSE(refused([](Sample& b) { return b.position(Op::GridDim, 1); }));
  EXPECT_FALSE(refused([](Sample& b) { return b.cast(Scalar::I32, b.length(b.x)); }));
  EXPECT_FALSE(refused([](Sample& b) { return b.op(Op::Mul, {b.size, b.one}); }));
  EXPECT_FALSE(refused([](Sample& b) { return b.load(b.x, b.size); }));
  EXPECT_FALSE(refused([](Sample& b) {
    return b.load(b.shared_array("s", ir::Element::scalar(Scalar::I32), 4), b.size);
  }));
}

TEST(PassesConvergence, FollowsVariables) {
  const auto refused = [](const std::function<void(Sample&)>& assign) {
    Sample b;
    b.var_set(b.v, b.zero);
    assign(b);
    b.barrier_if(b.var_get(b.v));
    return !b.accepted();
  };
  EXPECT_FALSE(refused([](Sample& b) { b.var_set(b.v, b.size); }));
  EXPECT_TRUE(refused([](Sample& b) { b.var_set(b.v, b.thread); }));
  EXPECT_FALSE(refused([](Sample& b) {
    b.var_set(b.v, b.thread);
    b.var_set(b.v, b.size);
  }));
  EXPECT_TRUE(refused([](Sample& b) { b.if_else(b.unlike, [&] { b.var_set(b.v, b.one); }); }));
  EXPECT_FALSE(refused([](Sample& b) { b.if_else(b.alike, [&] { b.var_set(b.v, b.one); }); }));
  EXPECT_TRUE(refused([](Sample& b) {
    b.switch_on(b.thread, {0}, {nullptr, [&] { b.var_set(b.v, b.one); }});
  }));
  // Assigned only late in a loop, read early in its next turn.
  EXPECT_TRUE(refused([](Sample& b) {
    b.for_up(b.zero, b.size, b.one, [&](ValueId) {
      b.barrier_if(b.var_get(b.v));
      b.var_set(b.v, b.thread);
    });
    b.var_set(b.v, b.zero);
  }));
  // A uniform count of an uneven loop.
  EXPECT_TRUE(refused([](Sample& b) {
    b.for_up(b.zero, b.thread, b.one, [&](ValueId) {
      b.var_set(b.v, b.op(Op::Add, {b.var_get(b.v), b.one}));
    });
  }));
  EXPECT_FALSE(refused([](Sample& b) {
    b.for_up(b.zero, b.size, b.one, [&](ValueId) {
      b.var_set(b.v, b.op(Op::Add, {b.var_get(b.v), b.one}));
    });
  }));
  // Skipped by some threads in some turns.
  EXPECT_TRUE(refused([](Sample& b) {
    b.for_up(b.zero, b.size, b.one, [&](ValueId) {
      b.if_else(b.unlike, [&] { b.statement(Op::Continue); });
      b.var_set(b.v, b.one);
    });
  }));
  // Where only one branch goes on, all who do agree.
  EXPECT_FALSE(refused([](Sample& b) {
    b.for_up(b.zero, b.size, b.one, [&](ValueId) {
      b.if_else(
          b.alike, [&] { b.var_set(b.v, b.one); }, [&] { b.statement(Op::Break); });
    });
  }));
}

TEST(PassesConvergence, RefusesBarriersInUnevenLoops) {
  {
    Sample b;
    b.for_up(b.thread, b.size, b.one, [&](ValueId) { b.barrier(); });
    EXPECT_THAT(b.messages(), ElementsAre(HasSubstr("under a condition that differs")));
  }
  {
    Sample b;
    b.while_loop([&] { return b.unlike; }, [&] { b.barrier(); });
    EXPECT_THAT(b.messages(), ElementsAre(HasSubstr("under a condition that differs")));
  }
  {
    Sample b;  // before the break in the text, after it in the next turn
    b.at("k.cpp", 1);
    b.for_up(b.zero, b.size, b.one, [&](ValueId) {
      b.at("k.cpp", 2);
      b.barrier();
      b.at("k.cpp", 3);
      b.if_else(b.unlike, [&] { b.statement(Op::Break); });
    });
    EXPECT_THAT(b.messages(), ElementsAre("k.cpp:2: barrier comes after a break that only some "
                                          "threads take (k.cpp:3)"));
  }
  {
    Sample b;
    b.for_up(b.zero, b.size, b.one, [&](ValueId) {
      b.barrier();  // all threads are back for the next turn
      b.if_else(b.unlike, [&] { b.statement(Op::Continue); });
      b.barrier();
    });
    EXPECT_THAT(b.messages(), ElementsAre(HasSubstr("after a continue that only some threads")));
  }
  {
    Sample b;
    b.for_up(b.zero, b.size, b.one, [&](ValueId) {
      b.if_else(b.alike, [&] {
        b.barrier();
        b.if_else(b.unlike, [&] { b.statement(Op::Return); });
      });
    });
    b.barrier();
    EXPECT_THAT(b.messages(), ElementsAre(HasSubstr("return"), HasSubstr("return")));
  }
}

TEST(PassesConvergence, ThreadsMeetAgainAfterLoopsAndBranches) {
  Sample b;
  b.for_up(b.zero, b.size, b.one, [&](ValueId) {
    b.for_up(b.zero, b.thread, b.one, [&](ValueId) {
      b.if_else(b.unlike, [&] { b.statement(Op::Break); });
      b.if_else(b.unlike, [&] { b.statement(Op::Continue); });
    });
    b.barrier();
  });
  // A uniform choice keeps an uneven return out of the other branch.
  b.if_else(
      b.alike, [&] { b.if_else(b.unlike, [&] { b.statement(Op::Return); }); },
      [&] { b.barrier(); });
  EXPECT_TRUE(b.accepted());
}

TEST(PassesConvergence, WarpOperationsMayStandUnderWhatAWarpAgreesOn) {
  Sample b;
  const ValueId voted = b.op(Op::Any, {b.unlike});
  b.if_else(voted, [&] { b.op(Op::ShuffleXor, {b.thread, b.one}); });
  b.while_loop([&] { return b.op(Op::All, {b.unlike}); }, [&] { b.op(Op::Ballot, {b.unlike}); });
  EXPECT_TRUE(b.accepted());
  b.if_else(voted, [&] { b.barrier(); });
  b.if_else(b.unlike, [&] { b.op(Op::WarpAdd, {b.one}); });
  EXPECT_THAT(b.messages(), ElementsAre(HasSubstr("barrier"), HasSubstr("warp_add")));
}

TEST(PassesConvergence, UniformGuardsStayUniformOnceReturnsAreLowered) {
  Sample b;
  b.if_else(b.alike, [&] { b.if_else(b.alike, [&] { b.statement(Op::Return); }); });
  b.barrier();
  b.for_up(b.zero, b.size, b.one, [&](ValueId) {
    b.if_else(b.alike, [&] { b.statement(Op::Return); });
    b.barrier();
  });
  b.barrier();
  EXPECT_TRUE(b.accepted());
  EXPECT_THAT(check_convergence(lower_returns(b.kernel())), IsEmpty());
}

TEST(PassesConvergence, TellsUniformityOfEveryNode) {
  Sample b;
  const ValueId sum = b.op(Op::Add, {b.size, b.one});
  ValueId inner = 0, store = 0;
  b.if_else(b.unlike, [&] {
    inner = b.op(Op::Neg, {sum});
    store = b.store(b.x, sum, inner);
  });
  const ValueId last = b.store(b.x, b.thread, sum);
  const std::vector<bool> uniform = uniform_values(b.kernel());
  EXPECT_TRUE(uniform[sum] && uniform[inner] && uniform[b.alike] && uniform[last]);
  EXPECT_FALSE(uniform[b.thread] || uniform[b.unlike] || uniform[store]);
}

// Runs threads one by one and keeps the events that the analysis says are the same for all.
std::vector<test::Event> shared_events(const ir::Kernel& kernel, const std::vector<bool>& uniform,
                                       const std::vector<std::int32_t>& input,
                                       std::int32_t thread) {
  std::vector<test::Event> events = test::ControlEvaluator(kernel, input, thread).run();
  const auto differs = [&](const test::Event& event) {
    if (event.op == Op::Barrier) return false;
    if (event.op == Op::Load) return true;
    for (ValueId id = 0; id < kernel.nodes.size(); ++id) {
      const ir::Node& node = kernel.node(id);
      if (node.op != Op::Store) continue;
      const auto label = static_cast<std::int32_t>(kernel.node(node.operands[0]).literal);
      if (label == event.index) return !uniform[id] || !uniform[node.operands[1]];
    }
    return true;
  };
  events.erase(std::remove_if(events.begin(), events.end(), differs), events.end());
  return events;
}

TEST(PassesConvergence, ThreadsOfAcceptedRandomKernelsMeetAtTheSameBarriers) {
  std::mt19937 random(2);
  int accepted = 0, barriers = 0, stores = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    const ir::Kernel kernel = test::RandomControl(seed).kernel();
    if (!check_convergence(kernel).empty()) continue;
    ++accepted;
    const std::vector<bool> uniform = uniform_values(kernel);
    for (int run = 0; run < 4; ++run) {
      std::vector<std::int32_t> input(61);
      for (std::int32_t& value : input) value = static_cast<std::int32_t>(random() % 3);
      const std::vector<test::Event> first = shared_events(kernel, uniform, input, 0);
      for (std::int32_t thread = 1; thread < 8; ++thread) {
        ASSERT_EQ(first, shared_events(kernel, uniform, input, thread)) << "seed " << seed << '\n'
                                                                        << ir::print(kernel);
      }
      for (const test::Event& event : first) ++(event.op == Op::Barrier ? barriers : stores);
    }
  }
  // The property says something only while kernels pass and have something to agree on.
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(barriers, 1000);
  EXPECT_GT(stores, 1000);
}

}  // namespace
}  // namespace salvo::passes
