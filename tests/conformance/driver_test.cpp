// What the runtime relies on beyond results: properties, transfers, binaries, errors.
// SPDX-License-Identifier: MIT
#include <bit>
#include <limits>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/kernels.hpp"

namespace salvo::conformance {
namespace {

using runtime::Buffer;

class Driver : public OnDevice {
 protected:
  static ir::Kernel add_one() {
    Shapes k("add_one");
    const auto x = k.span_parameter("x", ir::Element::scalar(Scalar::I32), false);
    const auto n = k.scalar_parameter("n", Scalar::I32);
    guarded(k, n, [&](ValueId i) {
      k.store(x, i, k.op(Op::Add, {k.load(x, i), k.constant_i32(1)}));
    });
    return k.finish();
  }

  std::vector<std::int32_t> launch(runtime::Executable& executable, std::int32_t count) {
    std::vector<std::int32_t> data(static_cast<std::size_t>(count));
    std::iota(data.begin(), data.end(), 0);
    const Buffer buffer = driver().allocate(data.size() * 4);
    driver().write(driver().queue(), buffer, 0, data.data(), data.size() * 4);
    const runtime::Argument arguments[] = {
        {.buffer = buffer, .length = data.size()},
        {.bits = static_cast<std::uint32_t>(count)},
    };
    driver().launch(driver().queue(), executable, over(static_cast<std::uint32_t>(count)),
                    arguments);
    driver().read(driver().queue(), data.data(), buffer, 0, data.size() * 4);
    driver().release(buffer);
    return data;
  }

  static std::vector<std::int32_t> one_more(std::int32_t count) {
    std::vector<std::int32_t> data(static_cast<std::size_t>(count));
    std::iota(data.begin(), data.end(), 1);
    return data;
  }
};
SALVO_ON_DEVICES(Driver);

TEST(Backends, EachHasADeviceOrSaysWhyNot) {
  for (const std::string& backend : missing()) {
    SCOPED_TRACE(backend);
    EXPECT_GT(backend.size(), backend.find(':') + 10) << "no reason is given";
  }
  EXPECT_GT(subjects().size() + missing().size(), 0u);
}

TEST_P(Driver, PropertiesAreThoseOfARealDevice) {
  const DeviceProperties& is = driver().properties();
  EXPECT_FALSE(is.name.empty());
  EXPECT_FALSE(is.driver_version.empty());
  EXPECT_GT(is.memory_bytes, 1u << 20);
  EXPECT_LE(is.max_allocation_bytes, is.memory_bytes);
  EXPECT_GE(is.max_threads_per_block, 64u);
  EXPECT_GE(is.max_block[0], 64u);
  EXPECT_GE(is.max_grid[0], 65535u);
  EXPECT_GE(is.shared_bytes_per_block, 16u << 10);
  EXPECT_GE(is.compute_units, 1u);
  EXPECT_TRUE(std::has_single_bit(is.store_unit_bytes));
}

TEST_P(Driver, PreferredBlocksArePowersOfTwoWithinTheLimits) {
  const ir::Kernel kernel = add_one();
  const auto executable = driver().build(kernel, driver().translate(kernel, {}), {});
  for (const runtime::Executable* which :
       {static_cast<runtime::Executable*>(nullptr), executable.get()}) {
    const std::uint32_t block = driver().preferred_block(which);
    if (!which && block == 0) continue;  // it depends on the kernel
    EXPECT_TRUE(std::has_single_bit(block)) << block;
    EXPECT_LE(block, driver().properties().max_threads_per_block);
    if (which) {
      EXPECT_LE(block, which->max_threads_per_block());
    }
  }
}

TEST_P(Driver, TransfersMoveRanges) {
  auto& queue = driver().queue();
  const Buffer a = driver().allocate(100);
  const Buffer b = driver().allocate(64);
  std::vector<std::uint8_t> data(100);
  std::iota(data.begin(), data.end(), std::uint8_t{0});
  driver().write(queue, a, 0, data.data(), data.size());
  const std::uint8_t patch[3] = {200, 201, 202};
  driver().write(queue, a, 41, patch, 3);
  driver().copy(queue, b, 7, a, 40, 9);
  std::vector<std::uint8_t> got(5);
  driver().read(queue, got.data(), b, 7, got.size());
  EXPECT_EQ(got, (std::vector<std::uint8_t>{40, 200, 201, 202, 44}));
  driver().write(queue, a, 100, patch, 0);
  driver().read(queue, got.data(), a, 100, 0);
  driver().release(a);
  driver().release(b);
}

TEST_P(Driver, TranslationIsPure) {
  const ir::Kernel kernel = add_one();
  const runtime::Program first = driver().translate(kernel, {});
  const runtime::Program second = driver().translate(kernel, {});
  EXPECT_EQ(first.code, second.code);
  EXPECT_EQ(first.options, second.options);
  EXPECT_EQ(first.name, "add_one");
}

TEST_P(Driver, BinariesReplaceTheCompiler) {
  const ir::Kernel kernel = add_one();
  const runtime::Program program = driver().translate(kernel, {});
  const auto compiled = driver().build(kernel, program, {});
  const std::vector<std::byte> binary = compiled->binary();
  if (binary.empty()) GTEST_SKIP() << "the driver gives no binary";
  runtime::Program without_source = program;
  without_source.code.clear();
  const auto loaded = driver().build(kernel, without_source, binary);
  EXPECT_EQ(launch(*loaded, 100), one_more(100));
}

TEST_P(Driver, BadBinariesAreRefused) {
  const ir::Kernel kernel = add_one();
  const runtime::Program program = driver().translate(kernel, {});
  if (driver().build(kernel, program, {})->binary().empty()) {
    GTEST_SKIP() << "the driver gives no binary";
  }
  const std::vector<std::byte> junk(1000, std::byte{0x5a});
  try {
    driver().build(kernel, program, junk);
    FAIL() << "junk was taken for a binary";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::compile_failed) << error.what();
    EXPECT_EQ(error.backend(), subject().backend);
  }
}

TEST_P(Driver, CompilerErrorsCarryTheLog) {
  const ir::Kernel kernel = add_one();
  runtime::Program program = driver().translate(kernel, {});
  program.code = "this_is_no_program in_any_language;";
  try {
    driver().build(kernel, program, {});
    FAIL() << "nonsense was compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::compile_failed) << error.what();
    EXPECT_EQ(error.backend(), subject().backend);
    EXPECT_FALSE(error.operation().empty());
    EXPECT_THAT(error.log(), testing::HasSubstr("this_is_no_program"));
  }
}

TEST_P(Driver, ImpossibleAllocationsAreOutOfMemory) {
  try {
    driver().allocate(std::numeric_limits<std::size_t>::max() / 4);
    FAIL() << "memory without end was allocated";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::out_of_memory) << error.what();
    EXPECT_EQ(error.backend(), subject().backend);
  }
}

TEST_P(Driver, WrongArgumentCountsAreRefused) {
  const ir::Kernel kernel = add_one();
  const auto executable = driver().build(kernel, driver().translate(kernel, {}), {});
  EXPECT_THROW(driver().launch(driver().queue(), *executable, over(1), {}), Error);
}

TEST_P(Driver, BlocksOfThePreferredSizeCoverLargeRanges) {
  const ir::Kernel kernel = add_one();
  const auto executable = driver().build(kernel, driver().translate(kernel, {}), {});
  constexpr std::int32_t kCount = 100'003;
  std::vector<std::int32_t> data(kCount);
  std::iota(data.begin(), data.end(), 0);
  const Buffer buffer = driver().allocate(data.size() * 4);
  driver().write(driver().queue(), buffer, 0, data.data(), data.size() * 4);
  const runtime::Argument arguments[] = {{.buffer = buffer, .length = data.size()},
                                         {.bits = kCount}};
  driver().launch(driver().queue(), *executable,
                  over(kCount, driver().preferred_block(executable.get())), arguments);
  driver().submit(driver().queue());
  driver().finish(driver().queue());
  driver().read(driver().queue(), data.data(), buffer, 0, data.size() * 4);
  driver().release(buffer);
  EXPECT_EQ(data, one_more(kCount));
}

TEST_P(Driver, LaunchesOfAQueueRunInOrder) {
  const ir::Kernel kernel = add_one();
  const auto executable = driver().build(kernel, driver().translate(kernel, {}), {});
  const std::vector<std::int32_t> zero(1000, 0);
  const Buffer buffer = driver().allocate(4000);
  driver().write(driver().queue(), buffer, 0, zero.data(), 4000);
  const runtime::Argument arguments[] = {{.buffer = buffer, .length = 1000}, {.bits = 1000}};
  for (int i = 0; i < 50; ++i) {
    driver().launch(driver().queue(), *executable, over(1000), arguments);
  }
  std::vector<std::int32_t> data(1000);
  driver().read(driver().queue(), data.data(), buffer, 0, 4000);
  driver().release(buffer);
  EXPECT_THAT(data, testing::Each(50));
}

TEST_P(Driver, KernelsAreBuiltFromSeveralThreads) {
  std::vector<std::unique_ptr<runtime::Executable>> built(4);
  {
    std::vector<std::jthread> threads;
    for (auto& executable : built) {
      threads.emplace_back([&] {
        const ir::Kernel kernel = add_one();
        executable = driver().build(kernel, driver().translate(kernel, {}), {});
      });
    }
  }
  for (const auto& executable : built) EXPECT_EQ(launch(*executable, 65), one_more(65));
}

}  // namespace
}  // namespace salvo::conformance
