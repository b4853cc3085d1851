// The backend interface: memory, transfers, launches, and blocks that run at the same time.
// SPDX-License-Identifier: MIT
#include "backends/interpreter/interpreter_backend.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "backends/interpreter/lanes.hpp"
#include "unit/interpreter_support.hpp"

namespace salvo::backends::interpreter {
namespace {

using ir::Element;
using ir::Op;
using ir::Scalar;
using ir::ValueId;
using runtime::Argument;
using runtime::Buffer;

class InterpreterBackendTest : public ::testing::Test {
 protected:
  explicit InterpreterBackendTest(const Options& options = {})
      : backend_(options), devices_(backend_.open()), device_(*devices_.at(0)) {}

  template <class T>
  Buffer upload(const std::vector<T>& values) {
    const Buffer buffer = device_.allocate(values.size() * sizeof(T));
    device_.write(device_.queue(), buffer, 0, values.data(), buffer.bytes);
    return buffer;
  }

  template <class T>
  std::vector<T> download(Buffer buffer) {
    std::vector<T> values(buffer.bytes / sizeof(T));
    device_.read(device_.queue(), values.data(), buffer, 0, buffer.bytes);
    return values;
  }

  void launch(const ir::Kernel& kernel, const runtime::LaunchShape& launch_shape,
              const std::vector<Argument>& arguments) {
    const auto executable = device_.build(kernel, device_.translate(kernel, {}), {});
    device_.launch(device_.queue(), *executable, launch_shape, arguments);
  }

  InterpreterBackend backend_;
  std::vector<std::unique_ptr<runtime::DeviceDriver>> devices_;
  runtime::DeviceDriver& device_;
};

/// y[i] = a * x[i] + y[i] where i is inside.
ir::Kernel saxpy() {
  test::Shapes b = kernel_named("saxpy");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::F32), true);
  const auto y = b.span_parameter("y", Element::scalar(Scalar::F32), false);
  const auto a = b.scalar_parameter("a", Scalar::F32);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.if_else(b.op(Op::Lt, {b.cast(Scalar::I64, i), b.length(x)}), [&] {
    b.store(y, i, b.op(Op::Fma, {b.param(a), b.load(x, i), b.load(y, i)}));
  });
  return b.finish();
}

TEST_F(InterpreterBackendTest, NamesItselfAndIsAlwaysThere) {
  EXPECT_EQ(backend_.name(), "Interpreter");
  EXPECT_FALSE(backend_.is_jit());
  EXPECT_FALSE(backend_.unavailable().has_value());
  ASSERT_EQ(devices_.size(), 1u);
  const DeviceProperties& properties = device_.properties();
  EXPECT_EQ(properties.name, "Interpreter");
  EXPECT_TRUE(properties.is_cpu);
  EXPECT_TRUE(properties.fp64 && properties.fp16_storage && properties.int64);
  EXPECT_TRUE(properties.atomics_i64 && properties.atomics_f32 && properties.atomics_f64);
  EXPECT_TRUE(properties.warp_operations && properties.fast_fma);
  EXPECT_EQ(properties.warp_size, 32u);
  EXPECT_EQ(properties.max_threads_per_block, 1024u);
  EXPECT_EQ(properties.shared_bytes_per_block, 65536u);
  EXPECT_GT(properties.memory_bytes, 0u);
  EXPECT_EQ(device_.preferred_block(nullptr), 256u);
}

TEST_F(InterpreterBackendTest, LaunchesOnViewsOfBuffers) {
  const Buffer x = upload<float>({1, 2, 3, 4});
  const Buffer y = upload<float>({10, 20, 30, 40});
  launch(saxpy(), shape(1, 4),
         {Argument{x, 4, 2, 0}, Argument{y, 8, 2, 0}, Argument{{}, 0, 0, to_slot(100.0f)}});
  EXPECT_EQ(download<float>(y), (std::vector<float>{10, 20, 230, 340}));
  device_.release(x);
  device_.release(y);
}

TEST_F(InterpreterBackendTest, TranslatesToThePrintedIr) {
  const runtime::Program program = device_.translate(saxpy(), {});
  EXPECT_EQ(program.entry, "saxpy");
  EXPECT_EQ(program.name, "saxpy");
  EXPECT_NE(program.code.find("fma"), std::string::npos);
  EXPECT_TRUE(program.options.empty());
}

TEST_F(InterpreterBackendTest, BuildRefusesAMalformedKernel) {
  ir::Kernel kernel = saxpy();
  for (ir::Node& node : kernel.nodes) {
    if (node.op == Op::Fma) node.type = Scalar::I32;
  }
  try {
    device_.build(kernel, {}, {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::invalid_kernel);
    EXPECT_EQ(error.kernel(), "saxpy");
    EXPECT_NE(error.message().find("fma"), std::string::npos) << error.message();
  }
}

TEST_F(InterpreterBackendTest, CopiesCarryWhatWasWritten) {
  const Buffer source = device_.allocate(16);
  const Buffer target = device_.allocate(16);
  const std::int32_t two[] = {5, 6};
  device_.write(device_.queue(), source, 0, two, sizeof two);
  device_.copy(device_.queue(), target, 4, source, 0, 12);

  test::Shapes b = kernel_named("touch");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), true);
  b.load(x, b.op(Op::Add, {b.position(Op::BlockIdx, 0), b.constant_i32(1)}));
  const ir::Kernel touch = b.finish();
  launch(touch, shape(2, 1), {Argument{target, 0, 4, 0}});
  try {
    launch(touch, shape(3, 1), {Argument{target, 0, 4, 0}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "uninitialised read of x[3] (of 4 elements), by thread (0,0,0) of block (2,0,0)");
  }
  EXPECT_EQ(download<std::int32_t>(target)[1], 5);
  device_.release(source);
  device_.release(target);
}

TEST_F(InterpreterBackendTest, LaunchesAreOrdered) {
  // Every thread writes what a thread of another block read in the launch before.
  test::Shapes b = kernel_named("rotate");
  const auto from = b.span_parameter("from", Element::scalar(Scalar::I32), true);
  const auto to = b.span_parameter("to", Element::scalar(Scalar::I32), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  const ValueId next = b.op(Op::Rem, {b.op(Op::Add, {i, b.constant_i32(1)}), b.constant_i32(8)});
  b.store(to, i, b.load(from, next));
  const ir::Kernel rotate = b.finish();
  const Buffer x = upload<std::int32_t>({0, 1, 2, 3, 4, 5, 6, 7});
  const Buffer y = device_.allocate(32);
  for (int round = 0; round < 2; ++round) {
    launch(rotate, shape(4, 2), {Argument{x, 0, 8, 0}, Argument{y, 0, 8, 0}});
    launch(rotate, shape(4, 2), {Argument{y, 0, 8, 0}, Argument{x, 0, 8, 0}});
  }
  EXPECT_EQ(download<std::int32_t>(x), (std::vector<std::int32_t>{4, 5, 6, 7, 0, 1, 2, 3}));
  device_.release(x);
  device_.release(y);
}

TEST_F(InterpreterBackendTest, ALaunchAfterAFaultStartsAfresh) {
  test::Shapes b = kernel_named("clash");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
  b.store(x, b.constant_i32(0), b.position(Op::GlobalIdx, 0));
  const ir::Kernel clash = b.finish();
  const Buffer buffer = upload<std::int32_t>({9});
  EXPECT_THROW(launch(clash, shape(3, 1), {Argument{buffer, 0, 1, 0}}), Error);
  launch(clash, shape(1, 1), {Argument{buffer, 0, 1, 0}});
  launch(clash, shape(1, 1), {Argument{buffer, 0, 1, 0}});
  EXPECT_EQ(download<std::int32_t>(buffer), (std::vector<std::int32_t>{0}));
  device_.release(buffer);
}

TEST_F(InterpreterBackendTest, TransfersStayInsideTheBuffer) {
  const Buffer buffer = device_.allocate(8);
  char bytes[16] = {};
  try {
    device_.write(device_.queue(), buffer, 4, bytes, 8);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::transfer_failed);
    EXPECT_EQ(error.operation(), "write");
    EXPECT_EQ(error.message(), "8 bytes from byte 4 on, of a buffer of 8 bytes");
  }
  EXPECT_THROW(device_.read(device_.queue(), bytes, buffer, 9, 1), Error);
  EXPECT_THROW(device_.copy(device_.queue(), buffer, 0, Buffer{}, 0, 1), Error);
  device_.release(buffer);
}

TEST_F(InterpreterBackendTest, TooMuchMemoryIsAnError) {
  try {
    device_.allocate(~std::size_t{0} / 2);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::out_of_memory);
  }
}

/// Blocks of 64 threads that read a stencil, meet at a barrier, and count with atomics.
ir::Kernel busy_kernel() {
  test::Shapes b = kernel_named("busy");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::F32), true);
  const auto y = b.span_parameter("y", Element::scalar(Scalar::F32), false);
  const auto bins = b.span_parameter("bins", Element::scalar(Scalar::U32), false);
  const auto tile = b.shared_array("tile", Element::scalar(Scalar::F32), 64);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  const ValueId t = b.position(Op::ThreadIdx, 0);
  b.store(tile, t, b.op(Op::Sin, {b.load(x, i)}));
  b.statement(Op::Barrier);
  const ValueId mirror = b.op(Op::Sub, {b.constant_i32(63), t});
  const ValueId sum = b.op(Op::Add, {b.load(tile, t), b.load(tile, mirror)});
  b.store(y, i, sum);
  const ValueId bin =
      b.op(Op::And, {b.cast(Scalar::I32, b.op(Op::Mul, {sum, b.load(x, i)})), b.constant_i32(15)});
  b.atomic(Op::AtomicAdd, bins, {bin, b.constant(Scalar::U32, 1)});
  return b.finish();
}

TEST(InterpreterWorkers, GiveTheSameBitsAsOne) {
  std::vector<float> x(64 * 100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.37f;
  std::vector<float> first(x.size());
  std::vector<std::uint32_t> first_bins(16);
  run_sound(busy_kernel(), shape(100, 64), {on(x), unwritten(first), on(first_bins)});
  EXPECT_EQ(std::accumulate(first_bins.begin(), first_bins.end(), 0u), x.size());
  for (const std::uint32_t workers : {0u, 2u, 7u}) {
    Options options;
    options.workers = workers;
    std::vector<float> y(x.size());
    std::vector<std::uint32_t> bins(16);
    run_sound(busy_kernel(), shape(100, 64), {on(x), unwritten(y), on(bins)}, options);
    EXPECT_EQ(y, first);
    EXPECT_EQ(bins, first_bins);
  }
}

TEST(InterpreterWorkers, LeaveMemoryAsOneDoesWhenTheyFindAFault) {
  // Blocks 40 and up write past the end; all before them have stored by then.
  test::Shapes b = kernel_named("tail");
  const auto x = b.span_parameter("x", Element::scalar(Scalar::I32), false);
  const ValueId i = b.position(Op::GlobalIdx, 0);
  b.store(x, i, b.op(Op::Add, {b.load(x, i), b.constant_i32(1)}));
  const ir::Kernel kernel = b.finish();
  const std::string expected =
      "line 1: read of x[320] past its 320 elements, by thread (0,0,0) of block (40,0,0)";
  for (const std::uint32_t workers : {1u, 4u}) {
    Options options;
    options.workers = workers;
    std::vector<std::int32_t> values(320, 5);
    EXPECT_EQ(fault_of(kernel, shape(60, 8), {on(values)}, options), expected);
    EXPECT_EQ(values, std::vector<std::int32_t>(320, 6));
  }
}

}  // namespace
}  // namespace salvo::backends::interpreter
