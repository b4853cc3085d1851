// K11, W28, W30, W39, W72: operations of the program's own, on the fake device and on real ones.
// SPDX-License-Identifier: MIT
#include <bit>
#include <cmath>
#include <optional>

#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

using Rotate = Intrinsic<std::uint32_t(std::uint32_t, std::uint32_t)>;
using Words = Kernel<Span<std::uint32_t>, Span<std::uint32_t>, UInt, Int>;

Rotate rotate_everywhere(IntrinsicTraits traits = {}) {
  const std::string shifts = "({0} << ({1} & 31u)) | ({0} >> ((32u - {1}) & 31u))";
  return Rotate(
      "rotate_left",
      {{"HIP", shifts},
       {"OpenCL", "rotate({0}, {1})"},
       {"CUDA/C", shifts},
       {"CUDA/PTX", "shf.l.wrap.b32 {result}, {0}, {0}, {1};"}},
      [](std::uint32_t value, std::uint32_t by) { return std::rotl(value, static_cast<int>(by)); },
      traits);
}

Words rotated(const std::string& name, const Rotate& rotate) {
  return kernel(name, [rotate](Span<std::uint32_t> from, Span<std::uint32_t> to, UInt by, Int n) {
    const auto i = global_thread_id();
    if_(i < n, [&] { to[i] = rotate(from[i], by); });
  });
}

class K11Intrinsics : public ::testing::Test {
 protected:
  static constexpr int kCount = 100;
  void launch(const Words& kernel, Vector<std::uint32_t>& to) {
    device.launch(kernel, over(kCount), x, to, 8U, kCount);
  }

  FakeRuntime fake;
  Device device = fake.device();
  Vector<std::uint32_t> x{std::vector<std::uint32_t>(kCount, 0x81234567U)};
  Vector<std::uint32_t> y = Vector<std::uint32_t>(kCount), z = Vector<std::uint32_t>(kCount);
};

TEST_F(K11Intrinsics, K11_AnIntrinsicComputesWhatItsCodeSays) {
  launch(rotated("rotate", rotate_everywhere()), y);
  EXPECT_EQ(y[kCount - 1], 0x23456781U);
}

TEST_F(K11Intrinsics, K11_EachBackendsSourceHoldsItsOwnCode) {
  const Words rotate = rotated("rotate", rotate_everywhere());
  EXPECT_NE(rotate.source("OpenCL").find("= rotate(v2, arg2);"), std::string::npos)
      << rotate.source("OpenCL");
  EXPECT_NE(rotate.source("CUDA/C").find("& 31u)) | ("), std::string::npos);
  EXPECT_NE(rotate.source("CUDA/PTX").find("shf.l.wrap.b32 %r"), std::string::npos);
  EXPECT_NE(rotate.ir().find("intrinsic rotate_left %"), std::string::npos) << rotate.ir();
}

TEST_F(K11Intrinsics, K11_K15_SourceForATargetWithoutCodeIsRefusedByName) {
  const Words rotate = rotated("rotate", rotate_everywhere());
  for (const char* target : {"Metal", "Native", "WebGPU"}) {
    try {
      rotate.source(target);
      ADD_FAILURE() << target << " has code that nobody gave";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::unsupported);
      EXPECT_EQ(error.kernel(), "rotate");
      EXPECT_NE(std::string(error.what()).find("'rotate_left' has no code for "), std::string::npos)
          << error.what();
      EXPECT_TRUE(error.kernel_location().known()) << target;
    }
  }
}

TEST_F(K11Intrinsics, K11_StatementsMayLeaveTheValueInResult) {
  const Intrinsic<float(float)> next("next", {{"OpenCL", "{ float t = {0}; {result} = t + 1; }"}});
  const auto uses = kernel("uses", [next](Span<float> v) { v[0] = next(v[0]); });
  EXPECT_NE(uses.source("OpenCL").find("{ float t = v1; v2 = t + 1; }"), std::string::npos)
      << uses.source("OpenCL");
}

TEST_F(K11Intrinsics, K11_W57_ABackendWithoutCodeRefusesTheLaunchByName) {
  const Rotate rotate("rotate_left", {{"OpenCL", "rotate({0}, {1})"}});
  try {
    launch(rotated("rotate", rotate), y);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::unsupported);
    EXPECT_EQ(error.message(), "Fake lacks code for 'rotate_left'");
    EXPECT_EQ(error.kernel(), "rotate");
  }
  EXPECT_EQ(fake.window().stats().submitted, 0U);
  EXPECT_THROW(rotated("rotate", rotate).source("CUDA/C"), Error);
  EXPECT_THROW(rotated("rotate", rotate).source("CUDA/PTX"), Error);
  EXPECT_THROW(rotated("rotate", rotate).source("Vulkan"), Error);
}

TEST_F(K11Intrinsics, K11_AnUnknownBackendIsAnErrorThatListsTheKnownOnes) {
  try {
    Rotate("rotate_left", {{"Abacus", "{0}"}});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    EXPECT_NE(error.message().find("OpenCL"), std::string::npos);
  }
}

TEST_F(K11Intrinsics, K11_K7_AConvergentIntrinsicUnderDivergentControlIsAnErrorWithItsLine) {
  const Intrinsic<float(float)> together("together", {}, nullptr,
                                         {.pure = false, .convergence = Convergence::block});
  unsigned line = 0;
  const auto make = [&](bool divergent) {
    return kernel("divergent", [&](Span<float> v) {
      if (!divergent) {
        v[0] = together(1.0f);
        return;
      }
      if_(thread_idx_x() < 3, [&] {
        line = __LINE__ + 1;
        v[0] = together(1.0f);
      });
    });
  };
  EXPECT_NO_THROW(make(false));
  try {
    make(true);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_kernel);
    EXPECT_EQ(error.kernel_location().line, line) << error.message();
  }
}

TEST_F(K11Intrinsics, W28_AUserIntrinsicIsNoMemberOfAGroup) {
  const Rotate rotate = rotate_everywhere();
  launch(rotated("one", rotate), y);
  launch(rotated("two", rotate), z);
  EXPECT_EQ(fake.window().stats().held, 2U);
  EXPECT_EQ(fake.window().stats().refusals[Reason::user_intrinsic], 1U);
  fake.window().flush();
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"one", "two"}));
  EXPECT_EQ(z[0], 0x23456781U);
}

TEST_F(K11Intrinsics, W39_APureIntrinsicMayBeAnEpilogueAndAnImpureOneNot) {
  const auto copied = kernel("copy", [](Span<std::uint32_t> from, Span<std::uint32_t> to, Int n) {
    const auto i = global_thread_id();
    if_(i < n, [&] { to[i] = from[i]; });
  });
  for (const bool pure : {true, false}) {
    fake.control->clear();
    const Words rotate = rotated("rotate", rotate_everywhere({.pure = pure}));
    device.launch(copied, over(kCount), x, y, kCount);
    device.launch(rotate, over(kCount), y, z, 8U, kCount);
    EXPECT_EQ(z[kCount - 1], 0x23456781U);
    EXPECT_EQ(y[0], 0x81234567U);
    EXPECT_EQ(fake.control->count(Driver::launch), pure ? 1U : 2U);
  }
}

TEST_F(K11Intrinsics, W72_ANewDefinitionIsUsedOnceTheLaunchCacheIsCleared) {
  const Intrinsic<float(float)> change("change", {{"HIP", "{0} + 1"}},
                                       [](float v) { return v + 1.0f; });
  const auto changed = kernel("changed", [change](Span<float> v) { v[0] = change(v[0]); });
  Vector<float> v{1.0f};
  device.launch(changed, grid(1), v);
  EXPECT_EQ(v[0], 2.0f);
  change.define([](float value) { return value * 10.0f; });
  device.launch(changed, grid(1), v);
  EXPECT_EQ(v[0], 3.0f);  // the old code until then
  fake.runtime.clear_launch_cache();
  device.launch(changed, grid(1), v);
  EXPECT_EQ(v[0], 30.0f);
}

TEST_F(K11Intrinsics, W72_EpiloguesThatUsedItAreDroppedToo) {
  const Intrinsic<float(float)> change("change", {{"HIP", "{0} + 1"}},
                                       [](float v) { return v + 1.0f; });
  const auto changed = kernel("changed", [change](Span<float> from, Span<float> to, Int n) {
    const auto i = global_thread_id();
    if_(i < n, [&] { to[i] = change(from[i]); });
  });
  const Floats twice = scaled("twice", 2.0f);
  Vector<float> a{std::vector<float>(kCount, 3.0f)}, b(kCount), c(kCount);
  const auto run = [&] {
    fake.control->clear();
    device.launch(twice, over(kCount), a, b, kCount);
    device.launch(changed, over(kCount), b, c, kCount);
    const float result = c[0];
    EXPECT_EQ(fake.control->count(Driver::launch), 1U);
    return result;
  };
  EXPECT_EQ(run(), 7.0f);
  change.define([](float value) { return value * 10.0f; });
  EXPECT_EQ(run(), 7.0f);
  fake.runtime.clear_launch_cache();
  EXPECT_EQ(run(), 60.0f);
}

// ---- Native code --------------------------------------------------------------------------------

auto negated_in_place(const std::string& name) {
  return kernel(name, [](Span<float> v, Span<const float> unused, Int n) {
    const auto i = global_thread_id();
    if_(i < n, [&] {
      native(
          {{"HIP", "{0}[{1}] = -{0}[{1}];"},
           {"OpenCL", "{0}[{1}] = -{0}[{1}];"},
           {"CUDA/C", "{0}[{1}] = -{0}[{1}];"}},
          [](HostSpan<float> s, int at) {
            s[static_cast<std::size_t>(at)] = -s[static_cast<std::size_t>(at)];
          },
          v, i);
    });
    static_cast<void>(unused);
  });
}

class K11Native : public K11Intrinsics {
 protected:
  Vector<float> v{std::vector<float>(kCount, 3.0f)}, w{std::vector<float>(kCount, 4.0f)};
  Vector<float> other = Vector<float>(kCount), another = Vector<float>(kCount);
};

TEST_F(K11Native, K11_NativeCodeRunsWhereItStands) {
  device.launch(negated_in_place("negate"), over(kCount), v, other, kCount);
  EXPECT_EQ(v[0], -3.0f);
  EXPECT_EQ(v[kCount - 1], -3.0f);
}

TEST_F(K11Native, K11_TheHostsBodyIsHeldToTheVectorsBounds) {
  const auto past = kernel("past", [](Span<float> s) {
    native(
        {{"HIP", "{0}[100] = 0;"}}, [](HostSpan<float> t) { t[100] = 0; }, s);
  });
  device.launch(past, grid(1), v);
  try {
    device.synchronize();
    FAIL() << "wrote past the end";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::check_failed);
    EXPECT_EQ(error.kernel(), "past");
  }
}

TEST_F(K11Native, W30_AKernelWithNativeCodeIsNoMemberOfAGroup) {
  device.launch(negated_in_place("one"), over(kCount), v, other, kCount);
  device.launch(negated_in_place("two"), over(kCount), w, another, kCount);
  EXPECT_EQ(fake.window().stats().refusals[Reason::native_code], 1U);
  fake.window().flush();
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"one", "two"}));
  EXPECT_EQ(w[1], -4.0f);
}

TEST_F(K11Native, W39_W46_NativeCodeIsNeitherEpilogueNorProducer) {
  const Floats twice = scaled("twice", 2.0f);
  device.launch(twice, over(kCount), w, v, kCount);                           // 8
  device.launch(negated_in_place("negate"), over(kCount), v, other, kCount);  // -8
  device.launch(twice, over(kCount), v, w, kCount);                           // -16
  EXPECT_EQ(w[0], -16.0f);
  EXPECT_EQ(fake.window().stats().epilogue_merges, 0U);
  EXPECT_EQ(fake.control->count(Driver::launch), 3U);
}

TEST_F(K11Native, W8_EveryVectorThatIsBoundCountsAsReadAndWritten) {
  // `other` is bound and not passed to the native code: still a later reader of it must wait.
  const Floats twice = scaled("twice", 2.0f);
  device.launch(negated_in_place("negate"), over(kCount), v, other, kCount);
  device.launch(twice, over(kCount), other, w, kCount);
  EXPECT_EQ(fake.window().stats().refusals[Reason::dependency], 1U);
  fake.window().flush();
  EXPECT_EQ(fake.control->launched(), std::vector<std::string>({"negate", "twice"}));
  // It counts as written, so reading it back copies it.
  fake.control->clear();
  EXPECT_EQ(other[0], 0.0f);
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
}

TEST_F(K11Native, K11_W57_ABackendWithoutNativeCodeRefusesTheLaunch) {
  const auto only_opencl = kernel("only_opencl", [](Span<float> s) {
    native({{"OpenCL", "{0}[0] = 1;"}}, nullptr, s);
  });
  try {
    device.launch(only_opencl, over(1), v);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "Fake lacks code for 'native code'");
  }
  EXPECT_NE(only_opencl.source("OpenCL").find("arg0[0] = 1;"), std::string::npos)
      << only_opencl.source("OpenCL");
  EXPECT_THROW(only_opencl.source("Vulkan"), Error);
}

// ---- Real devices -------------------------------------------------------------------------------

TEST(K11Devices, K11_EveryDeviceRunsItsOwnCodeToTheSameBits) {
  const Words rotate = rotated("rotate", rotate_everywhere());
  std::vector<std::uint32_t> from;
  for (std::uint32_t i = 0; i < 1000; ++i) from.push_back(i * 2654435761U);
  int ran = 0;
  for (const Device& device : Device::all()) {
    if (device.backend() != "OpenCL" && device.backend() != "Interpreter" &&
        !device.backend().starts_with("CUDA")) {
      continue;
    }
    Vector<std::uint32_t> x{std::span<const std::uint32_t>(from)}, y(1000);
    device.launch(rotate, over(1000), x, y, 7U, 1000);
    const auto read = y.read();
    for (std::size_t i = 0; i < 1000; ++i) {
      ASSERT_EQ(read[i], std::rotl(from[i], 7)) << device.id() << " at " << i;
    }
    ++ran;
  }
  EXPECT_GT(ran, 0);
}

TEST(K11Devices, K11_VulkanTakesInstructionsOfTheExtendedSet) {
  const auto devices = Device::by_backend("Vulkan");
  if (devices.empty()) GTEST_SKIP() << "no Vulkan device";
  const Intrinsic<float(float, float, float)> clamp(
      "clamp", {{"Vulkan", "GLSL.std.450 43"}},  // FClamp
      [](float v, float low, float high) { return std::fmin(std::fmax(v, low), high); });
  const auto clamped = kernel("clamped", [clamp](Span<float> v, Int n) {
    const auto i = global_thread_id();
    if_(i < n, [&] { v[i] = clamp(v[i], -1.0f, 2.0f); });
  });
  Vector<float> v{-5.0f, -1.0f, 0.5f, 2.0f, 7.0f};
  devices.front().launch(clamped, over(5), v, 5);
  EXPECT_EQ(values(v), std::vector<float>({-1.0f, -1.0f, 0.5f, 2.0f, 2.0f}));
}

TEST(K11Devices, K11_NativeCodeRunsOnOpenCL) {
  const auto devices = Device::by_backend("OpenCL");
  if (devices.empty()) GTEST_SKIP() << "no OpenCL device";
  const auto negate = negated_in_place("negate");
  Vector<float> v{std::vector<float>(100, 3.0f)}, unused(100);
  devices.front().launch(negate, over(100), v, unused, 100);
  EXPECT_EQ(v[0], -3.0f);
  EXPECT_EQ(v[99], -3.0f);
}

}  // namespace
}  // namespace salvo::tests
