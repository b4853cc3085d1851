// R1-R5, R12: backends and devices, the states of a vector, views, sizes, the environment.
// SPDX-License-Identifier: MIT
#include <cstring>
#include <map>

#include "caught.hpp"
#include "rules/window_fixture.hpp"

namespace salvo::tests {
namespace {

EnvironmentLookup lookup(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const char* name) -> const char* {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

std::vector<FakeOptions> three_backends() {
  std::vector<FakeOptions> all(3);
  all[0].backend = "OpenCL";
  all[0].devices = 2;
  all[1].backend = "Native";
  all[1].jit = false;
  all[2].backend = "Vulkan";
  all[2].missing = "libvulkan.so.1: not found; tried libvulkan.so.1, libvulkan.so";
  return all;
}

const BackendInfo& of(const std::vector<BackendInfo>& all, const std::string& name) {
  for (const BackendInfo& one : all) {
    if (one.name == name) return one;
  }
  throw std::runtime_error("no backend " + name);
}

TEST(R1Backends, R1_AMissingOneIsReportedWithTheReasonAndStopsNoOther) {
  FakeRuntime fake(three_backends());
  const auto backends = fake.runtime.backends();
  EXPECT_TRUE(of(backends, "OpenCL").available);
  EXPECT_FALSE(of(backends, "Vulkan").available);
  EXPECT_EQ(of(backends, "Vulkan").reason,
            "libvulkan.so.1: not found; tried libvulkan.so.1, libvulkan.so");
  EXPECT_EQ(fake.runtime.devices().size(), 3U);
  EXPECT_TRUE(fake.runtime.by_backend("Vulkan").empty());
}

TEST(R1Backends, R1_VariablesHideBackends) {
  FakeRuntime one(three_backends(), lookup({{"SALVO_DISABLE_OPENCL", "1"}}));
  EXPECT_EQ(of(one.runtime.backends(), "OpenCL").reason, "hidden by SALVO_DISABLE_OPENCL");
  EXPECT_EQ(one.runtime.devices().size(), 1U);
  FakeRuntime none(three_backends(), lookup({{"SALVO_DISABLE_GPU", "1"}}));
  ASSERT_EQ(none.runtime.devices().size(), 1U);
  EXPECT_EQ(none.runtime.devices()[0].backend(), "Native");
}

TEST(R2Devices, R2_TheyAreFoundByBackendAndId) {
  FakeRuntime fake(three_backends());
  EXPECT_EQ(fake.runtime.by_backend("OpenCL").size(), 2U);
  EXPECT_EQ(fake.runtime.get("OpenCL:1").id(), "OpenCL:1");
  EXPECT_EQ(fake.runtime.get("OpenCL:1").properties().name, "Fake");
  EXPECT_EQ(fake.runtime.best().backend(), "OpenCL");
  const Error unknown = caught([&] { fake.runtime.get("OpenCL:7"); });
  EXPECT_EQ(unknown.code(), Errc::no_device);
  EXPECT_NE(unknown.message().find("OpenCL:0, OpenCL:1"), std::string::npos) << unknown.message();
  EXPECT_EQ(caught([&] { fake.runtime.by_backend("Abacus"); }).code(), Errc::invalid_argument);
}

TEST(R2Devices, R2_TheDefaultIsAGpuThenNativeThenAnotherCpuDevice) {
  const auto cpu = [](DeviceProperties& is) { is.is_cpu = true; };
  std::vector<FakeOptions> all(4);
  all[0] = {.backend = "OpenCL", .adjust = cpu};
  all[1] = {.backend = "Native", .jit = false, .in_place = true, .adjust = cpu};
  all[2] = {.backend = "Interpreter", .jit = false, .adjust = cpu};
  all[3].backend = "Vulkan";
  EXPECT_EQ(FakeRuntime(all).runtime.best().backend(), "Vulkan");
  all.pop_back();
  EXPECT_EQ(FakeRuntime(all).runtime.best().backend(), "Native");
  all.erase(all.begin() + 1);
  EXPECT_EQ(FakeRuntime(all).runtime.best().backend(), "OpenCL");
  all.erase(all.begin());
  EXPECT_EQ(FakeRuntime(all).runtime.best().backend(), "Interpreter");
}

TEST(R2Devices, R2_TheEnvironmentChoosesTheDefault) {
  FakeRuntime fake(three_backends(), lookup({{"SALVO_DEVICE", "OpenCL:1"}}));
  EXPECT_EQ(fake.runtime.best().id(), "OpenCL:1");
  FakeRuntime wrong(three_backends(), lookup({{"SALVO_DEVICE", "OpenCL:9"}}));
  const Error error = caught([&] { wrong.runtime.best(); });
  EXPECT_EQ(error.code(), Errc::no_device);
  EXPECT_TRUE(error.message().starts_with("SALVO_DEVICE: there is no device 'OpenCL:9'"));
}

using R3Residence = WindowRules;

TEST_F(R3Residence, R3_NothingIsAllocatedBeforeFirstUseAndNothingMovesTwice) {
  fake.window().set_enabled(false);
  EXPECT_EQ(fake.control->count(Driver::allocate), 0U);
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.control->count(Driver::allocate), 2U);
  EXPECT_EQ(fake.control->count(Driver::write), 2U);
  device.launch(twice, over(kCount), x, y, kCount);
  EXPECT_EQ(fake.control->count(Driver::write), 2U);
  for (int round = 0; round < 2; ++round) EXPECT_EQ(y[0], 6.0f);
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
  EXPECT_EQ(x[0], 3.0f);  // an input is still current on the host
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
}

TEST_F(R3Residence, R3_APartialHostWriteFirstBringsTheVectorBack) {
  device.launch(twice, over(kCount), x, y, kCount);
  y[3] = 1.0f;
  EXPECT_EQ(fake.control->count(Driver::read), 1U);
  EXPECT_EQ(y[3], 1.0f);
  EXPECT_EQ(y[4], 6.0f);
  device.launch(negate, over(kCount), y, z, kCount);  // uploaded anew
  EXPECT_EQ(z[3], -1.0f);
  EXPECT_EQ(z[4], -6.0f);
}

TEST(R3Devices, R3_UsingAVectorOnAnotherDeviceMovesItThroughTheHost) {
  FakeRuntime fake{FakeOptions{.devices = 2}};
  const Floats twice = scaled("twice", 2.0f);
  Vector<float> x{std::vector<float>(100, 3.0f)}, y(100), z(100);
  fake.device(0).launch(twice, over(100), x, y, 100);
  fake.device(1).launch(twice, over(100), y, z, 100);
  EXPECT_EQ(z[99], 12.0f);
  EXPECT_EQ(y[0], 6.0f);
}

TEST_F(R3Residence, R4_ViewsShareMemoryAndStateAndBoundsAreChecked) {
  const VectorView<float> part = y.view(10, 5);
  device.launch(twice, over(5), x.view(0, 5), part, 5);
  EXPECT_EQ(y[10], 6.0f);
  EXPECT_EQ(y[15], 0.0f);
  EXPECT_EQ(part[4], 6.0f);
  EXPECT_THROW(static_cast<void>(part[5]), Error);
  EXPECT_THROW(static_cast<void>(y.view(kCount - 1, 2)), Error);
  EXPECT_THROW(static_cast<void>(y[kCount]), Error);
}

TEST_F(R3Residence, R4_VectorsMoveAreClonedAndIterated) {
  device.launch(twice, over(kCount), x, y, kCount);
  const Vector<float> copy = y.clone();
  Vector<float> moved = std::move(y);
  EXPECT_EQ(moved.size(), static_cast<std::size_t>(kCount));
  EXPECT_TRUE(y.empty());  // NOLINT(bugprone-use-after-move): it says so
  float sum = 0;
  for (const float value : copy) sum += value;
  EXPECT_EQ(sum, 6.0f * kCount);
  moved[0] = 1.0f;
  EXPECT_EQ(copy[0], 6.0f);
  const std::span<const float> seen = std::as_const(moved).read();  // an observation
  EXPECT_EQ(seen[1], 6.0f);
}

TEST(R4Sizes, R4_ThoseThatNoMemoryHoldsAreErrorsAndNotSmallVectors) {
  FakeRuntime fake;
  constexpr std::size_t kHuge = (std::size_t{1} << 62) + 1;  // times 4 is 4, in 64 bits
  EXPECT_EQ(caught([] { Vector<float> one(kHuge); }).code(), Errc::out_of_memory);
  EXPECT_EQ(caught([] { Vector<float> one(kHuge, 1.0f); }).message(),
            "no memory holds 4611686018427387905 elements of 4 bytes");
  const int negative = -5;
  EXPECT_EQ(caught([&] { Vector<float> one(negative); }).message(),
            "no memory holds 18446744073709551611 (-5) elements of 4 bytes");
  EXPECT_EQ(caught([&] { Vector<float>(3)[negative].get(); }).message(),
            "index 18446744073709551611 (-5) is past the vector's 3 elements");
  EXPECT_EQ(caught([&] { alloc_pinned<double>(fake.device(), kHuge); }).code(),
            Errc::out_of_memory);
  EXPECT_EQ(caught([&] { wrap_device_memory<double>(fake.device(), 4096, kHuge); }).code(),
            Errc::out_of_memory);
}

TEST(R5Memory, R5_ADeviceTellsWhatVectorsUseAndWhatIsCached) {
  FakeRuntime fake;
  const Device device = fake.device();
  const auto twice = scaled("twice", 2.0f);
  constexpr int kCount = 1000;
  Vector<float> x(kCount), y(kCount);
  EXPECT_EQ(device.memory().in_use, 0U);
  device.launch(twice, over(kCount), x, y, kCount);
  const MemoryStatistics used = device.memory();
  EXPECT_GE(used.in_use, 2 * kCount * sizeof(float));
  EXPECT_EQ(used.allocations, 2U);
  EXPECT_EQ(used.cached, 0U);
  y = Vector<float>();
  x = Vector<float>();
  fake.window().flush();
  EXPECT_EQ(device.memory().in_use, 0U);
  EXPECT_EQ(device.memory().cached, used.in_use);
  fake.control->clear();
  device.release_cached_memory();
  EXPECT_EQ(device.memory().cached, 0U);
  EXPECT_EQ(fake.control->count(Driver::release), 2U);
}

TEST(K7Tracing, K7_ABarrierThatSomeThreadsMissIsReportedWhereItStands) {
  unsigned first = 0;
  const Error error = caught([&] {
    kernel("apart", [&](Span<float> x, Int n) {
      auto i = global_thread_id();
      if_(i < n, [&] {
        first = __LINE__ + 1;
        barrier();
        x[i] = 1.0f;
        barrier();
      });
    });
  });
  EXPECT_EQ(error.code(), Errc::invalid_kernel);
  EXPECT_EQ(error.kernel(), "apart");
  EXPECT_EQ(error.kernel_location().line, first);
  ASSERT_EQ(error.others().size(), 1U);
  EXPECT_EQ(error.others()[0].kernel_location().line, first + 2);
}

TEST(K14Signatures, K14_NoexceptFunctionsAreKernelsToo) {
  FakeRuntime fake;
  const auto body = [](Span<float> x, Int n) noexcept {
    auto i = global_thread_id();
    if_(i < n, [&] { x[i] = 7.0f; });
  };
  Vector<float> x(10);
  fake.device().launch(kernel("filled", body), over(10), x, 10);
  EXPECT_EQ(x[9], 7.0f);
}

TEST(R12Environment, R12_ABadValueIsAnErrorThatListsTheGoodOnes) {
  const std::map<std::string, std::string> bad{
      {"SALVO_EXPLAIN", "0, 1, json"},      {"SALVO_DISK_CACHE", "0, 1"},
      {"SALVO_CACHE_SIZE", "1 to 1048576"}, {"SALVO_VULKAN_BATCH", "1 to 4096"},
      {"SALVO_DISABLE_OPENCL", "0, 1"},     {"SALVO_DISABLE_GPU", "0, 1"},
      {"SALVO_BACKGROUND_COMPILE", "0, 1"}, {"SALVO_INTERPRETER_WORKERS", "1 to 1024"},
  };
  for (const auto& [name, good] : bad) {
    const Error error = caught([&, variable = name] {
      FakeRuntime fake(FakeOptions{}, lookup({{variable, "perhaps"}}));
    });
    EXPECT_EQ(error.code(), Errc::bad_environment) << name;
    EXPECT_EQ(error.message(), name + "=perhaps is not understood; good values: " + good);
  }
}

TEST(R12Environment, R12_TheTableTellsEveryVariableAndWhatIsSet) {
  FakeRuntime fake(FakeOptions{}, lookup({{"SALVO_EXPLAIN", "0"}}));
  const auto table = fake.runtime.environment();
  const auto row = [&](const std::string& name) {
    const auto found = std::ranges::find(table, name, &EnvironmentVariable::name);
    return found == table.end() ? std::string("missing") : found->current;
  };
  EXPECT_EQ(row("SALVO_EXPLAIN"), "0");
  EXPECT_EQ(row("SALVO_TRACE"), "");
  EXPECT_EQ(row("SALVO_DISABLE_LEVEL_ZERO"), "");
  for (const EnvironmentVariable& one : table) {
    EXPECT_FALSE(one.values.empty()) << one.name;
    EXPECT_FALSE(one.effect.empty()) << one.name;
  }
}

TEST(R11Interpreter, R11_ItFindsFaultsInKernels) {
  const auto interpreters = Device::by_backend("Interpreter");
  ASSERT_EQ(interpreters.size(), 1U);
  const Device& device = interpreters.front();
  const auto launched = [&](const auto& kernel, const Dims& dims) {
    Vector<float> v(std::size_t{4});
    return caught([&] { device.launch(kernel, dims, v); });
  };
  const auto past = kernel("past", [](Span<float> v) { v[thread_idx_x()] = 1.0f; });
  const auto race = kernel("race", [](Span<float> v) { v[0] = cast<float>(thread_idx_x()); });
  const auto unset = kernel("unset", [](Span<float> v) {
    LocalArray<float> nothing(2);
    v[thread_idx_x()] = nothing[1];
  });
  const struct {
    Error error;
    const char* words;
  } faults[] = {{launched(past, grid(1).block(5)), "4"},
                {launched(race, grid(1).block(2)), "race"},
                {launched(unset, grid(1).block(1)), "uninitialised"}};
  for (const auto& fault : faults) {
    EXPECT_EQ(fault.error.code(), Errc::check_failed) << fault.error.what();
    EXPECT_NE(fault.error.message().find(fault.words), std::string::npos) << fault.error.what();
    EXPECT_TRUE(fault.error.kernel_location().known()) << fault.error.what();
  }
}

TEST(R11Interpreter, R11_TheEnvironmentLimitsTheStepsOfABlockAndSetsTheWorkers) {
  const auto with = [](std::map<std::string, std::string> variables) {
    RuntimeOptions options;
    options.environment = lookup(std::move(variables));
    return Runtime(std::move(options));
  };
  const auto endless = kernel("endless", [](Span<float> v) {
    while_([] { return Bool(true); }, [&] { v[0] = v[0] + 1.0f; });
  });
  Vector<float> v(4);
  Runtime limited = with({{"SALVO_INTERPRETER_STEPS", "1000"}});
  const Error error = caught([&] { limited.get("Interpreter:0").launch(endless, grid(1), v); });
  EXPECT_EQ(error.code(), Errc::check_failed);
  EXPECT_EQ(error.message(), "more than 1000 steps in block (0,0,0)");

  Runtime several = with({{"SALVO_INTERPRETER_WORKERS", "3"}});
  EXPECT_EQ(several.get("Interpreter:0").properties().compute_units, 3U);
}

}  // namespace
}  // namespace salvo::tests
