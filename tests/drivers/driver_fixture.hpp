// A backend on a stand-in driver, shared by the tests of all drivers that are shaped like CUDA's.
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "drivers/stand_in.hpp"
#include "runtime/backend.hpp"
#include "salvo/error.hpp"

namespace salvo::tests {

/// A backend with the stand-ins that it runs on, and what they are called.
struct Subject {
  std::string label;     // of the test
  std::string backend;   // "CUDA/PTX"
  std::string language;  // of user source
  std::vector<std::string> libraries;
  std::string driver;    // the stand-in's name in one of them
  std::string compiler;  // likewise; that of the driver where it compiles too
  std::unique_ptr<runtime::Backend> (*make)();
  std::string prefix;         // of the driver's functions
  std::string launch;         // the driver's functions, as it calls them
  std::string launch_spoken;  // and as messages do
  std::string allocate;
  std::string synchronize;
  std::string compile;  // fails with the log `words`
  std::string words;
  std::string error;              // in the driver's words
  std::uint32_t max_threads = 0;  // of a kernel
};

void PrintTo(const Subject& subject, std::ostream* out);

/// Skipped where the stand-ins are not in LD_LIBRARY_PATH. At the end nothing may be left over.
class DriverFixture : public testing::Test {
 protected:
  explicit DriverFixture(const Subject& subject) : subject_(subject) {}

  void SetUp() override;
  void TearDown() override;

  static ir::Kernel scale();
  std::unique_ptr<runtime::Executable> built(const runtime::TranslateOptions& options = {});
  static std::vector<runtime::Argument> arguments();
  void launch(runtime::Executable& executable);
  /// What `work` calls of the driver and its compiler, but for the questions which device or
  /// context is current.
  std::vector<std::string> calls_of(const std::function<void()>& work);
  /// What `call` throws while `function` returns `status`.
  Error failure(const std::string& function, int status, const std::function<void()>& call);
  /// What `build_source` says against `options`; empty where it takes them.
  std::string refusal(std::vector<std::string> options);

  const Subject subject_;
  StandIn* fake_ = nullptr;
  StandIn* compiler_ = nullptr;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<runtime::DeviceDriver> device_;
};

/// The tests that every such backend passes; a program instantiates it for its own.
class FamilyDriver : public DriverFixture, public testing::WithParamInterface<Subject> {
 protected:
  FamilyDriver() : DriverFixture(GetParam()) {}
};

}  // namespace salvo::tests
