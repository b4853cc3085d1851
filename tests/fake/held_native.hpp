// Native under the name of a backend whose launches are held, which its own never are (W4): kernels
// that the window merges then run on it.
// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/native/native_backend.hpp"
#include "runtime/backend.hpp"
#include "salvo/salvo.hpp"
#include "unit/native_settings.hpp"

namespace salvo::tests {

class HeldNative final : public runtime::Backend {
 public:
  HeldNative() : native_(backends::native::make_backend(test::native_settings())) {}

  std::string_view name() const noexcept override { return "OpenCL"; }
  bool is_jit() const noexcept override { return true; }
  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override { return native_->open(); }
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return native_->unavailable();
  }

 private:
  const std::unique_ptr<runtime::Backend> native_;
};

/// `options` with Native, held, as the only device; none if there is no LLVM.
inline RuntimeOptions on_held_native(RuntimeOptions options) {
  options.built_in_backends = false;
  options.backends.push_back(std::make_unique<HeldNative>());
  return options;
}

}  // namespace salvo::tests
