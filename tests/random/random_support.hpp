// What random programs share: their source of chance, how many there are, and what they ran.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <string_view>

#include "salvo/salvo.hpp"

namespace salvo::tests {

/// The same sequence for a seed on every platform.
class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int below(int n) { return static_cast<int>(engine_() % static_cast<unsigned>(n)); }
  bool one_in(int n) { return below(n) == 0; }

 private:
  std::mt19937 engine_;
};

/// SALVO_TEST_PROGRAMS programs are run, with seeds from SALVO_TEST_SEED (0) on.
inline int programs(int usual) {
  const char* wanted = std::getenv("SALVO_TEST_PROGRAMS");
  return wanted ? std::atoi(wanted) : usual;
}
inline unsigned first_seed() {
  const char* wanted = std::getenv("SALVO_TEST_SEED");
  return wanted ? static_cast<unsigned>(std::strtoul(wanted, nullptr, 10)) : 0;
}

/// A runtime that reads no environment variable.
inline RuntimeOptions own_environment() {
  RuntimeOptions options;
  options.environment = [](const char*) { return nullptr; };
  return options;
}

/// One that reads those that hide backends, and the one that asks for Vulkan's validation layers.
inline RuntimeOptions environment_of_devices() {
  RuntimeOptions options;
  options.environment = [](const char* name) -> const char* {
    const std::string_view wanted = name;
    const bool passes = wanted.starts_with("SALVO_DISABLE_") || wanted == "SALVO_VULKAN_VALIDATION";
    return passes ? std::getenv(name) : nullptr;
  };
  return options;
}

/// What became of a series, for the record of the test and, of a long one, on its output.
class Tally {
 public:
  /// `what` says what the programs are counted for.
  explicit Tally(std::string name, std::string what = "merged")
      : name_(std::move(name)), what_(std::move(what)) {}
  int programs = 0;
  int counted = 0;

  void report() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start_;
    const unsigned last = first_seed() + static_cast<unsigned>(programs) - 1;
    ::testing::Test::RecordProperty(name_ + "_programs", programs);
    ::testing::Test::RecordProperty(name_ + "_" + what_, counted);
    if (std::getenv("SALVO_TEST_PROGRAMS")) {
      std::printf("%s: seeds %u to %u, %d %s of %d, %.1f s\n", name_.c_str(), first_seed(), last,
                  counted, what_.c_str(), programs, spent.count());
    }
  }

 private:
  std::string name_, what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace salvo::tests
