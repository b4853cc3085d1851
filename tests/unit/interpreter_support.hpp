// Runs hand-built kernels on the interpreter and collects the fault, for its tests.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "backends/interpreter/launch.hpp"
#include "ir/verify.hpp"
#include "unit/kernel_shapes.hpp"

namespace salvo::backends::interpreter {

/// A kernel builder whose nodes lie at line 1 of a file, until the test sets another.
inline test::Shapes kernel_named(std::string name) {
  test::Shapes b(std::move(name));
  b.at("src/demo.cpp", 1);
  return b;
}

inline runtime::LaunchShape shape(std::uint32_t blocks, std::uint32_t threads) {
  return {{blocks, 1, 1}, {threads, 1, 1}, 0};
}

template <class T>
HostArgument on(std::vector<T>& elements) {
  return HostArgument::of(std::span<T>(elements));
}

template <class T>
HostArgument unwritten(std::vector<T>& elements) {
  return HostArgument::of(std::span<T>(elements), false);
}

inline void run_sound(const ir::Kernel& kernel, const runtime::LaunchShape& launch_shape,
                      const std::vector<HostArgument>& arguments, const Options& options = {}) {
  ASSERT_EQ(ir::verify(kernel), std::vector<std::string>{});
  run(kernel, launch_shape, arguments, options);
}

/// The message and line of the fault that the kernel must have; checks what every fault carries.
inline std::string fault_of(const ir::Kernel& kernel, const runtime::LaunchShape& launch_shape,
                            const std::vector<HostArgument>& arguments,
                            const Options& options = {}) {
  EXPECT_EQ(ir::verify(kernel), std::vector<std::string>{});
  try {
    run(kernel, launch_shape, arguments, options);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::check_failed);
    EXPECT_EQ(error.backend(), "Interpreter");
    EXPECT_EQ(error.operation(), "launch");
    EXPECT_EQ(error.kernel(), kernel.name);
    EXPECT_EQ(error.kernel_location().file, "src/demo.cpp");
    return "line " + std::to_string(error.kernel_location().line) + ": " + error.message();
  }
  return "no fault";
}

}  // namespace salvo::backends::interpreter
