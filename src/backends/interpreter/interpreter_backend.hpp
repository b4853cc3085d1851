// The backend that runs kernels on the host by interpreting their IR, with every check on.
// SPDX-License-Identifier: MIT
//
// It is the numeric oracle of the other backends (arithmetic.hpp says what that promises) and finds
// what a device would let pass: accesses out of bounds, reads of bytes that were never written,
// data races, barriers that some threads do not reach. Each is an Error with Errc::check_failed
// that names the kernel, its source line, the thread, the index and the memory; the launch that
// meets it ends.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "backends/interpreter/options.hpp"
#include "runtime/backend.hpp"

namespace salvo::backends::interpreter {

class InterpreterBackend final : public runtime::Backend {
 public:
  explicit InterpreterBackend(const Options& options = {}) : options_(options) {}

  std::string_view name() const noexcept override { return "Interpreter"; }
  bool is_jit() const noexcept override { return false; }
  std::vector<std::unique_ptr<runtime::DeviceDriver>> open() override;
  const std::optional<runtime::Unavailable>& unavailable() const noexcept override {
    return unavailable_;
  }

 private:
  Options options_;
  std::optional<runtime::Unavailable> unavailable_;  // never: the host is always there
};

std::unique_ptr<runtime::Backend> make_backend(const Options& options = {});

}  // namespace salvo::backends::interpreter
