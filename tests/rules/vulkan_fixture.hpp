// A Vulkan device opened by a test, and two kernels for it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/vulkan/vulkan_device.hpp"
#include "unit/kernel_shapes.hpp"
#include "unit/vulkan_validation.hpp"

namespace salvo::tests {

inline constexpr std::uint32_t kCount = 64;

class VulkanRules : public testing::Test {
 protected:
  using Settings = backends::vulkan::Settings;
  /// A device that submits `batch` launches at a time.
  void open(std::uint32_t batch) {
    open(Settings{.batch = batch, .validation = test::vulkan_validation()});
  }
  /// One that lacks this.
  void open(std::uint32_t batch, const backends::vulkan::Lacking& lacking) {
    open(Settings{.batch = batch, .validation = test::vulkan_validation(), .lacking = lacking});
  }
  void open(const Settings& settings) {
    auto backend = backends::vulkan::make_backend(settings);
    auto devices = backend->open();
    if (devices.empty()) GTEST_SKIP() << backend->unavailable()->reason;
    driver_ = std::move(devices.front());
    first_ = executable("first", 1);
    second_ = executable("second", 2);
  }

  void TearDown() override {
    if (!driver_) return;
    for (const runtime::Buffer buffer : buffers_) driver_->release(buffer);
    buffers_.clear();
    first_.reset();
    second_.reset();
    driver_.reset();
    // What the layers said of the device's end, too, after which no call is made.
    if (test::vulkan_validation()) {
      EXPECT_NO_THROW(backends::vulkan::Drivers::of(true).messages().check("end"));
    }
  }

  /// x[i] = x[i] * 2 + added
  std::unique_ptr<runtime::Executable> executable(const std::string& name, std::int32_t added) {
    test::Shapes k(name);
    const auto x = k.span_parameter("x", ir::Element::scalar(ir::Scalar::I32), false);
    const ir::ValueId i = k.position(ir::Op::GlobalIdx, 0);
    const ir::ValueId doubled = k.op(ir::Op::Mul, {k.load(x, i), k.constant_i32(2)});
    k.store(x, i, k.op(ir::Op::Add, {doubled, k.constant_i32(added)}));
    const ir::Kernel kernel = k.finish();
    return driver_->build(kernel, driver_->translate(kernel, {}), {});
  }

  runtime::Buffer buffer(std::uint32_t elements = kCount) {
    buffers_.push_back(driver_->allocate(elements * 4));
    return buffers_.back();
  }

  void launch(runtime::Executable& code, runtime::Buffer on, std::uint64_t first = 0,
              runtime::AccessMode access = runtime::AccessMode::read_write,
              runtime::Queue* queue = nullptr) {
    const runtime::Argument arguments[] = {
        {.buffer = on, .byte_offset = first * 4, .length = kCount, .access = access}};
    driver_->launch(queue ? *queue : driver_->queue(), code, {{1, 1, 1}, {kCount, 1, 1}, 0},
                    arguments);
  }

  std::vector<std::int32_t> read(runtime::Buffer from) {
    std::vector<std::int32_t> data(kCount);
    driver_->read(driver_->queue(), data.data(), from, 0, kCount * 4);
    return data;
  }
  void zero(runtime::Buffer to) {
    const std::vector<std::int32_t> zeros(kCount, 0);
    driver_->write(driver_->queue(), to, 0, zeros.data(), kCount * 4);
    driver_->finish(driver_->queue());
  }

  std::uint64_t submissions() const { return backends::vulkan::counters_of(*driver_).submissions; }
  std::uint64_t barriers() const { return backends::vulkan::counters_of(*driver_).barriers; }

  std::unique_ptr<runtime::DeviceDriver> driver_;
  std::unique_ptr<runtime::Executable> first_;
  std::unique_ptr<runtime::Executable> second_;
  std::vector<runtime::Buffer> buffers_;
};

}  // namespace salvo::tests
