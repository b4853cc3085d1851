// A CUDA-shaped driver layer on a stand-in: what a launch calls, what it passes, how it fails.
// SPDX-License-Identifier: MIT
#include <cstdint>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drivers/driver_fixture.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST_P(FamilyDriver, P3_ARepeatLaunchIsOneCall) {
  const auto executable = built();
  launch(*executable);
  EXPECT_THAT(calls_of([&] { launch(*executable); }), ElementsAre(subject_.launch));
}

TEST_P(FamilyDriver, ALaunchPassesOneBlock) {
  const auto executable = built();
  launch(*executable);
  ASSERT_EQ(fake_->block_bytes, 12U);
  std::uint64_t address = 0;
  float by = 0;
  std::memcpy(&address, fake_->block, 8);
  std::memcpy(&by, fake_->block + 8, 4);
  EXPECT_EQ(address, 0x5010U);
  EXPECT_EQ(by, 2.0f);
  EXPECT_EQ(fake_->grid[0], 7U);
  EXPECT_EQ(fake_->grid[1], 2U);
  EXPECT_EQ(fake_->threads[0], 128U);
  EXPECT_EQ(fake_->shared_bytes, 32U);
}

TEST_P(FamilyDriver, P5_TheBlockIsTheOneWithMostThreadsResident) {
  const auto executable = built();
  EXPECT_EQ(executable->max_threads_per_block(), subject_.max_threads);
  EXPECT_EQ(executable->spill_bytes_per_thread(), 24U);
  EXPECT_EQ(device_->preferred_block(executable.get()), 128U);
  EXPECT_EQ(device_->preferred_block(nullptr), 0U);
}

TEST_P(FamilyDriver, W14_AWriteHasReadTheBytesWhenItReturns) {
  const runtime::Buffer buffer = device_->allocate(16);
  int value = 7;
  device_->write(device_->queue(), buffer, 0, &value, 4);
  value = 8;
  int back = 0;
  const auto calls = calls_of([&] { device_->read(device_->queue(), &back, buffer, 0, 4); });
  EXPECT_EQ(back, 7);
  EXPECT_EQ(calls.back(), subject_.synchronize);
  device_->release(buffer);
}

TEST_P(FamilyDriver, W73_MachineCodeIsLoadedWithoutACompilation) {
  const std::vector<std::byte> binary = built()->binary();
  const ir::Kernel kernel = scale();
  const runtime::Program program = device_->translate(kernel, {});
  const auto calls = calls_of([&] { device_->build(kernel, program, binary); });
  EXPECT_EQ(calls.front(), subject_.prefix + "ModuleLoadDataEx");
  const std::vector<std::byte> foreign(64);
  EXPECT_THROW(device_->build(kernel, program, foreign), Error);
}

TEST_P(FamilyDriver, StreamsWaitForEventsAndTimersReadThem) {
  const auto queue = device_->make_queue(1);
  const auto first = device_->make_event();
  const auto last = device_->make_event();
  EXPECT_THAT(calls_of([&] {
                device_->record(device_->queue(), *first);
                device_->wait(*queue, *first);
                device_->record(*queue, *last);
              }),
              ElementsAre(subject_.prefix + "EventRecord", subject_.prefix + "StreamWaitEvent",
                          subject_.prefix + "EventRecord"));
  EXPECT_EQ(device_->elapsed_ms(*first, *last), 1.5);
  EXPECT_TRUE(device_->reached(*last));
  const std::string query = subject_.prefix + "EventQuery";
  fake_->failing = query.c_str();
  fake_->status = 600;
  EXPECT_FALSE(device_->reached(*last));
  fake_->failing = "";
}

TEST_P(FamilyDriver, ASynchronousLaunchFailureIsJustThat) {
  const auto executable = built();
  const Error error = failure(subject_.launch, 701, [&] { launch(*executable); });
  EXPECT_EQ(error.code(), Errc::launch_failed);
  EXPECT_FALSE(error.details().may_have_started);
  EXPECT_EQ(error.backend(), subject_.backend);
  EXPECT_EQ(error.operation(), subject_.launch_spoken);
  EXPECT_THAT(error.message(), HasSubstr(subject_.error + ": as the test asked"));
  launch(*executable);
}

TEST_P(FamilyDriver, AnIllegalAddressLosesTheDevice) {
  for (int status : {700, 710, 716, 719}) {  // 710: an assertion in a kernel
    const Error error =
        failure(subject_.synchronize, status, [&] { device_->finish(device_->queue()); });
    EXPECT_EQ(error.code(), Errc::device_lost);
    EXPECT_TRUE(error.details().may_have_started);
  }
}

TEST_P(FamilyDriver, MemoryThatRunsOutIsCalledThat) {
  EXPECT_EQ(failure(subject_.allocate, 2, [&] { device_->allocate(4096); }).code(),
            Errc::out_of_memory);
  const Error error = failure("none", 0, [&] { device_->allocate(std::size_t{1} << 40); });
  EXPECT_EQ(error.code(), Errc::out_of_memory);
  EXPECT_THAT(error.message(), HasSubstr("1099511627776 bytes were asked for"));
}

TEST_P(FamilyDriver, CompilerErrorsCarryItsWords) {
  const Error error = failure(subject_.compile, 6, [&] { built(); });
  EXPECT_EQ(error.code(), Errc::compile_failed);
  EXPECT_EQ(error.log(), subject_.words);
}

TEST_P(FamilyDriver, W51_UsersOptionsMayNotRelaxFloatingPoint) {
  for (const std::vector<std::string>& relaxing : {std::vector<std::string>{"-ffast-math"},
                                                   {"-O3 -ffast-math"},
                                                   {"-ffp-contract=fast"},
                                                   {"-ffp-contract", "fast"},
                                                   {"-Xclang", "-ffp-contract=on"},
                                                   {"-mllvm", "-fp-contract=fast"},
                                                   {"-mllvm -enable-unsafe-fp-math"},
                                                   {"-fgpu-flush-denormals-to-zero"},
                                                   {"-Ofast"},
                                                   {"--use_fast_math"},
                                                   {"--fmad=true"},
                                                   {"-fmad", "true"},
                                                   {"--ftz=true"},
                                                   {"-prec-div=false"},
                                                   {"--prec-sqrt", "false"}}) {
    EXPECT_THAT(refusal(relaxing), HasSubstr("relaxes floating point")) << relaxing.back();
  }
  EXPECT_EQ(refusal({"-DN=4", "--fmad=false", "-ffp-contract", "off"}), "");
}

TEST_P(FamilyDriver, MemoryOfOtherLibrariesIsCheckedAndTaken) {
  const runtime::Buffer all = device_->adopt(0x7000, 4096);
  EXPECT_EQ(all.address, 0x7000U);
  EXPECT_EQ(all.bytes, 4096U);
  EXPECT_EQ(device_->adopt(0x7010, 16).address, 0x7010U);
  Error error = failure("none", 0, [&] { device_->adopt(0x7010, 4096); });
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("4096 bytes from 0x7010 pass the end"));
  error = failure("none", 0, [&] { device_->adopt(0x9000, 16); });
  EXPECT_EQ(error.code(), Errc::invalid_argument);
  EXPECT_THAT(error.message(), HasSubstr("0x9000 is no memory of this device"));
}

TEST_P(FamilyDriver, StreamsOfOtherLibrariesAreUsedAndLeft) {
  const int streams = fake_->streams;
  {
    const auto queue = device_->adopt_queue(0x1234);
    EXPECT_EQ(queue->native(), 0x1234U);
    const auto executable = built();
    device_->launch(*queue, *executable, {{7, 1, 1}, {128, 1, 1}, 0}, arguments());
    device_->finish(*queue);
  }
  EXPECT_EQ(fake_->streams, streams);
}

}  // namespace
}  // namespace salvo::tests
