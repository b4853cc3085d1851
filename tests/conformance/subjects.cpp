// The devices that the conformance suite runs on.
// SPDX-License-Identifier: MIT
#include "conformance/subjects.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>

#include "backends/cuda/cuda_backend.hpp"
#include "backends/hip/hip_backend.hpp"
#include "backends/interpreter/interpreter_backend.hpp"
#include "backends/level_zero/level_zero_backend.hpp"
#include "backends/metal/metal_backend.hpp"
#include "backends/native/native_backend.hpp"
#include "backends/opencl/opencl_backend.hpp"
#include "backends/vulkan/vulkan_backend.hpp"
#include "unit/native_settings.hpp"
#include "unit/vulkan_validation.hpp"

namespace salvo::conformance {
namespace {

/// Names of tests are letters and digits: "CUDAPTX".
std::string label_of(const std::string& backend) {
  std::string label;
  std::copy_if(backend.begin(), backend.end(), std::back_inserter(label),
               [](char c) { return c != '/'; });
  return label;
}

struct Found {
  std::vector<std::unique_ptr<runtime::Backend>> backends;
  std::vector<std::unique_ptr<runtime::DeviceDriver>> drivers;
  std::vector<Subject> subjects;
  std::vector<std::string> missing;

  Found() {
    backends.push_back(backends::cuda::make_ptx_backend());
    backends.push_back(backends::cuda::make_c_backend());
    backends.push_back(backends::hip::make_backend());
    backends.push_back(backends::level_zero::make_backend());
    backends.push_back(backends::metal::make_backend());
    backends.push_back(backends::opencl::make_backend());
    backends.push_back(backends::vulkan::make_backend({.validation = test::vulkan_validation()}));
    backends.push_back(backends::native::make_backend(test::native_settings()));
    // What stands in for features that the devices here have.
    backends.push_back(backends::vulkan::make_backend(
        {.validation = test::vulkan_validation(),
         .lacking = {
             .buffer_addresses = true, .timeline_semaphores = true, .memory_model = true}}));
    const runtime::Backend* const plain_vulkan = backends.back().get();
    for (const auto& backend : backends) {
      auto opened = backend->open();
      const std::string name(backend->name());
      const std::string label = label_of(name) + (backend.get() == plain_vulkan ? "Plain" : "");
      for (std::size_t i = 0; i < opened.size(); ++i) {
        subjects.push_back({name, label + std::to_string(i), opened[i].get()});
      }
      if (backend->unavailable()) missing.push_back(name + ": " + backend->unavailable()->reason);
      std::move(opened.begin(), opened.end(), std::back_inserter(drivers));
    }
  }
};

const Found& found() {
  // Kept for ever: a driver that is torn down at exit may crash what the tests have shown.
  static const Found& all = *new Found;
  return all;
}

}  // namespace

void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.label << " (" << subject.driver->properties().name << ")";
}

const std::vector<Subject>& subjects() {
  return found().subjects;
}
const std::vector<std::string>& missing() {
  return found().missing;
}

runtime::DeviceDriver& oracle(const DeviceProperties& device) {
  using backends::interpreter::Options;
  static std::map<std::uint32_t, std::vector<std::unique_ptr<runtime::DeviceDriver>>> by_width;
  const std::uint32_t width = device.warp_operations ? device.warp_size : Options{}.warp_size;
  auto& devices = by_width[width];
  if (devices.empty()) {
    Options options;
    options.warp_size = width;
    devices = backends::interpreter::InterpreterBackend(options).open();
  }
  return *devices.at(0);
}

}  // namespace salvo::conformance
