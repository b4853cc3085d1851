// The Metal backend on the stand-in: what it calls, in which order, what it keeps, how it fails.
// SPDX-License-Identifier: MIT
#include <dlfcn.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/metal/metal_backend.hpp"
#include "drivers/metal/control.hpp"
#include "salvo/error.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::backends::metal {
namespace {

using ir::Op;
using ir::Scalar;
using runtime::Argument;
using runtime::Buffer;
using test::metal::Control;
using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Control* find_control() {
  void* const library = dlopen("libobjc.A.dylib", RTLD_NOW);
  void* const symbol = library ? dlsym(library, test::metal::kFindControl) : nullptr;
  return symbol ? reinterpret_cast<test::metal::FindControl*>(symbol)() : nullptr;
}

class MetalDriver : public testing::Test {
 protected:
  static constexpr std::uint32_t kCount = 256;

  void SetUp() override {
    control_ = find_control();
    if (!control_) GTEST_SKIP() << "the stand-in is not in LD_LIBRARY_PATH";
    backend_ = make_backend();
    // Devices and what was compiled for them are found once and kept.
    backend_->open();
    objects_ = control_->objects();
    auto devices = backend_->open();
    ASSERT_EQ(devices.size(), 1U);
    device_ = std::move(devices.front());
    misuse_ = control_->misuse().size();
  }
  void TearDown() override {
    if (!control_) return;
    device_.reset();
    EXPECT_EQ(control_->objects(), objects_) << "references are not balanced";
    const std::vector<std::string> misuse = control_->misuse();
    EXPECT_THAT(std::vector<std::string>(misuse.begin() + static_cast<std::ptrdiff_t>(misuse_),
                                         misuse.end()),
                IsEmpty());
  }

  static ir::Kernel scale(const std::string& name = "scale") {
    test::Shapes k(name);
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
    const auto by = k.scalar_parameter("by", Scalar::F32);
    const auto i = k.position(Op::GlobalIdx, 0);
    k.store(x, i, k.op(Op::Mul, {k.load(x, i), k.param(by)}));
    return k.finish();
  }
  std::unique_ptr<runtime::Executable> built(const ir::Kernel& kernel) {
    return device_->build(kernel, device_->translate(kernel, {}), {});
  }
  std::unique_ptr<runtime::Executable> built() { return built(scale()); }

  Buffer ones() {
    const Buffer buffer = device_->allocate(kCount * 4);
    const std::vector<float> values(kCount, 1.0f);
    device_->write(device_->queue(), buffer, 0, values.data(), kCount * 4);
    device_->finish(device_->queue());
    return buffer;
  }
  void launch(runtime::Queue& queue, runtime::Executable& executable, Buffer buffer,
              std::uint32_t first = 0) {
    const Argument arguments[] = {
        {.buffer = buffer, .byte_offset = first * 4, .length = kCount - first},
        {.bits = std::bit_cast<std::uint32_t>(2.0f)}};
    device_->launch(queue, executable, {{2, 1, 1}, {64, 1, 1}, 0}, arguments);
  }
  void launch(runtime::Executable& executable, Buffer buffer, std::uint32_t first = 0) {
    launch(device_->queue(), executable, buffer, first);
  }
  std::vector<float> values(Buffer buffer) {
    std::vector<float> all(kCount);
    device_->read(device_->queue(), all.data(), buffer, 0, kCount * 4);
    return all;
  }

  std::vector<std::string> calls_of(const std::function<void()>& work) {
    control_->start_log();
    work();
    return control_->stop_log();
  }
  Error failure(const std::function<void()>& call) {
    try {
      call();
    } catch (const Error& error) {
      return error;
    }
    ADD_FAILURE() << "it failed unnoticed";
    return Error(Errc::io, "nothing was thrown");
  }

  Control* control_ = nullptr;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<runtime::DeviceDriver> device_;
  std::int64_t objects_ = 0;
  std::size_t misuse_ = 0;
};

TEST_F(MetalDriver, PropertiesAreTheDevices) {
  const DeviceProperties& is = device_->properties();
  EXPECT_EQ(is.name, "Stand-in for Metal");
  EXPECT_EQ(is.argument_slots, 31U);
  EXPECT_EQ(is.warp_size, 32U);
  EXPECT_EQ(is.shared_bytes_per_block, 32U << 10);
  EXPECT_FALSE(is.fp64);
  EXPECT_FALSE(is.atomics_i64);
  EXPECT_TRUE(is.fast_fma);
  EXPECT_TRUE(is.exact_compiler_options);
  EXPECT_EQ(is.is_integrated, control_->knobs().unified_memory);
  EXPECT_THAT(is.driver_version, StartsWith("stand-in("));
  EXPECT_THAT(is.driver_version, HasSubstr("; Metal 3.2"));
}

TEST_F(MetalDriver, ABuildCompilesOnceAndAsksOnce) {
  const ir::Kernel kernel = scale();
  const runtime::Program program = device_->translate(kernel, {});
  std::unique_ptr<runtime::Executable> executable;
  EXPECT_THAT(calls_of([&] { executable = device_->build(kernel, program, {}); }),
              ElementsAre("objc_autoreleasePoolPush", "NSString stringWithUTF8String:",
                          "MTLDevice newLibraryWithSource:options:error:",
                          "NSString stringWithUTF8String:", "MTLLibrary newFunctionWithName:",
                          "MTLDevice newComputePipelineStateWithFunction:error:",
                          "MTLComputePipelineState maxTotalThreadsPerThreadgroup",
                          "MTLComputePipelineState threadExecutionWidth", "objc_release",
                          "objc_release", "objc_autoreleasePoolPop"));
  EXPECT_THAT(calls_of([&] { executable.reset(); }), ElementsAre("objc_release"));
}

TEST_F(MetalDriver, P3_ARepeatLaunchOnlyEncodes) {
  const auto executable = built();
  const Buffer buffer = ones();
  EXPECT_THAT(
      calls_of([&] { launch(*executable, buffer); }),
      ElementsAre("objc_autoreleasePoolPush", "MTLCommandQueue commandBuffer", "objc_retain",
                  "objc_autoreleasePoolPop", "objc_autoreleasePoolPush",
                  "MTLCommandBuffer computeCommandEncoder", "objc_retain",
                  "objc_autoreleasePoolPop", "MTLComputeCommandEncoder setComputePipelineState:",
                  "MTLComputeCommandEncoder setBuffer:offset:atIndex:",
                  "MTLComputeCommandEncoder setBytes:length:atIndex:",
                  "MTLComputeCommandEncoder dispatchThreadgroups:threadsPerThreadgroup:"));
  EXPECT_THAT(calls_of([&] { launch(*executable, buffer); }),
              ElementsAre("MTLComputeCommandEncoder setBuffer:offset:atIndex:",
                          "MTLComputeCommandEncoder setBytes:length:atIndex:",
                          "MTLComputeCommandEncoder dispatchThreadgroups:threadsPerThreadgroup:"));
  EXPECT_THAT(calls_of([&] { device_->submit(device_->queue()); }),
              ElementsAre("MTLComputeCommandEncoder endEncoding", "objc_release",
                          "MTLCommandBuffer commit"));
  EXPECT_EQ(values(buffer)[100], 4.0f);
  device_->release(buffer);
}

TEST_F(MetalDriver, AViewBeginsAtItsOffset) {
  const auto executable = built();
  const Buffer buffer = ones();
  launch(*executable, buffer, 64);
  const std::vector<float> all = values(buffer);
  EXPECT_EQ(all[63], 1.0f);
  EXPECT_EQ(all[64], 2.0f);
  EXPECT_EQ(all[191], 2.0f);
  EXPECT_EQ(all[192], 1.0f);
  device_->release(buffer);
}

TEST_F(MetalDriver, W14_AWriteBehindALaunchComesAfterIt) {
  const auto executable = built();
  const Buffer buffer = ones();
  launch(*executable, buffer);
  float five = 5.0f;
  const auto calls =
      calls_of([&] { device_->write(device_->queue(), buffer, 40, &five, sizeof(five)); });
  EXPECT_THAT(calls, Contains("MTLDevice newBufferWithBytes:length:options:"));
  EXPECT_THAT(calls, Contains("MTLBlitCommandEncoder copyFromBuffer:sourceOffset:toBuffer:"
                              "destinationOffset:size:"));
  five = 0;  // it was copied
  const std::vector<float> all = values(buffer);
  EXPECT_EQ(all[9], 2.0f);
  EXPECT_EQ(all[10], 5.0f);
  EXPECT_EQ(all[11], 2.0f);
  device_->release(buffer);
}

TEST_F(MetalDriver, AnIdleDeviceWithUnifiedMemoryIsWrittenInPlace) {
  const Buffer buffer = device_->allocate(64);
  const int value = 7;
  const auto calls =
      calls_of([&] { device_->write(device_->queue(), buffer, 0, &value, sizeof(value)); });
  if (control_->knobs().unified_memory) {
    EXPECT_THAT(calls, ElementsAre("MTLBuffer contents"));
  } else {
    EXPECT_THAT(calls, Not(Contains("MTLBuffer contents")));
  }
  int back = 0;
  device_->read(device_->queue(), &back, buffer, 0, sizeof(back));
  EXPECT_EQ(back, 7);
  device_->release(buffer);
}

TEST_F(MetalDriver, CopiesThatABlitCannotDoAreDoneByAKernel) {
  std::vector<std::uint8_t> data(100);
  std::iota(data.begin(), data.end(), std::uint8_t{0});
  const Buffer a = device_->allocate(100);
  const Buffer b = device_->allocate(100);
  device_->write(device_->queue(), a, 0, data.data(), data.size());
  EXPECT_THAT(calls_of([&] { device_->copy(device_->queue(), b, 3, a, 41, 7); }),
              Contains("MTLComputeCommandEncoder dispatchThreadgroups:threadsPerThreadgroup:"));
  EXPECT_THAT(calls_of([&] { device_->copy(device_->queue(), b, 12, a, 40, 8); }),
              Contains("MTLBlitCommandEncoder copyFromBuffer:sourceOffset:toBuffer:"
                       "destinationOffset:size:"));
  std::vector<std::uint8_t> got(17);
  device_->read(device_->queue(), got.data(), b, 3, got.size());
  EXPECT_THAT(got,
              ElementsAreArray({41, 42, 43, 44, 45, 46, 47, 0, 0, 40, 41, 42, 43, 44, 45, 46, 47}));
  device_->release(a);
  device_->release(b);
}

TEST_F(MetalDriver, ManyLaunchesAreCommittedOnTheWayAndLetGoOf) {
  const auto executable = built(scale("often"));
  const Buffer buffer = ones();
  for (int i = 0; i < 64 * 80; ++i) launch(*executable, buffer);
  EXPECT_LE(control_->objects("MTLCommandBuffer"), 64) << "a queue has no more";
  device_->finish(device_->queue());
  EXPECT_EQ(control_->objects("MTLCommandBuffer"), 0);
  device_->release(buffer);
}

TEST_F(MetalDriver, AStreamWaitsOnTheDeviceForAnEvent) {
  const auto executable = built();
  const Buffer buffer = ones();
  const auto stream = device_->make_queue(1);
  const auto event = device_->make_event();
  launch(*executable, buffer);
  EXPECT_THAT(
      calls_of([&] {
        device_->record(device_->queue(), *event);
        device_->wait(*stream, *event);
      }),
      ElementsAre("MTLComputeCommandEncoder endEncoding", "objc_release",
                  "MTLCommandBuffer encodeSignalEvent:value:", "MTLCommandBuffer commit",
                  "objc_autoreleasePoolPush", "MTLCommandQueue commandBuffer", "objc_retain",
                  "objc_autoreleasePoolPop", "MTLCommandBuffer encodeWaitForEvent:value:"));
  launch(*stream, *executable, buffer);
  device_->finish(*stream);
  EXPECT_TRUE(device_->reached(*event));
  EXPECT_EQ(values(buffer)[0], 4.0f);
  device_->release(buffer);
}

TEST_F(MetalDriver, TimesAreTheCommandBuffersOwn) {
  const auto first = device_->make_event();
  const auto last = device_->make_event();
  EXPECT_EQ(failure([&] { device_->elapsed_ms(*first, *last); }).code(), Errc::invalid_argument);
  device_->record(device_->queue(), *first);
  device_->record(device_->queue(), *last);
  EXPECT_THAT(calls_of([&] { EXPECT_GT(device_->elapsed_ms(*first, *last), 0); }),
              Contains("MTLCommandBuffer GPUEndTime").Times(2));
}

TEST_F(MetalDriver, CompilerErrorsNameTheKernelAndCarryTheWords) {
  const ir::Kernel kernel = scale("crooked");
  runtime::Program program = device_->translate(kernel, {});
  program.code += "this is not MSL";
  const Error error = failure([&] { device_->build(kernel, program, {}); });
  EXPECT_EQ(error.code(), Errc::compile_failed);
  EXPECT_EQ(error.kernel(), "crooked");
  EXPECT_EQ(error.operation(), "newLibraryWithSource:options:error:");
  EXPECT_THAT(error.log(), HasSubstr("this is not MSL"));
  program = device_->translate(kernel, {});
  program.entry = "another";
  const Error missing = failure([&] { device_->build(kernel, program, {}); });
  EXPECT_THAT(missing.message(), HasSubstr("no kernel called another"));
}

TEST_F(MetalDriver, W77_AFailedCommandBufferNamesItsKernelsOnce) {
  const auto good = built(scale("good"));
  const auto bad = built(scale("bad"));
  const Buffer buffer = ones();
  struct Expected {
    long failure;
    Errc code;
  };
  for (const Expected& one : {Expected{1, Errc::launch_failed}, Expected{8, Errc::out_of_memory},
                              Expected{4, Errc::device_lost}, Expected{11, Errc::device_lost}}) {
    control_->knobs().failing_kernel = "bad";
    control_->knobs().failure_code = one.failure;
    launch(*good, buffer);
    launch(*bad, buffer);
    launch(*good, buffer);
    device_->submit(device_->queue());
    const Error error = failure([&] { device_->finish(device_->queue()); });
    EXPECT_EQ(error.code(), one.code);
    EXPECT_EQ(error.kernel(), "good (2 times), bad");
    EXPECT_TRUE(error.details().may_have_started);
    EXPECT_THAT(error.message(), HasSubstr("GPU Hang"));
    control_->knobs().failing_kernel = "";
    device_->finish(device_->queue());
  }
  device_->release(buffer);
}

TEST_F(MetalDriver, W77_AnEventBehindAFailureTellsOfItToo) {
  const auto bad = built(scale("bad"));
  const Buffer buffer = ones();
  const auto event = device_->make_event();
  control_->knobs().failing_kernel = "bad";
  control_->knobs().failure_code = 1;
  launch(*bad, buffer);
  device_->record(device_->queue(), *event);
  EXPECT_EQ(failure([&] { device_->wait(*event); }).kernel(), "bad");
  EXPECT_EQ(failure([&] { device_->finish(device_->queue()); }).kernel(), "bad");
  control_->knobs().failing_kernel = "";
  device_->release(buffer);
}

TEST_F(MetalDriver, MemoryThatCannotBeHadIsSaidSo) {
  const auto executable = built();
  const Buffer buffer = ones();
  launch(*executable, buffer);
  control_->knobs().out_of_memory = true;
  EXPECT_EQ(failure([&] { device_->allocate(64); }).code(), Errc::out_of_memory);
  EXPECT_EQ(failure([&] { device_->allocate_host(64); }).code(), Errc::out_of_memory);
  const int value = 1;
  EXPECT_EQ(failure([&] { device_->write(device_->queue(), buffer, 0, &value, 4); }).code(),
            Errc::out_of_memory);
  control_->knobs().out_of_memory = false;
  device_->finish(device_->queue());
  control_->knobs().out_of_command_buffers = true;
  const Error error = failure([&] { launch(*executable, buffer); });
  control_->knobs().out_of_command_buffers = false;
  EXPECT_EQ(error.code(), Errc::out_of_memory);
  EXPECT_EQ(error.operation(), "commandBuffer");
  EXPECT_EQ(values(buffer)[0], 2.0f);
  device_->release(buffer);
}

TEST_F(MetalDriver, W51_EveryKernelBeginsWithThePragmaInEveryMode) {
  for (const bool device_mode : {false, true}) {
    const ir::Kernel kernel = scale();
    const runtime::Program program =
        device_->translate(kernel, {.device_contraction = device_mode});
    EXPECT_THAT(program.code, StartsWith("#pragma METAL fp contract(off)\n"));
    device_->build(kernel, program, {});
    EXPECT_EQ(control_->source(), program.code);
  }
}

TEST_F(MetalDriver, W51_UsersOptionsMayNotRelaxFloatingPoint) {
  const auto options_refused = [&](std::vector<std::string> options) {
    return failure([&] {
      device_->build_source({"MSL", "kernel void f() {}", "f", std::move(options)});
    });
  };
  for (const std::vector<std::string>& relaxing : {std::vector<std::string>{"-ffast-math"},
                                                   {"-O3 -ffast-math"},
                                                   {"-ffp-contract=fast"},
                                                   {"-ffp-contract", "fast"}}) {
    const Error error = options_refused(relaxing);
    EXPECT_EQ(error.code(), Errc::invalid_argument);
    EXPECT_THAT(error.message(), HasSubstr("relaxes floating point"));
  }
  EXPECT_EQ(options_refused({"-DN=4"}).code(), Errc::unsupported);
}

TEST_F(MetalDriver, SourceThatIsNotUtf8IsRefusedBeforeMetalSeesIt) {
  const std::string good = device_->translate(scale(), {}).code;
  for (const auto& [code, entry] :
       {std::pair<std::string, std::string>{good + "// \xff", "scale"}, {good, "scale\xff"}}) {
    const Error error = failure([&] { device_->build_source({"MSL", code, entry, {}}); });
    EXPECT_EQ(error.code(), Errc::compile_failed);
    EXPECT_THAT(error.message(), HasSubstr("not UTF-8"));
  }
}

/// (a * b) + c of a kernel, as the IR has it: two roundings.
class Contraction : public MetalDriver {
 protected:
  static ir::Kernel multiply_add() {
    test::Shapes k("multiply_add");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::F32), false);
    const auto by = k.scalar_parameter("by", Scalar::F32);
    const auto i = k.position(Op::GlobalIdx, 0);
    const auto v = k.load(x, i);
    k.store(x, i, k.op(Op::Add, {k.op(Op::Mul, {v, k.param(by)}), v}));
    return k.finish();
  }
  std::vector<std::uint32_t> bits_of(const std::string& code) {
    const ir::Kernel kernel = multiply_add();
    runtime::Program program = device_->translate(kernel, {});
    program.code = code;
    const auto executable = device_->build(kernel, program, {});
    std::vector<float> data(kCount);
    for (std::uint32_t i = 0; i < kCount; ++i) data[i] = 0.1f + static_cast<float>(i) * 1.37f;
    const Buffer buffer = device_->allocate(kCount * 4);
    device_->write(device_->queue(), buffer, 0, data.data(), kCount * 4);
    const Argument arguments[] = {{.buffer = buffer, .length = kCount},
                                  {.bits = std::bit_cast<std::uint32_t>(-0.9999999f)}};
    device_->launch(device_->queue(), *executable, {{4, 1, 1}, {64, 1, 1}, 0}, arguments);
    std::vector<std::uint32_t> bits(kCount);
    device_->read(device_->queue(), bits.data(), buffer, 0, kCount * 4);
    device_->release(buffer);
    return bits;
  }
  static std::vector<std::uint32_t> rounded_twice() {
    std::vector<std::uint32_t> bits;
    for (std::uint32_t i = 0; i < kCount; ++i) {
      const float v = 0.1f + static_cast<float>(i) * 1.37f;
      volatile float product = v * -0.9999999f;
      bits.push_back(std::bit_cast<std::uint32_t>(product + v));
    }
    return bits;
  }
};

TEST_F(Contraction, W51_ThePragmaIsWhatKeepsTheOperationsApart) {
  const std::string code = device_->translate(multiply_add(), {}).code;
  EXPECT_EQ(bits_of(code), rounded_twice());
  // The control: without the pragmas the same compiler makes other bits of the same source.
  ASSERT_NE(code.find("#include"), std::string::npos);
  EXPECT_NE(bits_of(code.substr(code.find("#include"))), rounded_twice());
}

}  // namespace
}  // namespace salvo::backends::metal
