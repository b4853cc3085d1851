// What the Native tests are run with: as the environment says, so that ctest can vary it.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <string>

#include "backends/native/native_backend.hpp"

namespace salvo::test {

/// SALVO_TEST_NATIVE_LLVM: a version; SALVO_TEST_NATIVE_FEATURES: those of a lesser processor;
/// SALVO_TEST_NATIVE_CHECKS: set to check bounds.
inline backends::native::Settings native_settings() {
  backends::native::Settings settings;
  if (const char* version = std::getenv("SALVO_TEST_NATIVE_LLVM")) {
    settings.llvm = static_cast<unsigned>(std::stoul(version));
  }
  if (const char* features = std::getenv("SALVO_TEST_NATIVE_FEATURES")) {
    settings.features = features;
  }
  settings.bounds_checks = std::getenv("SALVO_TEST_NATIVE_CHECKS") != nullptr;
  return settings;
}

}  // namespace salvo::test
