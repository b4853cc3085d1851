// Native as if its launches were held, which they never are (W4): kernels that the window merges
// then run on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/native/native_backend.hpp"
#include "runtime/backend.hpp"
#include "salvo/salvo.hpp"
#include "unit/native_settings.hpp"

namespace salvo::tests {

/// Hands calls on. Its memory is apart from the host's, as that of devices with held launches is:
/// what a program writes meanwhile must not reach a launch that came before.
class HeldNativeDevice final : public runtime::DeviceDriver {
 public:
  explicit HeldNativeDevice(std::unique_ptr<runtime::DeviceDriver> native)
      : native_(std::move(native)) {}

  const DeviceProperties& properties() const noexcept override { return native_->properties(); }
  runtime::Buffer allocate(std::size_t bytes) override { return native_->allocate(bytes); }
  void release(runtime::Buffer buffer) noexcept override { native_->release(buffer); }
  runtime::Program translate(const ir::Kernel& kernel,
                             const runtime::TranslateOptions& options) const override {
    return native_->translate(kernel, options);
  }
  std::unique_ptr<runtime::Executable> build(const ir::Kernel& kernel,
                                             const runtime::Program& program,
                                             std::span<const std::byte> cached) override {
    return native_->build(kernel, program, cached);
  }
  std::string build_identity() const override { return native_->build_identity(); }
  std::uint32_t preferred_block(const runtime::Executable* executable) const override {
    return native_->preferred_block(executable);
  }
  runtime::ParameterCost parameter_cost(const ir::Kernel& kernel) const override {
    return native_->parameter_cost(kernel);
  }
  runtime::Queue& queue() noexcept override { return native_->queue(); }
  void launch(runtime::Queue& queue, runtime::Executable& executable,
              const runtime::LaunchShape& shape,
              std::span<const runtime::Argument> arguments) override {
    native_->launch(queue, executable, shape, arguments);
  }
  void write(runtime::Queue& queue, runtime::Buffer to, std::size_t offset, const void* source,
             std::size_t bytes) override {
    native_->write(queue, to, offset, source, bytes);
  }
  void read(runtime::Queue& queue, void* target, runtime::Buffer from, std::size_t offset,
            std::size_t bytes) override {
    native_->read(queue, target, from, offset, bytes);
  }
  void copy(runtime::Queue& queue, runtime::Buffer to, std::size_t to_offset, runtime::Buffer from,
            std::size_t from_offset, std::size_t bytes) override {
    native_->copy(queue, to, to_offset, from, from_offset, bytes);
  }
  void submit(runtime::Queue& queue) override { native_->submit(queue); }
  void finish(runtime::Queue& queue) override { native_->finish(queue); }

 private:
  const std::unique_ptr<runtime::DeviceDriver> native_;
};

/// Under the name of a backend whose launches are held.
class HeldNative final : public runtime::Backend {
 public:
  HeldNative() : native_(backends::native::make_backend(test::native_settings())) {}

  std::string_view name() const noexcept override { return "OpenCL"; }
  bool is_jit() const noexcept override { return true; }
  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override {
    std::vector<std::unique_ptr<runtime::DeviceDriver>> devices;
    for (auto& device : native_->open()) {
      devices.push_back(std::make_unique<HeldNativeDevice>(std::move(device)));
    }
    return devices;
  }
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return native_->unavailable();
  }

 private:
  const std::unique_ptr<runtime::Backend> native_;
};

/// `options` with Native, held, as the only device; none if there is no LLVM.
inline RuntimeOptions on_held_native(RuntimeOptions options) {
  options.built_in_backends = false;
  options.own.list.push_back(std::make_unique<HeldNative>());
  return options;
}

}  // namespace salvo::tests
