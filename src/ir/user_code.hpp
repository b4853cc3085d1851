// Code that a program brings for an operation of its own, in the languages of backends (K11).
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "salvo/ir.hpp"

namespace salvo::ir {

/// Shared by the program's handle and the kernels that use it. What it is called and how threads
/// must reach it is fixed; its texts may be replaced, which kernels see when they are translated
/// anew (W72). Thread-safe.
class UserCode {
 public:
  UserCode(std::string name, Convergence convergence, bool pure);

  const std::string& name() const noexcept { return name_; }
  Convergence convergence() const noexcept { return convergence_; }
  /// Without effect, and the same for the same operands.
  bool is_pure() const noexcept { return pure_; }
  /// Unique in the process and never used again.
  std::uint64_t serial() const noexcept { return serial_; }

  void define(std::string backend, std::string text);
  void define_host(HostBody body);

  /// The template for a backend ("OpenCL"); nothing if it has none.
  std::optional<std::string> text(std::string_view backend) const;
  /// Empty if there is none.
  HostBody host() const;
  /// Whether a backend can run it: from its template, on the interpreter from the host's body.
  bool runs_on(std::string_view backend) const;

 private:
  const std::string name_;
  const Convergence convergence_;
  const bool pure_;
  const std::uint64_t serial_;
  mutable std::mutex lock_;
  std::map<std::string, std::string, std::less<>> texts_;
  HostBody host_;
};

/// A template with `{0}`, `{1}` ... replaced by the arguments and `{result}` by the result's name.
/// Other braces stay as they are.
std::string fill_template(std::string_view text, std::span<const std::string> arguments,
                          std::string_view result);

}  // namespace salvo::ir
