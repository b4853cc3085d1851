// A backend whose driver packs arguments and launches nothing: what is left is Salvo's own time.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda_family/cuda_family_parameters.hpp"
#include "runtime/backend.hpp"

namespace bench {

class NullDevice final : public salvo::runtime::DeviceDriver {
 public:
  NullDevice() {
    properties_.name = "null driver";
    properties_.max_block = {1024, 1024, 64};
    properties_.max_grid = {0x7fffffff, 65535, 65535};
    properties_.max_threads_per_block = 1024;
    properties_.shared_bytes_per_block = 48 << 10;
    properties_.max_allocation_bytes = std::uint64_t{1} << 40;
    properties_.parameter_bytes = 32764;
    properties_.int64 = properties_.fp64 = true;
    properties_.exact_arithmetic = true;
  }
  const salvo::DeviceProperties& properties() const noexcept override { return properties_; }
  salvo::runtime::Buffer allocate(std::size_t bytes) override {
    const std::uint64_t address = last_ += (bytes + 255) / 256 * 256;
    return {address, bytes, address};
  }
  void release(salvo::runtime::Buffer) noexcept override {}
  salvo::runtime::Program translate(const salvo::ir::Kernel& kernel,
                                    const salvo::runtime::TranslateOptions&) const override {
    return {kernel.name, "", {}, kernel.name};
  }
  std::unique_ptr<salvo::runtime::Executable> build(const salvo::ir::Kernel& kernel,
                                                    const salvo::runtime::Program&,
                                                    std::span<const std::byte>) override {
    return std::make_unique<Code>(kernel);
  }
  std::uint32_t preferred_block(const salvo::runtime::Executable*) const override { return 256; }
  salvo::runtime::ParameterCost parameter_cost(const salvo::ir::Kernel& kernel) const override {
    return salvo::backends::cuda_family::parameter_cost(kernel);
  }
  salvo::runtime::Queue& queue() noexcept override { return queue_; }
  void launch(salvo::runtime::Queue&, salvo::runtime::Executable& executable,
              const salvo::runtime::LaunchShape&,
              std::span<const salvo::runtime::Argument> arguments) override {
    auto& code = static_cast<Code&>(executable);
    if (code.layout.fill(arguments, code.block.data()) ==
        salvo::backends::cuda_family::ParameterBlock::Filled::refused) {
      throw salvo::Error(salvo::Errc::invalid_argument, "arguments of another kernel");
    }
  }
  bool takes_repeats() const noexcept override { return true; }
  void write(salvo::runtime::Queue&, salvo::runtime::Buffer, std::size_t, const void*,
             std::size_t) override {}
  void read(salvo::runtime::Queue&, void* target, salvo::runtime::Buffer, std::size_t,
            std::size_t bytes) override {
    std::memset(target, 0, bytes);
  }
  void copy(salvo::runtime::Queue&, salvo::runtime::Buffer, std::size_t, salvo::runtime::Buffer,
            std::size_t, std::size_t) override {}
  void submit(salvo::runtime::Queue&) override {}
  void finish(salvo::runtime::Queue&) override {}

 private:
  struct Code final : salvo::runtime::Executable {
    explicit Code(const salvo::ir::Kernel& kernel) : layout(kernel), block(layout.bytes()) {}
    std::uint32_t max_threads_per_block() const noexcept override { return 1024; }
    salvo::backends::cuda_family::ParameterBlock layout;
    std::vector<std::byte> block;
  };
  salvo::DeviceProperties properties_;
  salvo::runtime::Queue queue_;
  std::uint64_t last_ = 4096;
};

/// Under the name of a backend whose launches are held.
class NullBackend final : public salvo::runtime::Backend {
 public:
  std::string_view name() const noexcept override { return "HIP"; }
  bool is_jit() const noexcept override { return true; }
  std::vector<std::unique_ptr<salvo::runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<salvo::runtime::DeviceDriver>> devices;
    devices.push_back(std::make_unique<NullDevice>());
    return devices;
  }
  const std::optional<salvo::runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  std::optional<salvo::runtime::Unavailable> unavailable_;
};

}  // namespace bench
