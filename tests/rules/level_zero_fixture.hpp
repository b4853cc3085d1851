// What tests on the stand-in Level Zero driver share.
// SPDX-License-Identifier: MIT
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/level_zero/level_zero_backend.hpp"
#include "drivers/level_zero/control.hpp"
#include "runtime/backend.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::tests {

/// The stand-in driver, if the loader is told of it; null where tests run without.
inline test::level_zero::Control* find_level_zero() {
  const char* path = std::getenv("ZE_ENABLE_ALT_DRIVERS");
  void* library = path ? dlopen(path, RTLD_NOW) : nullptr;
  void* found = library ? dlsym(library, test::level_zero::kFindControl) : nullptr;
  return found ? reinterpret_cast<test::level_zero::FindControl*>(found)() : nullptr;
}

/// A device of the stand-in driver, opened anew for each test.
class LevelZeroRules : public testing::Test {
 protected:
  static constexpr std::uint32_t kCount = 256;

  void SetUp() override {
    control_ = find_level_zero();
    if (!control_) GTEST_SKIP() << "ZE_ENABLE_ALT_DRIVERS names no stand-in driver";
    first_ = control_->knobs();
    open({});
  }
  void TearDown() override {
    if (!control_) return;
    device_.reset();
    control_->knobs() = first_;
    EXPECT_EQ(control_->misuse(), std::vector<std::string>{});
  }

  void open(const backends::level_zero::Settings& settings) {
    device_.reset();
    backend_ = backends::level_zero::make_backend(settings);
    auto devices = backend_->open();
    if (!devices.empty()) device_ = std::move(devices.front());
  }

  /// x[i] = x[i] * by + plus
  static ir::Kernel linear() {
    test::Shapes k("linear");
    const auto x = k.span_parameter("x", ir::Element::scalar(ir::Scalar::I32), false);
    const auto by = k.scalar_parameter("by", ir::Scalar::I32);
    const auto plus = k.scalar_parameter("plus", ir::Scalar::I64);
    const ir::ValueId i = k.position(ir::Op::GlobalIdx, 0);
    const ir::ValueId product = k.op(ir::Op::Mul, {k.load(x, i), k.param(by)});
    k.store(x, i, k.op(ir::Op::Add, {product, k.cast(ir::Scalar::I32, k.param(plus))}));
    return k.finish();
  }
  std::unique_ptr<runtime::Executable> built(const ir::Kernel& kernel) {
    return device_->build(kernel, device_->translate(kernel, {}), {});
  }
  runtime::Buffer ones() {
    const std::vector<std::int32_t> data(kCount, 1);
    const runtime::Buffer buffer = device_->allocate(kCount * 4);
    device_->write(device_->queue(), buffer, 0, data.data(), kCount * 4);
    return buffer;
  }
  std::vector<std::int32_t> contents(runtime::Queue& queue, runtime::Buffer buffer) {
    std::vector<std::int32_t> data(kCount);
    device_->read(queue, data.data(), buffer, 0, kCount * 4);
    return data;
  }
  void launch(runtime::Queue& queue, runtime::Executable& executable, runtime::Buffer buffer,
              std::uint32_t by, std::uint64_t plus, std::uint32_t block = 64) {
    const runtime::Argument arguments[] = {
        {.buffer = buffer, .length = kCount}, {.bits = by}, {.bits = plus}};
    device_->launch(queue, executable, {{kCount / block, 1, 1}, {block, 1, 1}, 0}, arguments);
  }

  test::level_zero::Control* control_ = nullptr;
  test::level_zero::Knobs first_;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<runtime::DeviceDriver> device_;
};

}  // namespace salvo::tests
