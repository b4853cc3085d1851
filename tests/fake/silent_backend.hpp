// A backend that takes every call and does nothing: what a test sees then is Salvo's own doing.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/backend.hpp"

namespace salvo::tests {

class SilentDevice final : public runtime::DeviceDriver {
 public:
  SilentDevice() {
    properties_.name = "silent";
    properties_.max_block = {1024, 1024, 64};
    properties_.max_grid = {0x7fffffff, 65535, 65535};
    properties_.max_threads_per_block = 1024;
    properties_.shared_bytes_per_block = 48 << 10;
    properties_.max_allocation_bytes = std::uint64_t{1} << 40;
    properties_.int64 = properties_.fp64 = true;
    properties_.exact_arithmetic = true;
  }
  const DeviceProperties& properties() const noexcept override { return properties_; }
  runtime::Buffer allocate(std::size_t bytes) override { return {++last_, bytes}; }
  void release(runtime::Buffer) noexcept override {}
  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions&) const override {
    return {kernel.name, "", {}, kernel.name};
  }
  std::unique_ptr<runtime::Executable> build(const ir::Kernel&, const runtime::Program&,
                                             std::span<const std::byte>) override {
    return std::make_unique<Code>();
  }
  std::uint32_t preferred_block(const runtime::Executable*) const override { return 256; }
  runtime::ParameterCost parameter_cost(const ir::Kernel&) const override { return {}; }
  runtime::Queue& queue() noexcept override { return queue_; }
  void launch(runtime::Queue&, runtime::Executable&, const runtime::LaunchShape&,
              std::span<const runtime::Argument>) override {
    ++launches;
  }
  void write(runtime::Queue&, runtime::Buffer, std::size_t, const void*, std::size_t) override {}
  void read(runtime::Queue&, void* target, runtime::Buffer, std::size_t,
            std::size_t bytes) override {
    std::memset(target, 0, bytes);
  }
  void copy(runtime::Queue&, runtime::Buffer, std::size_t, runtime::Buffer, std::size_t,
            std::size_t) override {}
  void submit(runtime::Queue&) override {}
  void finish(runtime::Queue&) override {}

  int launches = 0;

 private:
  struct Code final : runtime::Executable {
    std::uint32_t max_threads_per_block() const noexcept override { return 1024; }
  };
  DeviceProperties properties_;
  runtime::Queue queue_;
  std::uintptr_t last_ = 0;
};

/// Under the name of a backend whose launches are held.
class SilentBackend final : public runtime::Backend {
 public:
  std::string_view name() const noexcept override { return "HIP"; }
  bool is_jit() const noexcept override { return true; }
  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> devices;
    devices.push_back(std::make_unique<SilentDevice>());
    return devices;
  }
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  std::optional<runtime::Unavailable> unavailable_;
};

}  // namespace salvo::tests
