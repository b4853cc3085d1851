// One test body for all devices: the recording one and each real one that compiles kernels.
// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "salvo/salvo.hpp"

namespace salvo::tests {

inline constexpr const char* kRecording = "Recording";

/// Ids of the devices whose launches may be held.
inline std::vector<std::string> deferred_devices() {
  std::vector<std::string> ids;
  for (const Device& device : Device::all()) {
    if (window::defers(device.backend())) ids.push_back(device.id());
  }
  return ids;
}

/// Ids of a backend's devices; none where it is not available.
inline std::vector<std::string> devices_of(std::string_view backend) {
  std::vector<std::string> ids;
  for (const Device& device : Device::by_backend(backend)) ids.push_back(device.id());
  return ids;
}

/// What the programs of the running test are run on.
inline std::string& subject() {
  static std::string id = kRecording;
  return id;
}

/// Tests of suites derived from this run once for each subject; helpers ask `subject()`.
class OnEachSubject : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { subject() = GetParam(); }
  void TearDown() override { subject() = kRecording; }
};

inline std::vector<std::string> subjects(const std::string& first) {
  std::vector<std::string> all = deferred_devices();
  all.insert(all.begin(), first);
  return all;
}

inline std::string subject_label(const ::testing::TestParamInfo<std::string>& info) {
  std::string label = info.param;
  std::erase_if(label, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); });
  return label;
}

}  // namespace salvo::tests

/// Instantiates a suite derived from OnEachSubject; `first` stands before the real devices.
#define SALVO_ON_SUBJECTS(suite, first) \
  INSTANTIATE_TEST_SUITE_P(On, suite, ::testing::ValuesIn(subjects(first)), subject_label)
