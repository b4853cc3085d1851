// W50-W54, W56, W26: contraction decided per kernel, the same bits merged or not, and grants.
// SPDX-License-Identifier: MIT
#include <cmath>

#include "codegen/target.hpp"
#include "ir/kernel.hpp"
#include "rules/epilogue_fixture.hpp"
#include "temporary_folder.hpp"
#include "window/kernel_record.hpp"

namespace salvo::tests {
namespace {

constexpr int kCount = 1000;

/// to[i] = from[i] * from[i] + from[i]: one multiply and one add.
Floats square_plus(const std::string& name) {
  return kernel(name, [](Span<float> from, Span<float> to, Int n) {
    auto i = global_thread_id();
    if_(i < n, [&] {
      Float x = from[i];
      to[i] = x * x + x;
    });
  });
}

int count(const ir::Kernel& kernel, ir::Op op) {
  int found = 0;
  for (const auto& block : kernel.blocks) {
    for (ir::ValueId id : block.nodes) {
      found += kernel.node(id).op == op && ir::is_float(kernel.node(id).type) ? 1 : 0;
    }
  }
  return found;
}

/// What a device is given to run.
const ir::Kernel& form(const Device& device, const Floats& kernel) {
  return *kernel.record()->on(*device.state()).kernel;
}

std::vector<float> run(const Device& device, const Floats& kernel, const std::vector<float>& x) {
  Vector<float> from{std::span<const float>(x)};
  Vector<float> to(x.size());
  device.launch(kernel, over(static_cast<std::int64_t>(x.size())), from, to,
                static_cast<std::int32_t>(x.size()));
  return values(to);
}

TEST(W50Contraction, W50_FixedFormsFusedOperationsPerKernelAndOffFormsNone) {
  FakeRuntime fake;
  const auto kernel = square_plus("square_plus");
  EXPECT_EQ(kernel.contraction(), Contraction::fixed);
  EXPECT_EQ(count(form(fake.device(), kernel), ir::Op::Fma), 1);
  const auto off = kernel.contraction(Contraction::off);
  EXPECT_EQ(off.contraction(), Contraction::off);
  EXPECT_EQ(count(form(fake.device(), off), ir::Op::Fma), 0);

  const std::vector<float> x = telling_values(kCount);
  const std::vector<float> fused = run(fake.device(), kernel, x),
                           apart = run(fake.device(), off, x);
  // IEEE 754 leaves the sign of a new NaN open, and some devices take a denormal for zero in some
  // operations: neither is about contraction.
  const bool keeps_denormals = recorded_properties().denormals_f32;
  const auto expect_is = [](float is, float expected, float of) {
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(is)) << of;
    } else {
      EXPECT_TRUE(same_bits({&is, 1}, std::vector<float>{expected})) << of;
    }
  };
  int differ = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float product = x[i] * x[i];
    if (!keeps_denormals && std::fpclassify(x[i]) == FP_SUBNORMAL) continue;
    expect_is(fused[i], std::fma(x[i], x[i], x[i]), x[i]);
    expect_is(apart[i], product + x[i], x[i]);
    if (!std::isnan(fused[i])) differ += fused[i] == apart[i] ? 0 : 1;
  }
  EXPECT_GT(differ, 50);  // the test can tell one from the other
}

TEST(W50Contraction, W50_TheSourceShownIsWhatADeviceCompiles) {
  FakeRuntime fake;
  const auto kernel = square_plus("square_plus");
  for (const std::string target : {"OpenCL", "CUDA/C", "CUDA/PTX", "Vulkan"}) {
    EXPECT_EQ(kernel.source(target), codegen::source(form(fake.device(), kernel), target));
    const auto off = kernel.contraction(Contraction::off);
    EXPECT_EQ(off.source(target), codegen::source(form(fake.device(), off), target));
    EXPECT_NE(kernel.source(target), off.source(target));
  }
}

TEST(W50Contraction, W50_ADeviceWithoutFastFmaGetsNone) {
  FakeRuntime fake{FakeOptions{.adjust = [](DeviceProperties& d) { d.fast_fma = false; }}};
  EXPECT_EQ(count(form(fake.device(), square_plus("square_plus")), ir::Op::Fma), 0);
}

TEST(W50Contraction, W50_DeviceModeLeavesTheKernelToTheCompilerExceptOnHipAndMetal) {
  for (const char* backend :
       {"CUDA/PTX", "CUDA/C", "OpenCL", "Vulkan", "LevelZero", "HIP", "Metal"}) {
    FakeRuntime fake{FakeOptions{.backend = backend}};
    const auto kernel = square_plus("square_plus").contraction(Contraction::device);
    EXPECT_EQ(count(form(fake.device(), kernel), ir::Op::Fma), 0) << backend;
    const bool alone = std::string_view(backend) == "HIP" || std::string_view(backend) == "Metal";
    EXPECT_EQ(kernel.record()->on(*fake.device().state()).device_contraction, !alone) << backend;
  }
}

/// A multiply that is stored and an add that reads it: nothing may fuse the two.
Program across_the_seam(Contraction mode) {
  return [mode](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> y(kCount), z(kCount);
    device.launch(times("multiply").contraction(mode), over(kCount), x, y, kCount);
    device.launch(plus("add").contraction(mode), over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  };
}

TEST(W50Contraction, W50_W56_AMergedPairHoldsTheSameOperationsAsTheTwo) {
  expect_merged(across_the_seam(Contraction::fixed));
  expect_merged(across_the_seam(Contraction::off));
  // And the test would notice: a merge that fused across the seam would have other bits.
  const std::vector<float> x = telling_values(kCount);
  int differ = 0;
  for (float value : x) {
    const float product = value * 1.1f;
    if (!std::isnan(value)) differ += std::fma(value, 1.1f, 0.3f) == product + 0.3f ? 0 : 1;
  }
  EXPECT_GT(differ, 50);
}

TEST(W50Contraction, W50_FusedOperationsOfBothKernelsSurviveTheMerge) {
  expect_merged([](const Device& device) -> Bytes {
    Vector<float> x{std::span<const float>(telling_values(kCount))};
    Vector<float> y(kCount), z(kCount);
    device.launch(square_plus("first"), over(kCount), x, y, kCount);
    device.launch(square_plus("second"), over(kCount), y, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  });
}

TEST(W26Contraction, W26_KernelsOfUnlikeModesDoNotFuse) {
  FakeRuntime fake;
  fake.window().keep_decisions(8);
  Vector<float> x(kCount, 3.0f), y(kCount), z(kCount);
  fake.device().launch(times("one"), over(kCount), x, y, kCount);
  fake.device().launch(times("two").contraction(Contraction::off), over(kCount), x, z, kCount);
  fake.window().flush();
  EXPECT_EQ(fake.control->count(Driver::launch), 2U);
  EXPECT_EQ(name(fake.window().decisions().back().reason), name(Reason::contraction_differs));
}

class W52Grants : public ::testing::Test {
 protected:
  FakeRuntime fake{FakeOptions{.backend = "OpenCL"}};
  Policy& policy = fake.runtime.policy();
  Floats multiply = times("multiply").contraction(Contraction::device);
  Floats add = plus("add").contraction(Contraction::device);
  Vector<float> x{std::vector<float>(kCount, 3.0f)}, y = Vector<float>(kCount),
                                                     z = Vector<float>(kCount);

  std::size_t launches() {
    fake.control->clear();
    fake.window().keep_decisions(0);
    fake.window().keep_decisions(16);
    fake.device().launch(multiply, over(kCount), x, y, kCount);
    fake.device().launch(add, over(kCount), y, z, kCount);
    fake.window().flush();
    return fake.control->count(Driver::launch);
  }
  Decision epilogue() {
    for (const Decision& one : fake.window().decisions()) {
      if (one.kind == Decision::Kind::epilogue) return one;
    }
    return {};
  }
};

TEST_F(W52Grants, W52_ModeDeviceNeedsAGrantForBoth) {
  EXPECT_EQ(launches(), 2U);
  EXPECT_EQ(name(epilogue().reason), name(Reason::needs_grant));
  policy.grant(multiply, Deviation::cross_kernel_contraction, "tested against f64");
  EXPECT_EQ(launches(), 2U);
  policy.grant("add", Deviation::cross_kernel_contraction, "error budget of 2 ulp");
  EXPECT_EQ(launches(), 1U);
  EXPECT_TRUE(epilogue().applied);
  EXPECT_EQ(epilogue().detail, "granted=cross-kernel-contraction reason=\"error budget of 2 ulp\"");
}

TEST_F(W52Grants, W52_GrantsAreListedAndRevoked) {
  policy.grant(multiply, Deviation::cross_kernel_contraction, "first");
  policy.grant("add", Deviation::cross_kernel_contraction, "second");
  policy.grant("add", Deviation::cross_kernel_contraction, "third");
  const auto grants = policy.list();
  ASSERT_EQ(grants.size(), 2U);
  EXPECT_EQ(grants[0].kernel, "multiply");
  EXPECT_FALSE(grants[0].by_name);
  EXPECT_EQ(grants[1].reason, "third");
  EXPECT_TRUE(grants[1].by_name);
  EXPECT_EQ(launches(), 1U);
  EXPECT_TRUE(policy.revoke(multiply, Deviation::cross_kernel_contraction));
  EXPECT_FALSE(policy.revoke(multiply, Deviation::cross_kernel_contraction));
  EXPECT_EQ(launches(), 2U);
  EXPECT_EQ(policy.list().size(), 1U);
}

TEST_F(W52Grants, W52_AGrantWithoutAReasonIsAnError) {
  EXPECT_THROW(policy.grant("add", Deviation::cross_kernel_contraction, ""), Error);
  EXPECT_THROW(policy.grant(add, Deviation::cross_kernel_contraction, ""), Error);
  EXPECT_TRUE(policy.list().empty());
}

TEST_F(W52Grants, W52_AGrantForAKernelObjectHoldsForItsCopiesAlone) {
  policy.grant(multiply, Deviation::cross_kernel_contraction, "yes");
  policy.grant(Floats(add), Deviation::cross_kernel_contraction, "yes");
  EXPECT_EQ(launches(), 1U);
  add = plus("add").contraction(Contraction::device);  // another kernel of that name
  EXPECT_EQ(launches(), 2U);
}

TEST_F(W52Grants, W52_ABackendSetterGrantsNothing) {
  fake.window().set_epilogue_backend("OpenCL", true);
  EXPECT_EQ(launches(), 2U);
}

TEST_F(W52Grants, W32_HorizontalGroupsInModeDeviceNeedTheGrantsToo) {
  const auto both = [&] {
    fake.control->clear();
    Vector<float> w(kCount);
    fake.device().launch(multiply, over(kCount), x, y, kCount);
    fake.device().launch(add, over(kCount), x, w, kCount);
    fake.window().flush();
    return fake.control->count(Driver::launch);
  };
  EXPECT_EQ(both(), 2U);
  policy.grant("multiply", Deviation::cross_kernel_contraction, "yes");
  EXPECT_EQ(both(), 2U) << "the launch that joins has none";
  policy.grant("add", Deviation::cross_kernel_contraction, "yes");
  EXPECT_EQ(both(), 1U);
  policy.revoke("multiply", Deviation::cross_kernel_contraction);
  EXPECT_EQ(both(), 2U) << "the one that is held has none";
}

TEST_F(W52Grants, W23_AGrantIssuesWhatIsHeldFirst) {
  fake.device().launch(multiply, over(kCount), x, y, kCount);
  policy.grant("add", Deviation::cross_kernel_contraction, "yes");
  EXPECT_EQ(fake.window().stats().held, 0U);
  EXPECT_EQ(fake.control->count(Driver::launch), 1U);
}

TEST(W52Backends, W52_HipAndMetalNeverNeedAGrant) {
  for (const char* backend : {"HIP", "Metal"}) {
    expect_merged(across_the_seam(Contraction::device), 1, FakeOptions{.backend = backend});
  }
  for (const char* backend : {"CUDA/PTX", "CUDA/C", "OpenCL", "Vulkan"}) {
    expect_refused(across_the_seam(Contraction::device), Reason::needs_grant,
                   FakeOptions{.backend = backend});
  }
}

TEST(W52Backends, W52_WebGpusCompilersMayContractSoThatItsMergesNeedAGrant) {
  const FakeOptions options{.backend = "WebGPU", .contracts = true};
  const auto opt_in = [](FakeRuntime& fake) {
    fake.window().set_backend_enabled("WebGPU", true);  // W5
    fake.window().set_epilogue_backend("WebGPU", true);
  };
  const Program program = across_the_seam(Contraction::fixed);
  const Ran refused = run_program(program, true, options, opt_in);
  EXPECT_EQ(refused.stats.epilogue_merges, 0U);
  EXPECT_EQ(refused.epilogue_reason(), Reason::needs_grant) << refused.epilogue_detail();
  const Ran granted = run_program(program, true, options, [&](FakeRuntime& fake) {
    opt_in(fake);
    for (const char* name : {"multiply", "add"}) {
      fake.runtime.policy().grant(name, Deviation::cross_kernel_contraction, "as WGSL allows");
    }
  });
  EXPECT_EQ(granted.stats.epilogue_merges, 1U);
}

TEST(W55Options, W55_ACompilerThatRelaxesGetsNoEpiloguesAndTheWindowStaysOn) {
  const FakeOptions options{
      .backend = "Metal", .adjust = [](DeviceProperties& d) { d.exact_compiler_options = false; }};
  expect_refused(across_the_seam(Contraction::fixed), Reason::inexact_compiler, options);
  expect_refused(across_the_seam(Contraction::off), Reason::inexact_compiler, options);
  FakeRuntime fake{options};
  const auto multiply = times("multiply"), add = plus("add");
  Vector<float> x(std::size_t{kCount}, 1.0f);
  Vector<float> y(std::size_t{kCount}), z(std::size_t{kCount});
  fake.device().launch(multiply, over(kCount), x, y, kCount);
  fake.device().launch(add, over(kCount), x, z, kCount);
  fake.window().flush();
  EXPECT_EQ(fake.control->launched().size(), 1U) << "side by side they are one launch";
}

TEST(W53Probe, W53_ADeviceThatDoesAsItIsToldIsSeenToDoSo) {
  FakeRuntime fake{FakeOptions{.adjust = [](DeviceProperties& d) { d.exact_arithmetic = false; }}};
  const FloatProbe probe = fake.device().float_probe();
  EXPECT_TRUE(probe.measured);
  EXPECT_EQ(probe.cases, 256U);
  EXPECT_EQ(probe.contracted, 0U);
  EXPECT_EQ(probe.fma_rounded_once, 256U);
  EXPECT_TRUE(probe.narrowing_survives);
  EXPECT_EQ(fake.window().stats().submitted, 0U);
  EXPECT_EQ(fake.window().stats().issued, 0U);
  const std::size_t builds = fake.control->count(Driver::build);
  fake.device().float_probe();
  EXPECT_EQ(fake.control->count(Driver::build), builds);  // measured once
}

TEST(W53Probe, W53_TheResultIsKeptOnDiskForTheDeviceAndDriverVersion) {
  const TemporaryFolder folder;
  const auto probed = [&](const char* driver, bool contracts) {
    const auto adjust = [driver](DeviceProperties& d) {
      d.exact_arithmetic = false;
      d.driver_version = driver;
    };
    FakeRuntime fake(
        FakeOptions{.adjust = adjust, .contracts = contracts}, [](const char*) { return nullptr; },
        folder.path());
    const FloatProbe probe = fake.device().float_probe();
    EXPECT_TRUE(probe.measured);
    EXPECT_EQ(probe.cases, 256U);
    return std::pair(probe, fake.control->count(Driver::launch) > 0);
  };
  const auto [first, first_ran] = probed("1.0", true);
  EXPECT_TRUE(first_ran);
  EXPECT_EQ(first.contracted, 256U);
  const auto [again, again_ran] = probed("1.0", true);
  EXPECT_FALSE(again_ran);
  EXPECT_EQ(again.contracted, first.contracted);
  EXPECT_EQ(again.fma_rounded_once, first.fma_rounded_once);
  EXPECT_EQ(again.narrowing_survives, first.narrowing_survives);
  const auto [other, other_ran] = probed("2.0", false);
  EXPECT_TRUE(other_ran);
  EXPECT_EQ(other.contracted, 0U);
}

TEST(W53Probe, W53_TheProbeRunsBeforeTheFirstMerge) {
  expect_merged(across_the_seam(Contraction::fixed), 1,
                FakeOptions{.adjust = [](DeviceProperties& d) { d.exact_arithmetic = false; }});
}

TEST(W53Probe, W52_ADeviceThatContractsAnywayNeedsAGrantInEveryMode) {
  FakeRuntime fake{FakeOptions{.contracts = true}};
  EXPECT_EQ(fake.device().float_probe().contracted, 256U);
  const FakeOptions loose{.contracts = true};
  expect_refused(across_the_seam(Contraction::fixed), Reason::needs_grant, loose);
  expect_refused(across_the_seam(Contraction::off), Reason::needs_grant, loose);
  // The negative control: with the grant the merge is made, and its bits are not those of the two.
  const auto granted = [](FakeRuntime& one) {
    one.runtime.policy().grant("multiply", Deviation::cross_kernel_contraction, "control");
    one.runtime.policy().grant("add", Deviation::cross_kernel_contraction, "control");
  };
  const Program program = across_the_seam(Contraction::off);
  const Ran merged = run_program(program, true, loose, granted);
  EXPECT_EQ(merged.stats.epilogue_merges, 1U);
  EXPECT_NE(merged.outputs, run_program(program, false, loose, granted).outputs);
}

TEST(W54Bound, W54_WithAGrantAResultDiffersByOneContractionAtMost) {
  FakeRuntime fake{FakeOptions{.contracts = true}};
  fake.runtime.policy().grant("multiply", Deviation::cross_kernel_contraction, "measured here");
  fake.runtime.policy().grant("subtract", Deviation::cross_kernel_contraction, "measured here");
  // Products that nearly cancel with what is added: there the difference passes an ulp of the
  // result.
  std::vector<float> x, minus;
  std::uint32_t state = 99;
  for (int i = 0; i < kCount; ++i) {
    state = state * 1664525 + 1013904223;
    x.push_back(static_cast<float>(state >> 8) / 8388608.0f + 0.5f);
    minus.push_back(i % 2 ? -(x.back() * 1.1f) : -(x.back() * 1.1f) * (1.0f + 1e-6f));
  }
  Vector<float> from{std::span<const float>(x)}, other{std::span<const float>(minus)};
  Vector<float> y(kCount), z(kCount);
  fake.device().launch(times("multiply"), over(kCount), from, y, kCount);
  fake.device().launch(kernel("subtract",
                              [](Span<float> a, Span<float> b, Span<float> to, Int n) {
                                auto i = global_thread_id();
                                if_(i < n, [&] { to[i] = a[i] + b[i]; });
                              }),
                       over(kCount), y, other, z, kCount);
  const std::vector<float> got = values(z);
  EXPECT_EQ(fake.window().stats().epilogue_merges, 1U);
  const auto ulp = [](float value) {
    return std::nextafter(std::fabs(value), INFINITY) - std::fabs(value);
  };
  int differ = 0, beyond_an_ulp = 0;
  for (int i = 0; i < kCount; ++i) {
    const float product = x[i] * 1.1f, apart = product + minus[i];
    const float difference = std::fabs(got[i] - apart);
    EXPECT_LE(difference, ulp(product) / 2 + ulp(apart)) << i;
    differ += difference > 0 ? 1 : 0;
    beyond_an_ulp += difference > ulp(apart) ? 1 : 0;
  }
  EXPECT_GT(differ, 100);
  EXPECT_GT(beyond_an_ulp, 50);  // one ulp of the result is not the bound
}

class W54Devices : public OnEachSubject {};
SALVO_ON_SUBJECTS(W54Devices, kRecording);

/// In mode `device`, with grants: whatever the compiler here makes of the pair, the bound holds.
TEST_P(W54Devices, W54_TheBoundHoldsOnEveryDeviceWhereProductAndAddendNearlyCancel) {
  std::vector<float> x, minus;
  std::uint32_t state = 7;
  for (int i = 0; i < kCount; ++i) {
    state = state * 1664525 + 1013904223;
    x.push_back(static_cast<float>(state >> 8) / 8388608.0f + 0.5f);
    minus.push_back(i % 2 ? -(x.back() * 1.1f) : -(x.back() * 1.1f) * (1.0f + 1e-6f));
  }
  const auto multiply = times("w54_multiply").contraction(Contraction::device);
  const auto add = kernel("w54_add", [](Span<float> a, Span<float> b, Span<float> to, Int n) {
                     auto i = global_thread_id();
                     if_(i < n, [&] { to[i] = a[i] + b[i]; });
                   }).contraction(Contraction::device);
  const Program program = [&](const Device& device) -> Bytes {
    Vector<float> from{std::span<const float>(x)}, other{std::span<const float>(minus)};
    Vector<float> y(kCount), z(kCount);
    device.launch(multiply, over(kCount), from, y, kCount);
    device.launch(add, over(kCount), y, other, z, kCount);
    return {bytes_of(y), bytes_of(z)};
  };
  for (const char* name : {"w54_multiply", "w54_add"}) {
    policy::grant(name, Deviation::cross_kernel_contraction, "the bound is checked here");
  }
  const Ran merged = run_program(program, true), apart = run_program(program, false);
  for (const char* name : {"w54_multiply", "w54_add"}) {
    policy::revoke(name, Deviation::cross_kernel_contraction);
  }
  EXPECT_EQ(merged.stats.epilogue_merges, 1U) << describe(merged.epilogue_reason());
  const auto floats = [](const std::vector<std::byte>& bytes) {
    std::vector<float> all(bytes.size() / sizeof(float));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  };
  const std::vector<float> got = floats(merged.outputs[1]), expected = floats(apart.outputs[1]);
  const auto ulp = [](float value) {
    return std::nextafter(std::fabs(value), INFINITY) - std::fabs(value);
  };
  ASSERT_EQ(got.size(), x.size());
  int differ = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::fabs(got[i] - expected[i]), ulp(x[i] * 1.1f) / 2 + ulp(expected[i])) << i;
    differ += got[i] == expected[i] ? 0 : 1;
  }
  RecordProperty("elements_that_differ", differ);
}

TEST(W52Backends, W52_UnlikeModesDoNotMerge) {
  expect_refused(
      [](const Device& device) -> Bytes {
        Vector<float> x{std::span<const float>(telling_values(kCount))};
        Vector<float> y(kCount), z(kCount);
        device.launch(times("multiply"), over(kCount), x, y, kCount);
        device.launch(plus("add").contraction(Contraction::device), over(kCount), y, z, kCount);
        return {bytes_of(y), bytes_of(z)};
      },
      Reason::contraction_differs, FakeOptions{.backend = "OpenCL"});
}

}  // namespace
}  // namespace salvo::tests
